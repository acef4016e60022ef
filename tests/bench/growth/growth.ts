import type { Bench } from '../support/measure';
import { exponentOf } from './exponent';
import { growthRows } from './rows';

/** One round of every row: an exponent is a fit over many measurements already. */
export const growth: Bench = {
  id: 'growth',
  what: 'how costs grow: exponent of the cost over the size (0 is flat, 1 is linear)',
  unit: 'exponent',
  sides: Object.fromEntries(growthRows.map(({ name, what }) => [name, what])),
  checks: growthRows.map(({ name, exponentMax }) => ({ name, op: '<=', goal: exponentMax, ours: name, peer: 1 })),
  async run({ size }, start) {
    const servers = await start();
    const exponents: Record<string, number> = {};
    const shown: string[] = [];
    for (const row of growthRows) {
      const points = await row.measure(servers, size);
      exponents[row.name] = exponentOf(points);
      shown.push(`${row.name} ${points.map((point) => `${point.size}: ${point.cost.toPrecision(3)}`).join(', ')}`);
      // The larger sizes take many minutes.
      if (size !== 'toy') process.stderr.write(`fluidbox: ${shown.at(-1)}\n`);
    }
    return { rounds: [exponents], verified: shown.join('; '), settings: await servers.settings() };
  },
};
