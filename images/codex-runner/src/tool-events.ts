import type { ReportedEvent } from '@fluidbox/contracts';
import type { Item } from './protocol';

const summaryCharsMax = 4_000;

/** What a person reads in the timeline when a command or a patch has ended; nothing for what never ran. `tool` = what the call was decided as. */
export function completedEvent(item: Item, tool: string | undefined): ReportedEvent | undefined {
  const { id, type, status, aggregatedOutput, exitCode, changes = [] } = item;
  if (status === 'declined' || tool === undefined) return undefined;
  const ok = status === 'completed' && (exitCode ?? 0) === 0;
  switch (type) {
    case 'commandExecution':
      return completed(id, tool, ok, aggregatedOutput ?? '');
    case 'fileChange':
      return completed(id, tool, ok, changes.map(({ path, kind }) => `${kind.type} ${path}`).join('\n'));
    default:
      return undefined;
  }
}

const completed = (callId: string, tool: string, ok: boolean, summary: string): ReportedEvent => ({
  type: 'tool.completed',
  data: { tool_call_id: callId, tool, ok, summary: summary.slice(0, summaryCharsMax) },
});
