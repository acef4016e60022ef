import { benches } from './benches';
import { judge, type Round } from './support/measure';
import { report } from './support/report';
import { type Servers, startServers } from './support/servers';

const toy = { rounds: 1, warmUpMs: 20, sliceMs: 60 };

describe('the benches at toy size', () => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => servers.stop());

  // `launch` starts runs of a whole stack, which the system tests do as well.
  it.each(['A2', 'A4', 'C3'])('%s does the work that it measures, on all three sides', async (id) => {
    const bench = benches[id];
    if (bench === undefined) throw new Error(`there is no bench ${id}`);
    const figures = await bench.run(toy, async () => servers);
    expect(figures.rounds).toHaveLength(1);
    for (const figure of Object.values(figures.rounds[0] ?? {})) expect(figure).toBeGreaterThan(0);
    expect(figures.settings).toMatchObject({ fsync: 'on', synchronous_commit: 'on' });
    const shown = report(bench, figures, judge(bench, figures.rounds));
    expect(shown).toContain(bench.sides.theirs);
    expect(shown).toContain(figures.verified);
  });
});

describe('the verdict', () => {
  const rounds = (ratios: readonly number[]): Round[] => ratios.map((ratio) => ({ ours: ratio, theirs: 1, control: 1 }));
  const atLeast = { goal: { ratio: 5, is: 'at least' } } as const;
  const atMost = { goal: { ratio: 1.5, is: 'at most' } } as const;

  it('is met when nine rounds in ten keep the goal', () => {
    expect(judge(atLeast, rounds([1, 6, 6, 6, 6, 6, 6, 6, 6, 6]))).toMatchObject({ met: true, median: 6, worst: 6 });
    expect(judge(atMost, rounds([1, 1, 1, 1, 1, 1, 1, 1, 1, 1.4]))).toMatchObject({ met: true, median: 1 });
  });
  it('is not met when two in ten miss it, in whichever direction', () => {
    expect(judge(atLeast, rounds([1, 1, 6, 6, 6, 6, 6, 6, 6, 6]))).toMatchObject({ met: false, worst: 1 });
    expect(judge(atMost, rounds([1, 1, 1, 1, 1, 1, 1, 1, 2, 2]))).toMatchObject({ met: false, worst: 2 });
  });
});
