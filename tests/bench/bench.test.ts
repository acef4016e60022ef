import { benches } from './benches';
import { growth } from './growth/growth';
import { growthRows } from './growth/rows';
import { type Check, judge, type Plan, type Round } from './support/measure';
import { report } from './support/report';
import { type Servers, startServers } from './support/servers';

const toy: Plan = { rounds: 1, warmUpMs: 20, sliceMs: 60, size: 'toy' };

describe('the benches at toy size', () => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => servers.stop());

  // `launch` starts runs of a whole stack, which the system tests do as well. D1 and D3 are differences of what D2 and D5 do, and mean nothing at this size.
  it.each(['A1', 'A2', 'A3', 'A4', 'A5', 'A7', 'B1', 'B2', 'B3', 'B4', 'R1', 'C3', 'C4', 'C5', 'D2', 'D4', 'D5', 'H1', 'H2'])(
    '%s does the work that it measures, on all sides',
    async (id) => {
      const bench = benches[id];
      if (bench === undefined) throw new Error(`there is no bench ${id}`);
      const figures = await bench.run(toy, async () => servers);
      expect(figures.rounds).toHaveLength(1);
      for (const figure of Object.values(figures.rounds[0] ?? {})) {
        // What is waited for may be there before this process hears of the commit: then the time in between is none.
        if (['C5', 'H1', 'H2'].includes(id)) expect(figure).toBeGreaterThanOrEqual(0);
        else expect(figure).toBeGreaterThan(0);
      }
      expect(figures.settings).toMatchObject({ fsync: 'on', synchronous_commit: 'on' });
      const checks = bench.checks.map((check) => judge(check, figures.rounds));
      const shown = report(bench, figures, checks);
      for (const side of Object.values(bench.sides)) expect(shown).toContain(side);
      expect(shown).toContain(figures.verified);
    },
  );

  it('[LEDGER-4] A6 finds nothing wrong after kill -9 of the appending process', async () => {
    const figures = await benches.A6?.run(toy, async () => servers);
    expect(figures?.rounds).toEqual([{ gaps: 0, lost: 0, duplicates: 0, chains: 0 }]);
    expect(figures?.verified).toContain('4 runs × 20 events, 2 × kill -9');
  });

  it('growth measures every law that is listed', async () => {
    const figures = await growth.run(toy, async () => servers);
    expect(Object.keys(figures.rounds[0] ?? {})).toEqual(growthRows.map(({ name }) => name));
    expect(Object.values(figures.rounds[0] ?? {}).every(Number.isFinite)).toBe(true);
  });
});

describe('the verdict', () => {
  const rounds = (ratios: readonly number[]): Round[] => ratios.map((ratio) => ({ ours: ratio, theirs: 1 }));
  const atLeast: Check = { name: 'rate', op: '>=', goal: 5, ours: 'ours', peer: 'theirs' };
  const atMost: Check = { name: 'time', op: '<=', goal: 1.5, ours: 'ours', peer: 1 };

  it('is met when nine rounds in ten keep the goal', () => {
    expect(judge(atLeast, rounds([1, 6, 6, 6, 6, 6, 6, 6, 6, 6]))).toMatchObject({ pass: true, median: 6, kept: 6 });
    expect(judge(atMost, rounds([1, 1, 1, 1, 1, 1, 1, 1, 1, 1.4]))).toMatchObject({ pass: true, median: 1 });
  });
  it('is not met when two in ten miss it, in whichever direction', () => {
    expect(judge(atLeast, rounds([1, 1, 6, 6, 6, 6, 6, 6, 6, 6]))).toMatchObject({ pass: false, kept: 1 });
    expect(judge(atMost, rounds([1, 1, 1, 1, 1, 1, 1, 1, 2, 2]))).toMatchObject({ pass: false, kept: 2 });
  });
});
