import { fanOutWorld } from '../fan-out/world';
import { flat, type GrowthRow, type Point } from './row';

const watchers = { toy: [1, 10], usual: [1, 10, 100, 1_000], full: [1, 10, 100, 1_000, 4_000] };
const events = 50;

export const watcherGrowth: GrowthRow = {
  name: 'watchers',
  what: 'reads of the ledger per event, as more watch the run',
  exponentMax: flat,
  async measure(servers, size) {
    const points: Point[] = [];
    for (const count of watchers[size]) {
      const world = await fanOutWorld(servers, 'hub', count);
      const before = world.counts.ledgerReads;
      for (let i = 0; i < events; i += 1) {
        await world.append(1);
        await world.untilSeen(world.counts.appended);
      }
      points.push({ size: count, cost: (world.counts.ledgerReads - before) / events });
      await world.stop();
    }
    return points;
  },
};
