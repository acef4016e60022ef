import type { EscapeRow } from './run-escape';

const columns = { name: 56, result: 9 };

const line = ({ name, result, closedBy, detail }: EscapeRow): string => {
  const shown = result !== 'blocked' && result !== 'works' ? `${closedBy} · FOUND: ${detail}` : closedBy;
  return `  ${name.padEnd(columns.name)} ${result.padEnd(columns.result)} ${shown}`;
};

export function escapeTable(rows: readonly EscapeRow[]): string {
  const groups = [...new Set(rows.map(({ group }) => group))];
  return groups
    .map((group) => [group.toUpperCase(), ...rows.filter((row) => row.group === group).map(line)].join('\n'))
    .join('\n\n')
    .concat('\n\n', summaryLine(rows));
}

const count = (rows: readonly EscapeRow[], result: EscapeRow['result']): number => rows.filter((row) => row.result === result).length;

function summaryLine(rows: readonly EscapeRow[]): string {
  const must = count(rows, 'works') + rows.filter((row) => row.name.startsWith('must work') && row.result !== 'works').length;
  const tried = rows.filter((row) => !row.name.startsWith('must work'));
  const parts = [
    `${count(tried, 'blocked')} blocked`,
    `${count(tried, 'through')} through`,
    `${count(tried, 'disclosed')} disclosed`,
    `${count(tried, 'not tried')} not tried`,
  ];
  const faulty = count(tried, 'broken');
  return `${tried.length} attempts: ${parts.join(', ')}${faulty > 0 ? `, ${faulty} faulty` : ''} · ${count(rows, 'works')} of ${must} that must work do`;
}

/** Rows that refute the promise: something got out, or an attempt or what must work failed by itself. */
export const holesIn = (rows: readonly EscapeRow[]): readonly EscapeRow[] =>
  rows.filter(({ result }) => result === 'through' || result === 'broken');
