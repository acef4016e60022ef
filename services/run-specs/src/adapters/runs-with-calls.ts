import type { SqlClient } from '@fluidbox/event-store';
import type { CallHistory, HistorySeen } from '../app/ports';
import { dataOf } from './event-data';

const indexPage = 2_000;
/** Bounds how far back a filter makes us look. */
const indexPagesMax = 100;

/** Streams of runs, that of the newest call first. */
export async function* runsWithCalls(
  sql: SqlClient,
  deadline: number,
  org: string,
  { since, ofPolicy }: Parameters<CallHistory['read']>[1],
  seen: HistorySeen,
): AsyncGenerator<string> {
  const known = new Set<string>();
  let before = Number.MAX_SAFE_INTEGER;
  for (let page = 0; ; page++) {
    const { rows } = await sql.query<{ stream: string; global_position: string }>(
      `select stream, global_position from ledger.events
       where org_id = $1 and type = 'tool.requested' and global_position < $2 and ($3::timestamptz is null or occurred_at >= $3)
       order by global_position desc limit $4`,
      [org, before, since, indexPage],
    );
    const fresh = [...new Set(rows.map((row) => row.stream))].filter((stream) => !known.has(stream));
    for (const stream of fresh) known.add(stream);
    yield* ofPolicy === null ? fresh : await ranUnder(sql, org, fresh, ofPolicy);
    const last = rows.at(-1);
    if (last === undefined || rows.length < indexPage) return;
    before = Number(last.global_position);
    if (page + 1 >= indexPagesMax || performance.now() > deadline) {
      seen.complete = false;
      return;
    }
  }
}

async function ranUnder(sql: SqlClient, org: string, streams: readonly string[], policy: string): Promise<string[]> {
  const { rows } = await sql.query<{ stream: string; body: Buffer }>(
    'select stream, body from ledger.events where stream = any ($1) and org_id = $2 and seq = 1',
    [streams, org],
  );
  const under = new Set(rows.filter((row) => dataOf(row.body).policy === policy).map((row) => row.stream));
  return streams.filter((stream) => under.has(stream));
}
