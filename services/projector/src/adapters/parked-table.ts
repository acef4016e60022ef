import { type ParkedView, Problem } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';

const listedMax = 1_000;
interface Row {
  readonly name: string;
  readonly global_position: string;
  readonly reason: string;
  readonly tries: number;
  readonly at: Date;
  readonly replay_requested_at: Date | null;
}
const viewOf = (row: Row): ParkedView => ({
  follower: row.name,
  position: Number(row.global_position),
  reason: row.reason,
  tries: row.tries,
  at: row.at.toISOString(),
  replay_requested_at: row.replay_requested_at?.toISOString() ?? null,
});

/** What the followers of all services gave up on, oldest first. */
export async function parkedEvents(sql: SqlClient): Promise<ParkedView[]> {
  const { rows } = await sql.query<Row>(`select * from ledger.parked order by at, name, global_position limit ${listedMax}`);
  return rows.map(viewOf);
}

/** Asks the follower to handle it again, at its next look: within 30 s. It leaves the list when that worked. */
export async function askForReplay(sql: SqlClient, follower: string, position: number): Promise<ParkedView> {
  const { rows } = await sql.query<Row>(
    'update ledger.parked set replay_requested_at = coalesce(replay_requested_at, now()) where name = $1 and global_position = $2 returning *',
    [follower, position],
  );
  const row = rows[0];
  if (row === undefined) throw new Problem('not_found', `parked: ${follower} has parked no event at position ${position}`);
  return viewOf(row);
}
