import { type Paint, paintFor, plain } from './paint';

// stdout is the result of a command and nothing else; progress and reasons go to stderr.

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
export const printJson = (value: unknown): void => print(JSON.stringify(value));
export const say = (text: string): void => {
  process.stderr.write(`fluidbox: ${text}\n`);
};

/** Where a command writes and how: results to `out`, everything else to `err`, so that stdout can be piped. */
export interface Output {
  readonly json: boolean;
  readonly paint: Paint;
  out(text: string): void;
  err(text: string): void;
}

/** The command's own streams. `painted`: the one a person looks at. */
export const standardOutput = (json: boolean, painted: 'stdout' | 'stderr' = 'stdout'): Output => ({
  json,
  paint: paintFor(process[painted], process.env),
  out: print,
  err: (text) => void process.stderr.write(`${text}\n`),
});

/** Rows as columns of equal width; the last column is not padded. A cell is text of anybody: it stays in its row and steers no terminal. */
export function table(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map((cell) => plain(cell).replaceAll(/[\t\n]+/g, ' ')));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  '))
    .join('\n');
}
