import { liveAtTheEnd, rebuildModel, writeRuns } from '../rebuild/log';
import { type GrowthRow, linear, type Point } from './row';

const runs = { toy: [2, 4], usual: [20, 60, 180], full: [100, 400, 1_600] };

export const rebuildGrowth: GrowthRow = {
  name: 'rebuild',
  what: 'rebuild of the list of runs, seconds, as the log grows',
  exponentMax: linear,
  async measure(servers, size) {
    const points: Point[] = [];
    let written = 0;
    for (const wanted of runs[size]) {
      await writeRuns(servers, wanted - written);
      written = wanted;
      const { events } = await liveAtTheEnd(servers);
      await rebuildModel(servers, 'runs');
      points.push({ size: events, cost: Math.min(await rebuildModel(servers, 'runs'), await rebuildModel(servers, 'runs')) });
    }
    return points;
  },
};
