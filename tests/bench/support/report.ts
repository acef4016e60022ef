import type { Bench, Figures, Judged } from './measure';

const figure = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 1 ? 2 : 4));
const columns = (cells: readonly string[]): string => `  ${cells.map((cell) => cell.padStart(Math.max(11, cell.length + 1))).join('')}`;

/** Everything that was measured, so that a reader can judge the ratio by himself. */
export function report(bench: Bench, { rounds, verified, settings }: Figures, judged: readonly Judged[]): string {
  const names = Object.keys(bench.sides);
  return [
    `${bench.id}: ${bench.what} (${bench.unit})`,
    ...Object.entries(bench.sides).map(([name, is]) => `  ${name.padEnd(12)} ${is}`),
    '',
    columns(['round', ...names.map((name) => name.padStart(11)), ...judged.map(({ name }) => name)]),
    ...rounds.map((round, index) =>
      columns([
        String(index + 1),
        ...names.map((name) => figure(round[name] ?? Number.NaN)),
        ...judged.map((check) => figure(check.rounds[index] ?? Number.NaN).padStart(check.name.length)),
      ]),
    ),
    '',
    ...judged.map(
      ({ name, op, goal, stretch, median, kept, pass }) =>
        `  ${name}: median ${figure(median)}, kept by nine rounds in ten ${figure(kept)}; goal ${op} ${goal}${stretch === null ? '' : `, stretch ${stretch}`}: ${pass ? 'met' : 'NOT MET'}`,
    ),
    `  verified: ${verified}`,
    `  ${Object.entries(settings)
      .map(([name, value]) => `${name} ${value}`)
      .join(' · ')}`,
    '',
  ].join('\n');
}

/** One line for machines. */
export const jsonReport = (bench: Bench, { verified, settings }: Figures, checks: readonly Judged[]): string =>
  `${JSON.stringify({ id: bench.id, checks, pass: checks.every(({ pass }) => pass), verified, env: settings })}\n`;
