import type { SqlClient } from '@fluidbox/event-store';
import type { HeartbeatTable } from '../app/heartbeats';

export const heartbeatTable = (sql: SqlClient): HeartbeatTable => ({
  async store(beats) {
    await sql.query(
      `insert into runs.heartbeats as h (run_id, last_beat_at)
       select run_id, to_timestamp(ms / 1000.0) from unnest($1::uuid[], $2::double precision[]) as b (run_id, ms)
       on conflict (run_id) do update set last_beat_at = greatest(h.last_beat_at, excluded.last_beat_at)`,
      [[...beats.keys()], [...beats.values()]],
    );
  },
  async read(runId) {
    const { rows } = await sql.query<{ ms: string }>(
      'select extract(epoch from last_beat_at) * 1000 as ms from runs.heartbeats where run_id = $1',
      [runId],
    );
    return rows[0] === undefined ? null : Number(rows[0].ms);
  },
});
