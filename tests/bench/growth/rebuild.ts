import { liveAfter, rebuildModel, writeRuns } from '../rebuild/log';
import { type GrowthRow, linear, type Point } from './row';

const runs = { toy: 4, usual: 180, full: 1_600 };
/** Of the log, which holds what other rows wrote as well. */
const shares = [1 / 16, 1 / 4, 1];

export const rebuildGrowth: GrowthRow = {
  name: 'rebuild',
  what: 'rebuild of the list of runs, seconds, as the log grows',
  exponentMax: linear,
  async measure(servers, size) {
    await writeRuns(servers, runs[size]);
    const points: Point[] = [];
    for (const share of shares) {
      const events = await liveAfter(servers, share);
      points.push({ size: events, cost: Math.min(await rebuildModel(servers, 'runs'), await rebuildModel(servers, 'runs')) });
    }
    return points;
  },
};
