import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Bench, measureRounds, type Plan, quantile, type Round } from '../support/measure';
import type { Servers } from '../support/servers';
import { eventsAtOnce, fanOutWorld } from './world';

type World = Awaited<ReturnType<typeof fanOutWorld>>;

async function withWorlds<T>(
  servers: Servers,
  plan: Plan,
  sides: readonly ('hub' | 'plain')[],
  work: (...worlds: World[]) => Promise<T>,
): Promise<T> {
  const worlds: World[] = [];
  try {
    for (const side of sides) worlds.push(await fanOutWorld(servers, side, watchersOf(plan)));
    return await work(...worlds);
  } finally {
    for (const world of worlds) await world.stop();
  }
}
const watchersOf = (plan: Plan): number => (plan.size === 'toy' ? 20 : 1_000);
const settingsOf = async (servers: Servers, plan: Plan) => ({
  ...(await servers.settings()),
  watchers: String(watchersOf(plan)),
  'events a batch': String(eventsAtOnce),
});

export const fanOutReads: Bench = {
  id: 'B1',
  what: 'watching a run: reads of the ledger per event of one process, 1,000 watchers on sockets',
  unit: 'reads',
  sides: { reads: 'every query that the hub makes', events: 'events of the run, committed one by one' },
  checks: [{ name: 'reads / event', op: '<=', goal: 1, stretch: 1, ours: 'reads', peer: 'events' }],
  async run(plan, start) {
    const servers = await start();
    return withWorlds(servers, plan, ['hub'], async (hub) => {
      if (hub === undefined) throw new Error('there is no hub');
      const rounds = await measureRounds(plan, {
        hub: async (ms) => {
          const before = { ...hub.counts };
          const until = performance.now() + ms;
          do {
            await hub.append(1);
            await delay(Math.random() * 20);
          } while (performance.now() < until);
          await hub.untilSeen(hub.counts.appended);
          return { reads: hub.counts.ledgerReads - before.ledgerReads, events: hub.counts.appended - before.appended };
        },
      });
      return { rounds, verified: `${hub.counts.appended} events reached the watchers`, settings: await settingsOf(servers, plan) };
    });
  },
};

export const fanOutCpu: Bench = {
  id: 'B2',
  what: 'watching a run: processor time of the serving process per delivery, append included, 1,000 watchers',
  unit: 'µs',
  sides: {
    ours: 'the hub: encoded once, one buffer for all',
    theirs: 'made into text for each watcher',
    control: 'a constant buffer, nothing appended',
  },
  checks: [{ name: 'CPU / delivery', op: '<=', goal: 0.5, stretch: 0.25, ours: 'ours', peer: 'theirs' }],
  async run(plan, start) {
    const servers = await start();
    return withWorlds(servers, plan, ['hub', 'plain'], async (hub, plain) => {
      if (hub === undefined || plain === undefined) throw new Error('a side is missing');
      let deliveries = 0;
      const cpu = (work: World['viaHub']) => async (ms: number) => {
        const slice = await work(ms);
        deliveries += slice.deliveries;
        return slice.cpuMicros / slice.deliveries;
      };
      const rounds = await measureRounds(plan, { ours: cpu(hub.viaHub), theirs: cpu(plain.serialised), control: cpu(plain.constant) });
      return { rounds, verified: `${deliveries} deliveries, all received`, settings: await settingsOf(servers, plan) };
    });
  },
};

export const fanOutRate: Bench = {
  id: 'B3',
  what: 'watching a run: deliveries per second to 1,000 watchers, from commit to client',
  unit: 'deliveries/s',
  sides: {
    ours: 'append, log, hub, sockets',
    control: 'a constant buffer of the same size to the same number of sockets',
    p99: 'age of an event when a watcher has it, in ms, 99th percentile',
  },
  checks: [
    { name: 'rate', op: '>=', goal: 0.8, stretch: 0.9, ours: 'ours', peer: 'control' },
    { name: 'p99 / 500 ms', op: '<=', goal: 1, ours: 'p99', peer: 500 },
  ],
  async run(plan, start) {
    const servers = await start();
    return withWorlds(servers, plan, ['hub', 'plain'], async (hub, plain) => {
      if (hub === undefined || plain === undefined) throw new Error('a side is missing');
      let deliveries = 0;
      const rounds = await measureRounds(plan, {
        ours: async (ms): Promise<Round> => {
          const slice = await hub.viaHub(ms);
          deliveries += slice.deliveries;
          return { ours: slice.deliveries / slice.seconds, p99: quantile(await hub.ages(), 0.99) };
        },
        control: async (ms) => {
          const slice = await plain.constant(ms);
          return slice.deliveries / slice.seconds;
        },
      });
      return { rounds, verified: `${deliveries} deliveries of committed events, all received`, settings: await settingsOf(servers, plan) };
    });
  },
};

export const fanOutMemory: Bench = {
  id: 'B4',
  what: 'watching a run: memory of the serving process per watcher that waits',
  unit: 'KB',
  sides: { ours: 'resident memory per watcher, after a collection' },
  checks: [{ name: 'KB / watcher', op: '<=', goal: 30, stretch: 16, ours: 'ours', peer: 1 }],
  async run(plan, start) {
    const servers = await start();
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const resident = async (): Promise<number> => {
      for (let i = 0; i < 3; i += 1) {
        collect();
        await delay(50);
      }
      return process.memoryUsage().rss / 1024;
    };
    const more = plan.size === 'toy' ? 200 : 500;
    return withWorlds(servers, { ...plan, size: 'toy' }, ['hub'], async (hub) => {
      if (hub === undefined) throw new Error('there is no hub');
      const grown = async (): Promise<number> => {
        const before = await resident();
        await hub.open(more);
        return Math.max(0.1, ((await resident()) - before) / more);
      };
      // The first ones pay for code and pools.
      await grown();
      const rounds: Round[] = [];
      for (let round = 0; round < plan.rounds; round += 1) rounds.push({ ours: await grown() });
      await hub.append(1);
      await hub.untilSeen(hub.counts.appended);
      return {
        rounds,
        verified: 'each of them was sent the next event',
        settings: { ...(await servers.settings()), 'watchers a round': String(more) },
      };
    });
  },
};
