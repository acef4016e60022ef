import { runStream, type StreamRef } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';

/** Every run whose stream is not closed. */
export async function openRuns(sql: SqlClient): Promise<readonly StreamRef[]> {
  const { rows } = await sql.query<{ stream: string; org_id: string }>(
    "select stream, org_id from ledger.stream_heads where category = 'run' and not closed",
  );
  return rows.map((row) => runStream(row.stream.slice('run-'.length), row.org_id));
}
