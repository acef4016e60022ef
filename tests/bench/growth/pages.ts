import { randomUUID } from 'node:crypto';
import { runStream } from '@fluidbox/contracts';
import { readEvents } from '../../../services/gateway/src/app/read-events';
import { callOf } from '../rebuild/log';
import { medianTime } from '../support/measure';
import { flat, type GrowthRow, type Point } from './row';

const events = { toy: [200, 1_000], usual: [1_000, 5_000, 20_000], full: [200, 1_000, 10_000, 100_000] };

export const pageGrowth: GrowthRow = {
  name: 'pages',
  what: 'milliseconds for a page of 100 events from the middle of a run, as the run grows',
  exponentMax: flat,
  async measure(servers, size) {
    const [gate, gateway] = [await servers.context('gate'), await servers.context('gateway')];
    const stream = runStream(randomUUID(), 'default');
    const points: Point[] = [];
    let there = 0;
    for (const wanted of events[size]) {
      for (; there < wanted; there += 100)
        await gate.ledger.record(stream, Array.from({ length: 50 }, (_, i) => callOf(there / 2 + i)).flat());
      const after = Math.floor(wanted / 2);
      const page = async (): Promise<void> => {
        const found = await readEvents(gateway.ledger, 'default', stream.id, { after, limit: 100 });
        if (found.length !== 100 || found[0]?.seq !== after + 1) throw new Error('the page is not whole');
      };
      await medianTime(100, page);
      points.push({ size: wanted, cost: await medianTime(size === 'toy' ? 50 : 1_000, page) });
    }
    return points;
  },
};
