import { type EraseContent, erasureStream, type ParsedRequestOf, Problem, type ReplyOf, runStream } from '@fluidbox/contracts';
import { exists, isTerminal, runFold } from '@fluidbox/run-stream';
import { type ContentClass, contentClasses, decideErased, type ErasureCause, erasureFold } from '../domain/erasure';
import type { Ports } from './ports';

/** A promise to erase content of one run, as it is kept until it is done. */
export interface Erasure {
  readonly runId: string;
  readonly org: string;
  readonly classes: readonly ContentClass[];
  readonly cause: ErasureCause;
  readonly by: string;
}
export interface ErasureTable {
  /** Adds what is not promised yet. */
  promise(erasure: Erasure): Promise<void>;
  /** Not done: of one run, or the oldest of all but some runs. */
  open(filter: { runId: string } | { limit: number; except: readonly string[] }): Promise<readonly Erasure[]>;
  /** Destroys the keys (and with the last one the salt) and the sealed rows. Again is the same. */
  destroy(erasure: Erasure): Promise<void>;
  done(erasure: Erasure): Promise<void>;
  /** Promises what has outlived its retention, of at most `limit` runs; answers of how many. */
  promiseExpired(limit: number): Promise<number>;
}

/**
 * Erases the content of a run for ever, on the word of an admin. A run that has not ended is refused: its sandbox still works with what would go, and what it
 * writes next would come back; cancel it first. The ledger stays as it is: it holds digests whose salt is gone.
 */
export async function eraseContent(ports: Ports, request: ParsedRequestOf<typeof EraseContent>): Promise<ReplyOf<typeof EraseContent>> {
  const { run_id: runId, org, principal } = request;
  if (principal.role !== 'admin') throw new Problem('forbidden', `role: erasing needs admin, the token has ${principal.role}`);
  const { state: run } = await ports.ledger.state(runFold, runStream(runId, org), { fresh: true });
  if (!exists(run)) throw new Problem('not_found', 'there is no such run');
  if (!isTerminal(run))
    throw new Problem('conflict', `the run is ${run.status}; cancel it and wait for its end before its content is erased`);
  await ports.erasures.promise({ runId, org, classes: contentClasses, cause: 'requested', by: principal.name });
  for (const erasure of await ports.erasures.open({ runId })) await carryOut(ports, erasure);
  const { state } = await ports.ledger.state(erasureFold, erasureStream(runId, org), { fresh: true });
  const rest = state.erased.get('rest');
  if (rest === undefined) throw new Problem('internal', `run ${runId} was erased and its record does not say so`);
  return { erased_at: rest.at, erased_by: rest.by };
}

/** Keys, rows and files first, the record last: what says that it is erased has to be true. Every step may be repeated by whoever takes it up again. */
async function carryOut(ports: Ports, erasure: Erasure): Promise<void> {
  await ports.erasures.destroy(erasure);
  // Files are sealed with the key `rest`.
  if (erasure.classes.includes('rest')) await ports.blobs.remove(erasure.runId);
  await ports.ledger.decide(erasureFold, erasureStream(erasure.runId, erasure.org), (state) => ({
    events: decideErased(state, erasure),
    result: undefined,
  }));
  await ports.erasures.done(erasure);
}

const runsAtOnce = 100;

/**
 * What has outlived its retention goes the same way, some runs at a time; what was promised and not done is finished first. One that fails is left to the next
 * sweep: however many of them there are, those behind them do not wait.
 */
export async function sweepContent(ports: Ports, onFailure: (runId: string, error: unknown) => void): Promise<void> {
  const failed = new Set<string>();
  for (;;) {
    const open = await ports.erasures.open({ limit: runsAtOnce, except: [...failed] });
    for (const erasure of open)
      await carryOut(ports, erasure).catch((error: unknown) => {
        failed.add(erasure.runId);
        onFailure(erasure.runId, error);
      });
    if (open.length === 0 && (await ports.erasures.promiseExpired(runsAtOnce)) === 0) return;
  }
}
