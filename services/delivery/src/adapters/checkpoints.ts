import type { SqlClient } from '@fluidbox/event-store';
import type { FinishPorts } from '../app/finish-message';
import { inGroups } from '../app/in-groups';

/** What projector signed. All messages that look at the same time ask once. */
export function checkpoints(sql: SqlClient): FinishPorts['checkpointAt'] {
  const look = inGroups(async (places: readonly { stream: string; seq: number }[]) => {
    const { rows } = await sql.query<{ jws: string | null }>(
      `select c.jws from unnest($1::text[], $2::bigint[]) with ordinality place (stream, seq, number)
       left join ledger.checkpoints c on c.stream = place.stream and c.seq = place.seq order by number`,
      [places.map(({ stream }) => stream), places.map(({ seq }) => seq)],
    );
    return rows.map(({ jws }) => jws);
  });
  return (stream, seq) => look({ stream, seq });
}
