import { type Page, Problem } from '@fluidbox/contracts';

/** Position in a list ordered by (created_at, id), newest first. Opaque to callers, checked when it comes back. */
export interface Cursor {
  readonly createdAt: string;
  readonly id: string;
}

export const encodeCursor = (cursor: Cursor): string => `${cursor.createdAt}~${cursor.id}`;

export function decodeCursor(text: string): Cursor {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z)~([A-Za-z0-9_.:-]{1,200})$/.exec(text);
  const [, createdAt, id] = match ?? [];
  if (createdAt === undefined || id === undefined)
    throw new Problem('invalid_request', 'cursor: not one of ours; pass next_cursor of the page before', {
      errors: [{ pointer: '/cursor', detail: 'unknown form' }],
    });
  return { createdAt, id };
}

/** The rows that were read, at most `limit` of them: one more was asked for, and tells that the list goes on. `placeOf`: where a row stands in it. */
export function pageOf<Row>(rows: readonly Row[], limit: number, placeOf: (row: Row) => Cursor): Page<Row> {
  const data = rows.slice(0, limit);
  const last = data.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { data, has_more: more, next_cursor: more ? encodeCursor(placeOf(last)) : null };
}
