import type { SqlClient } from '@fluidbox/event-store';
import type { FinishPorts } from '../app/finish-message';

/** What projector signed. */
export const checkpoints =
  (sql: SqlClient): FinishPorts['checkpointAt'] =>
  async (stream, seq) => {
    const { rows } = await sql.query<{ jws: string }>('select jws from ledger.checkpoints where stream = $1 and seq = $2', [stream, seq]);
    return rows[0]?.jws ?? null;
  };
