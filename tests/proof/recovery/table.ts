export interface RecoveryRow {
  readonly victim: string;
  readonly moment: string;
  readonly outcome: string;
  readonly secs: number;
  /** Empty when everything held. */
  readonly faults: readonly string[];
}

export function recoveryTable(rows: readonly RecoveryRow[]): string {
  const cells = rows.map(({ victim, moment, outcome, secs, faults }) => [
    victim,
    moment,
    outcome,
    `${secs.toFixed(1)} s`,
    faults.length === 0 ? 'holds' : faults.join('; '),
  ]);
  const widths = ['', '', '', ''].map((_, column) => Math.max(0, ...cells.map((row) => (row[column] ?? '').length)));
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  const broken = rows.filter(({ faults }) => faults.length > 0).length;
  return [...lines, `${rows.length} runs, ${broken === 0 ? 'all hold' : `${broken} do not hold`}`].join('\n');
}
