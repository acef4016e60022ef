import { type Principal, Problem, type RecordedEvent, runStream, type SessionView } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import { exists, isTerminal, type RunState, runFold, sessionView } from '@fluidbox/run-stream';
import { z } from 'zod';
import { maySeeRun } from '../domain/authority';
import { readErasure } from './read-erasure';

const RunPath = z.uuid();
const pageSize = 1_000;

/** A run as its principal may see it, read to its head; `not_found` for every other one, so that ids reveal nothing. */
export async function readRun(ledger: Ledger, principal: Principal, runId: string): Promise<RunState> {
  const missing = new Problem('not_found', 'there is no run of this id; an id is taken whole, as the list of runs shows it');
  if (!RunPath.safeParse(runId).success) throw missing;
  const { state } = await ledger.state(runFold, runStream(runId, principal.org), { fresh: true });
  if (!exists(state) || !maySeeRun(principal, { invokedBy: state.invokedBy, org: principal.org })) throw missing;
  return state;
}

/** The run as it stood after its event `at`: the same fold, over the beginning of the same stream. Who may see it is decided by what is true now. */
async function readRunAt(ledger: Ledger, principal: Principal, runId: string, at: number): Promise<RunState> {
  const { version } = await readRun(ledger, principal, runId);
  if (at > version) throw new Problem('invalid_request', `at: the run has ${version} events`);
  const stream = runStream(runId, principal.org);
  let state = runFold.initial();
  while (state.version < at) {
    const events = await ledger.store.read(stream, { after: state.version, limit: Math.min(pageSize, at - state.version) });
    if (events.length === 0) throw new Error(`run ${runId} has no event ${state.version + 1}, but ${version}`);
    state = events.reduce(runFold.evolve, state);
  }
  return state;
}

/** `at`: as it stood after this event, without what came later. */
export async function readSession(ledger: Ledger, principal: Principal, runId: string, at?: number): Promise<SessionView> {
  const run = at === undefined ? await readRun(ledger, principal, runId) : await readRunAt(ledger, principal, runId, at);
  const stream = runStream(runId, principal.org);
  const [created] = await ledger.store.read(stream, { after: 0, limit: 1 });
  const task = await contentField(ledger, stream, created, 'task');
  const summary = run.intent === null ? null : await contentField(ledger, stream, { seq: run.intent.seq }, 'summary');
  const revision = z.object({ agent_revision: z.number() }).safeParse(created?.data);
  const view = sessionView(run, { task, summary, agentRevision: revision.success ? revision.data.agent_revision : 0 });
  return { ...view, content_erased_at: isTerminal(run) ? await erasedAt(ledger, principal.org, runId) : null };
}

/** Of what one reads in a run; the gate's projections may outlive it. */
async function erasedAt(ledger: Ledger, org: string, runId: string): Promise<string | null> {
  const erased = (await readErasure(ledger, org, runId)).find(({ data }) => Array.isArray(data.classes) && data.classes.includes('rest'));
  return erased?.occurred_at ?? null;
}

async function contentField(
  ledger: Ledger,
  stream: ReturnType<typeof runStream>,
  event: Pick<RecordedEvent, 'seq'> | undefined,
  field: string,
): Promise<string | null> {
  if (event === undefined) return null;
  const content = z.record(z.string(), z.unknown()).safeParse(await ledger.content(stream, event.seq, 'rest'));
  const value = content.success ? content.data[field] : null;
  return typeof value === 'string' ? value : null;
}
