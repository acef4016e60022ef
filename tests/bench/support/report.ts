import type { Bench, Figures, Verdict } from './measure';

const figure = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2)).padStart(10);

/** Everything that was measured, so that a reader can judge the ratio by himself. */
export function report(bench: Bench, { rounds, verified, settings }: Figures, verdict: Verdict): string {
  const { goal, sides, unit } = bench;
  return [
    `${bench.id}: ${bench.what} (${unit})`,
    `  ours     ${sides.ours}`,
    `  theirs   ${sides.theirs}`,
    `  control  ${sides.control}`,
    '',
    `  round       ours     theirs    control      ratio`,
    ...rounds.map(
      ({ ours, theirs, control }, index) =>
        `  ${String(index + 1).padStart(5)} ${figure(ours)} ${figure(theirs)} ${figure(control)} ${figure(ours / theirs)}`,
    ),
    '',
    `  ratio: median ${verdict.median.toFixed(2)}, kept by nine rounds in ten ${verdict.worst.toFixed(2)}; goal: ${goal.is} ${goal.ratio}: ${verdict.met ? 'met' : 'NOT MET'}`,
    `  verified: ${verified}`,
    `  ${Object.entries(settings)
      .map(([name, value]) => `${name} ${value}`)
      .join(' · ')}`,
    '',
  ].join('\n');
}
