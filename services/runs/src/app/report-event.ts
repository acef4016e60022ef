import {
  type EventDraft,
  mendAgentText,
  type ParsedRequestOf,
  Problem,
  type ReportEvent,
  type ReportedEvent,
  runStream,
  streamNameOf,
} from '@fluidbox/contracts';
import type { RunKeys } from '@fluidbox/seal';
import { refuseMoreReports } from '../domain/run';
import { reportingRun } from './decide-on-run';
import type { Ports } from './ports';

/** A fact as the runner tells it: appended at any version, fenced by its generation, its text sealed. */
export async function reportEvent(ports: Ports, request: ParsedRequestOf<typeof ReportEvent>): Promise<{ seq: number }> {
  const stream = runStream(request.run_id, request.org);
  const { run, refusal: stranger } = await reportingRun(ports, stream, request.generation);
  const refusal = stranger ?? refuseMoreReports(run);
  if (refusal !== null) throw refusal;
  const keys = await ports.ledger.keyring.keysOf(streamNameOf(stream));
  const stored = await ports.ledger.record(stream, [draftOf(request.event, keys)], { generation: request.generation });
  if (stored === null) throw new Problem('run_not_active', 'the run is over');
  return { seq: stored.firstSeq };
}

const actor = 'runner';

function draftOf(event: ReportedEvent, keys: RunKeys): EventDraft {
  switch (event.type) {
    case 'agent.message': {
      const { text } = mendAgentText(event.data.text);
      return { type: event.type, actor, data: { role: event.data.role, digest: keys.digest(text), chars: text.length }, content: { text } };
    }
    case 'tool.completed': {
      const { tool_call_id, tool, ok, summary } = event.data;
      const data = { tool_call_id, tool: mendAgentText(tool).text, ok, reported_by: 'runner' } as const;
      return { type: event.type, actor, data, ...(summary === undefined ? {} : { content: { summary: mendAgentText(summary).text } }) };
    }
    case 'run.error':
      return {
        type: event.type,
        actor,
        data: { code: event.data.code, reported_by: 'runner' },
        content: { message: mendAgentText(event.data.message).text },
      };
  }
}
