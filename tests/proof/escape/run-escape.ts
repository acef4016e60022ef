import fs from 'node:fs';
import path from 'node:path';
import type { EventView, HarnessId } from '@fluidbox/contracts';
import type { ResponsesFunction } from '@fluidbox/testing';
import { z } from 'zod';
import type { SystemStack } from '../../system/support/stack';
import { type Targets, targetsOf } from './targets';

export const EscapeRow = z.strictObject({
  group: z.string(),
  name: z.string(),
  closedBy: z.string(),
  result: z.enum(['blocked', 'through', 'disclosed', 'not tried', 'works', 'broken']),
  detail: z.string(),
});
export type EscapeRow = z.infer<typeof EscapeRow>;

export interface EscapeReport {
  readonly runId: string;
  readonly rows: readonly EscapeRow[];
  readonly events: readonly EventView[];
}

const insideDir = path.join(__dirname, 'inside');
const task = 'Run the attempts of this folder.';
const command = 'node escape/main.mjs';

/** What the scripted model does with that task: one Bash call, then it is done. */
export const escapeConversation = {
  match: task,
  wire: 'messages' as const,
  steps: [{ tools: [{ name: 'Bash', input: { command, description: 'try to leave the sandbox', timeout: 110_000 } }] }, { text: 'Tried.' }],
};

/** The same on the wire of Codex, whose model has to ask again for a command that takes longer than half a minute. */
export const escapeResponses: ResponsesFunction = ({ input }) => {
  if (!JSON.stringify(input).includes(task)) return undefined;
  const said = input.filter(({ type }) => type === 'function_call_output').map(({ output }) => String(output));
  const last = said.at(-1);
  if (last === undefined) return { tools: [{ name: 'exec_command', input: { cmd: command, yield_time_ms: 30_000 } }] };
  const session = /running with session ID (\d+)/.exec(last)?.[1];
  if (session === undefined) return { text: 'Tried.' };
  return { tools: [{ name: 'write_stdin', input: { session_id: Number(session), chars: '', yield_time_ms: 60_000 } }] };
};

const policy = `
name: escape
defaults: { tool_action: deny }
tools:
  - match: [Bash]
    action: allow
    shell: { allow: ["${command}"], on_no_match: deny }
`;

/** The attempts and their targets, as the workspace of a run has them. */
export function writeAttempts(folder: string, targets: Targets): void {
  const inside = path.join(folder, 'escape');
  fs.cpSync(insideDir, inside, { recursive: true });
  fs.writeFileSync(path.join(inside, 'targets.json'), JSON.stringify(targets));
}

/** All attempts as one allowed Bash call of the real agent program in a run of this stack; `source` is a folder that it may copy from. */
export async function runEscape(
  stack: SystemStack,
  source: string,
  canaries: Readonly<Record<string, string>> = {},
  harness: HarnessId = 'claude-agent-sdk',
): Promise<EscapeReport> {
  writeAttempts(source, targetsOf(stack, canaries));
  await stack.admin.importPolicy('escape', { source: policy });
  const agent = `escape-${harness}`;
  await stack.admin.createAgent({ name: agent, policy: 'escape', harness });
  const { session } = await stack.admin.createSession({ agent, task, workspace: { kind: 'local_copy', path: source } });
  for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;
  const events = await stack.admin.allEvents(session.id);
  const rows = events.some((event) => event.type === 'artifact.collected')
    ? rowsOfDiff((await stack.admin.artifact(session.id, 'diff')).toString('utf8'))
    : [];
  if (rows.length === 0) throw new Error(`the attempts left no result; the run: ${JSON.stringify(events.slice(-6))}`);
  return { runId: session.id, rows, events };
}

function rowsOfDiff(diff: string): EscapeRow[] {
  return diff
    .split('\n')
    .filter((line) => line.startsWith('+{"group":'))
    .map((line) => EscapeRow.parse(JSON.parse(line.slice(1))));
}
