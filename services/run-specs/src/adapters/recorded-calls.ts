import { Problem } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import type { RecordedCall } from '@fluidbox/policy';
import type { Keyring } from '@fluidbox/seal';
import type { CallHistory, HistorySeen } from '../app/ports';
import { callsOf } from './calls-of-run';
import { runsWithCalls } from './runs-with-calls';

/** Shorter than the caller waits, so that it gets what was found so far. */
const readMs = 15_000;
/** Each holds a page of opened calls; the others are told to come again. */
const readersMax = 2;

/** `ledger.events` by the index of recorded calls, their sealed projections opened with the keys of each run. */
export function recordedCalls(sql: SqlClient, keyring: Pick<Keyring, 'keysOf'>): CallHistory {
  let readers = 0;
  return {
    async *read(org, wanted, seen) {
      if (readers >= readersMax) throw new Problem('overloaded', 'others read the history of calls already; ask again in a moment');
      readers++;
      try {
        yield* readUntil(performance.now() + readMs, org, wanted, seen);
      } finally {
        readers--;
      }
    },
  };

  async function* readUntil(
    deadline: number,
    org: string,
    wanted: Parameters<CallHistory['read']>[1],
    seen: HistorySeen,
  ): AsyncGenerator<RecordedCall> {
    let left = wanted.calls;
    for await (const stream of runsWithCalls(sql, deadline, org, wanted, seen)) {
      seen.runs++;
      for await (const call of callsOf({ sql, keyring }, org, stream)) {
        if (left <= 0) return;
        left--;
        if (typeof call === 'string') seen[call]++;
        else yield call;
        if (performance.now() > deadline) {
          seen.complete = false;
          return;
        }
      }
      if (left <= 0) return;
    }
  }
}
