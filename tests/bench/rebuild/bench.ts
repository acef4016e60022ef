import { type Bench, measureRounds } from '../support/measure';
import { emmettRebuild } from './emmett';
import { eventsPerRun, liveAfter, rebuildModel, writeRuns } from './log';

export const rebuildRate: Bench = {
  id: 'R1',
  what: 'rebuild of a read model from the whole log: events per second in one process',
  unit: 'events/s',
  sides: {
    gate: 'fluidbox rebuild gate: sums of decisions, switch and removal of the old rows included',
    runs: 'fluidbox rebuild runs: the whole fold of every run, a row each',
    emmett: 'Emmett’s rebuildPostgreSQLProjections: sums of decisions, batches of the same size',
  },
  checks: [
    { name: 'gate / 40k', op: '>=', goal: 1, stretch: 2.5, ours: 'gate', peer: 40_000 },
    { name: 'runs / 40k', op: '>=', goal: 1, stretch: 2.5, ours: 'runs', peer: 40_000 },
    { name: 'gate / Emmett', op: '>=', goal: 3, ours: 'gate', peer: 'emmett' },
  ],
  async run(plan, start) {
    const servers = await start();
    const runs = plan.runs ?? (plan.size === 'toy' ? 3 : 200);
    await writeRuns(servers, runs);
    const events = await liveAfter(servers);
    // It handles one event after the other; a tenth of the log is enough to see its rate.
    const peerRuns = Math.ceil(runs / 10);
    const peer = await emmettRebuild(servers, peerRuns);
    try {
      const rounds = await measureRounds(plan, {
        gate: async () => events / (await rebuildModel(servers, 'gate')),
        runs: async () => events / (await rebuildModel(servers, 'runs')),
        emmett: async () => (peerRuns * eventsPerRun) / (await peer.rebuild()),
      });
      const theirs = await peer.counted();
      if (theirs !== (peerRuns * eventsPerRun) / 2)
        throw new Error(`Emmett counted ${theirs} decisions of ${(peerRuns * eventsPerRun) / 2}`);
      const client = await servers.connect();
      const { rows } = await client.query<{ ours: string; stored: string }>(
        `select (select coalesce(sum(calls), 0) from read.gate where verdict <> 'ask') as ours,
           (select count(*) from ledger.events where type = 'tool.decision') as stored`,
      );
      if (Number(rows[0]?.ours) !== Number(rows[0]?.stored))
        throw new Error(`the read model counts ${rows[0]?.ours} decisions, the ledger has ${rows[0]?.stored}`);
      return {
        rounds,
        verified: `${rows[0]?.ours} decisions counted, as many as the ledger has; Emmett ${theirs}`,
        settings: { ...(await servers.settings()), events: String(events), 'events of Emmett': String(peerRuns * eventsPerRun) },
      };
    } finally {
      await peer.close();
    }
  },
};
