import { randomUUID } from 'node:crypto';
import { runStream } from '@fluidbox/contracts';
import { verifyChain } from '@fluidbox/event-store';
import { allOf } from './append-sides';
import { startAppendingProcess } from './support/appending-process';
import { type Bench, measureRounds, quantile } from './support/measure';

const processes = 3;
const runsOfAll = 64;

export const appendProcesses: Bench = {
  id: 'A7',
  what: `append, ${processes} processes on the same ${runsOfAll} runs, one caller for each run in each process`,
  unit: 'events/s, p99 in ms',
  sides: {
    three: `${processes} processes together`,
    one: 'one process alone',
    'three p99': 'the slowest of 100',
    'one p99': 'the slowest of 100',
  },
  checks: [
    { name: 'three / one', op: '>=', goal: 0.35, stretch: 0.6, ours: 'three', peer: 'one' },
    { name: 'p99 three / one', op: '<=', goal: 5, ours: 'three p99', peer: 'one p99' },
  ],
  async run(plan, start) {
    const servers = await start();
    const runs = Array.from({ length: runsOfAll }, () => randomUUID());
    const appended = new Map<string, number>();
    const children = await Promise.all(Array.from({ length: processes }, () => startAppendingProcess(servers)));
    try {
      const load = async (name: string, count: number, ms: number) => {
        const loaded = await Promise.all(
          children.slice(0, count).map((child) => {
            const report = child.next('loaded');
            child.order({ do: 'load', runs, ms });
            return report;
          }),
        );
        for (const { events } of loaded)
          for (const [run, count] of Object.entries(events)) appended.set(run, (appended.get(run) ?? 0) + count);
        const rate = loaded.reduce((sum, { times, ms }) => sum + times.length / (ms / 1_000), 0);
        return {
          [name]: rate,
          [`${name} p99`]: quantile(
            loaded.flatMap(({ times }) => times),
            0.99,
          ),
        };
      };
      const rounds = await measureRounds(plan, { three: (ms) => load('three', processes, ms), one: (ms) => load('one', 1, ms) });
      const gate = await servers.context('gate');
      for (const [run, count] of appended) {
        const rows = await allOf(gate, runStream(run, 'default'));
        if (rows.length !== count || !verifyChain(rows).ok) throw new Error(`${run}: ${rows.length} of ${count} acknowledged events`);
      }
      const admin = await servers.connect();
      const { rows } = await admin.query<{ deadlocks: string }>(
        'select deadlocks from pg_stat_database where datname = current_database()',
      );
      // A peer in this process may have changed how the driver reads large numbers.
      if (Number(rows[0]?.deadlocks) !== 0) throw new Error(`${rows[0]?.deadlocks} deadlocks`);
      const events = [...appended.values()].reduce((sum, count) => sum + count, 0);
      return {
        rounds,
        verified: `${events} acknowledged events in ${runsOfAll} runs, none lost, chains hold, no deadlock`,
        settings: await servers.settings(),
      };
    } finally {
      await Promise.all(children.map((child) => child.kill()));
    }
  },
};
