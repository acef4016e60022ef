import type { SqlClient } from '@fluidbox/event-store';
import type { SqlPool } from '@fluidbox/service-kit';
import type { Erasure, ErasureTable } from '../app/erase-content';

interface Row {
  readonly run_id: string;
  readonly org_id: string;
  readonly classes: Erasure['classes'];
  readonly cause: Erasure['cause'];
  readonly requested_by: string;
}
const openOnes = `select run_id, org_id, array_agg(class order by class) as classes, cause, requested_by from runs.erasures
  where done_at is null and ($1::uuid is null or run_id = $1) and run_id <> all ($3::uuid[]) group by run_id, org_id, cause, requested_by order by min(requested_at) limit $2`;

/**
 * Runs that have ended and of one class hold nothing any more that has not expired. Content that nobody wrote needs its key no longer than the rest: with a
 * projection that is empty both keys go, and the salt with them.
 */
const expired = `with old as (
    select c.stream, c.org_id, c.class from ledger.content c join ledger.stream_heads h on h.stream = c.stream and h.closed and h.category = 'run'
    where c.expires_at < now()
      and not exists (select from runs.erasures e where e.run_id = substring(c.stream from 5)::uuid and e.class = c.class)
    group by c.stream, c.org_id, c.class
    having not exists (select from ledger.content l where l.stream = c.stream and l.class = c.class and (l.expires_at is null or l.expires_at >= now()))
    limit $1
  ), wanted as (
    select stream, org_id, class from old
    union select stream, org_id, 'projection' from old o
      where class = 'rest' and not exists (select from ledger.content l where l.stream = o.stream and l.class = 'projection')
  )
  insert into runs.erasures (run_id, org_id, class, cause, requested_by)
  select substring(stream from 5)::uuid, org_id, class, 'retention', 'retention' from wanted
  on conflict do nothing`;

const erasureOf = (row: Row): Erasure => ({
  runId: row.run_id,
  org: row.org_id,
  classes: row.classes,
  cause: row.cause,
  by: row.requested_by,
});

export const erasureTable = (sql: SqlPool): ErasureTable => ({
  async promise({ runId, org, classes, cause, by }) {
    await sql.query(
      `insert into runs.erasures (run_id, org_id, class, cause, requested_by) select $1, $2, class, $4, $5 from unnest($3::text[]) as c (class)
       on conflict do nothing`,
      [runId, org, classes, cause, by],
    );
  },
  async open(filter) {
    const { rows } = await sql.query<Row>(openOnes, 'runId' in filter ? [filter.runId, 10, []] : [null, filter.limit, filter.except]);
    return rows.map(erasureOf);
  },
  destroy: ({ runId, classes }) => sql.transaction((tx) => destroy(tx, `run-${runId}`, classes)),
  async done({ runId, classes }) {
    await sql.query('update runs.erasures set done_at = now() where run_id = $1 and class = any ($2) and done_at is null', [
      runId,
      classes,
    ]);
  },
  async promiseExpired(limit) {
    return (await sql.query(expired, [limit])).rowCount;
  },
});

async function destroy(tx: SqlClient, stream: string, classes: Erasure['classes']): Promise<void> {
  const projection = classes.includes('projection');
  const rest = classes.includes('rest');
  await tx.query(
    `update ledger.run_keys set
       projection = case when $2 then null else projection end, projection_erased_at = case when $2 then coalesce(projection_erased_at, now()) else projection_erased_at end,
       rest = case when $3 then null else rest end, rest_erased_at = case when $3 then coalesce(rest_erased_at, now()) else rest_erased_at end,
       salt = case when ($2 or projection is null) and ($3 or rest is null) then null else salt end
     where stream = $1`,
    [stream, projection, rest],
  );
  await tx.query('delete from ledger.content where stream = $1 and class = any ($2)', [stream, classes]);
}
