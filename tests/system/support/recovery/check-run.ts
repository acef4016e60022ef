import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type EventView, terminalStatuses } from '@fluidbox/contracts';
import { type ChainedEvent, verifyChain } from '@fluidbox/event-store';
import { until } from '@fluidbox/testing';
import { Client } from 'pg';
import { addedLines } from '../diff';
import type { SystemStack } from '../stack';
import { typesOf } from '../wire-run';
import { processesOfRun } from './processes-of-run';

const ids = (events: readonly EventView[], field: string): string[] => events.map(({ data }) => String(data[field]));
const twice = (list: readonly string[]): string[] => list.filter((each, index) => list.indexOf(each) !== index);
const missing = (from: readonly string[], others: readonly string[]): string[] => from.filter((each) => !others.includes(each));

/** The run's rows as the database's owner sees them: stored text and hash. */
async function storedChain(stack: SystemStack, runId: string): Promise<ChainedEvent[]> {
  const password = readFileSync(path.join(stack.home, 'postgres/superuser-password'), 'utf8');
  const client = new Client({ connectionString: `postgres://postgres:${password}@${stack.up.database_host}/fluidbox` });
  await client.connect();
  try {
    const text =
      "select seq, encode(hash, 'hex') as hash, convert_from(body, 'UTF8') as body from ledger.events where stream = $1 order by seq";
    const { rows } = await client.query<{ seq: string; hash: string; body: string }>(text, [`run-${runId}`]);
    return rows.map(({ seq, hash, body }) => ({ seq: Number(seq), hash, body }));
  } finally {
    await client.end();
  }
}

/** What is wrong with the timeline of a run that is over, whatever happened to it. */
export function* faultsOfEvents(events: readonly EventView[]): Generator<string> {
  const gap = events.findIndex(({ seq }, index) => seq !== index + 1);
  if (gap !== -1) yield `event ${gap + 1} is missing or doubled`;

  const requested = ids(typesOf(events, 'tool.requested'), 'tool_call_id');
  const decided = ids(typesOf(events, 'tool.decision'), 'tool_call_id');
  for (const id of [...twice(requested), ...twice(decided)]) yield `call ${id} was recorded twice`;
  for (const id of missing(requested, decided)) yield `call ${id} was never decided`;
  const asked = ids(typesOf(events, 'approval.requested'), 'tool_call_id');
  const settled = ids(typesOf(events, 'approval.decided'), 'tool_call_id');
  for (const id of [...twice(asked), ...twice(settled)]) yield `the approval of ${id} was recorded twice`;
  for (const id of missing(asked, settled)) yield `the approval of ${id} was never settled`;

  const started = ids(typesOf(events, 'sandbox.started'), 'generation');
  for (const generation of twice(started)) yield `generation ${generation} started twice`;
  for (const generation of missing(started, ids(typesOf(events, 'sandbox.exited'), 'generation')))
    yield `the sandbox of generation ${generation} never ended`;
  for (const kind of ['workspace.initialized', 'run.result'])
    if (typesOf(events, kind).length > 1) yield `${kind} is there ${typesOf(events, kind).length} times`;

  const reserved = ids(typesOf(events, 'budget.reserved'), 'reservation_id');
  const closed = [...typesOf(events, 'budget.settled'), ...typesOf(events, 'budget.released')].map(({ data }) =>
    String(data.reservation_id),
  );
  for (const id of missing(reserved, closed)) yield `reservation ${id} is still open`;
  for (const id of twice(closed)) yield `reservation ${id} was closed twice`;

  if (events.at(-1)?.type !== 'run.result') yield 'run.result is not the last event';
  const cost = typesOf(events, 'budget.settled').reduce((sum, { data }) => sum + Number(data.cost_micro_usd), 0);
  if (events.at(-1)?.data.cost_micro_usd !== cost) yield 'the cost of the result is not what was settled';
}

export function* faultsOfChain(chain: readonly ChainedEvent[], events: readonly EventView[]): Generator<string> {
  const check = verifyChain(chain);
  if (!check.ok) yield `the chain breaks at ${check.seq} (${check.reason})`;
  if (chain.at(-1)?.hash !== events.at(-1)?.hash || chain.length !== events.length) yield 'the API shows another head than the store';
}

/** Everything that must hold of a run that is over, whatever was killed meanwhile. Answers what does not, in words. */
export async function faultsOfRun(
  stack: SystemStack,
  runId: string,
  events: readonly EventView[],
  mostSandboxes: number,
): Promise<string[]> {
  const faults = [...faultsOfEvents(events), ...faultsOfChain(await storedChain(stack, runId), events)];
  if (mostSandboxes > 1) faults.push(`${mostSandboxes} sandboxes lived at once`);
  const outcome = events.at(-1)?.data.outcome;
  const shown = await until(
    async () => {
      const { status } = await stack.admin.session(runId);
      return (terminalStatuses as readonly string[]).includes(status) && status;
    },
    { everyMs: 200 },
  );
  if (shown !== outcome) faults.push(`the run is shown as ${shown}, its result is ${String(outcome)}`);
  const left = processesOfRun(stack.home, runId);
  if (left.length > 0) faults.push(`still running: ${left.map(({ pid, command }) => `${pid} ${command}`).join('; ')}`);
  return faults;
}

/** The lines that the agent's commands left behind, by file. */
export async function workOf(stack: SystemStack, runId: string): Promise<Record<string, string[]>> {
  return Object.fromEntries(addedLines((await stack.admin.artifact(runId, 'diff')).toString('utf8')));
}
