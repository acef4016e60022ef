import type { Paint } from '../paint';

/** Where commands write and how. Results go to `out`, everything else to `err`, so that stdout can be piped. */
export interface Output {
  readonly json: boolean;
  readonly paint: Paint;
  out(text: string): void;
  err(text: string): void;
}

/** Rows as columns of equal width; the last column is left as it is. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  '))
    .join('\n');
}
