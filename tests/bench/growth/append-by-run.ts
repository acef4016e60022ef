import { decision } from '../append-sides';
import { flat, type GrowthRow, type Point } from './row';
import { medianMillis, runOf } from './run-of';

const sizes = { toy: [50, 200, 800], usual: [1e2, 1e3, 1e4, 1e5], full: [1e2, 1e3, 1e4, 1e5] };

export const appendByRun: GrowthRow = {
  name: 'append by run',
  what: 'ms of an append, over the events that the run has already',
  exponentMax: flat,
  async measure(servers, size) {
    const gate = await servers.context('gate');
    const points: Point[] = [];
    for (const events of sizes[size]) {
      const stream = await runOf(gate, events);
      points.push({ size: events, cost: await medianMillis(300, () => gate.ledger.record(stream, [decision(events)])) });
    }
    return points;
  },
};
