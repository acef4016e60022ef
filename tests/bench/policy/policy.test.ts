import { judge, type Plan } from '../support/measure';
import { report } from '../support/report';
import { policyFromJson, policyGrowth, policyPeers } from './benches';

const toy: Plan = { rounds: 1, warmUpMs: 10, sliceMs: 30, size: 'toy' };
const noServers = (): never => {
  throw new Error('these benches need no servers');
};

describe('the policy benches at toy size', () => {
  it.each([policyPeers, policyFromJson, policyGrowth])('$id does the work that it measures, on all sides', async (bench) => {
    const figures = await bench.run(toy, noServers);
    for (const figure of Object.values(figures.rounds[0] ?? {})) expect(figure).toBeGreaterThan(0);
    expect(Object.keys(figures.rounds[0] ?? {}).sort()).toEqual(Object.keys(bench.sides).sort());
    const shown = report(
      bench,
      figures,
      bench.checks.map((check) => judge(check, figures.rounds)),
    );
    expect(shown).toContain(figures.verified);
  });
});
