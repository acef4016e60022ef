import type { SqlClient } from '@fluidbox/event-store';
import { type SignedHead, type Vouched, witnessId } from '../app/sign-checkpoint';

export async function saveCheckpoint(tx: SqlClient, head: SignedHead, kid: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into ledger.checkpoints (stream, seq, org_id, hash, jws, kid) values ($1, $2, $3, decode($4, 'hex'), $5, $6)
     on conflict (stream, seq) do nothing`,
    [head.stream, head.seq, head.org, head.hash, head.jws, kid],
  );
  return rowCount > 0;
}

export async function lastSigned(tx: SqlClient, stream: string): Promise<Vouched | null> {
  const { rows } = await tx.query<{ seq: string; hash: Buffer }>(
    'select seq, hash from ledger.checkpoints where stream = $1 order by seq desc limit 1',
    [stream],
  );
  const row = rows[0];
  return row === undefined ? null : { seq: Number(row.seq), hash: row.hash.toString('hex') };
}

/** Signed since then: whether a witness got them before we stopped or lost the bus is not known, and twice does no harm. */
export async function checkpointsSince(sql: SqlClient, since: Date): Promise<SignedHead[]> {
  const { rows } = await sql.query<{ org_id: string; stream: string; seq: string; hash: Buffer; jws: string }>(
    'select org_id, stream, seq, hash, jws from ledger.checkpoints where created_at >= $1 order by created_at limit 10000',
    [since],
  );
  return rows.map((row) => ({
    org: row.org_id,
    id: witnessId(row.stream),
    stream: row.stream,
    seq: Number(row.seq),
    hash: row.hash.toString('hex'),
    jws: row.jws,
  }));
}

/** Runs that were alive when we stopped and moved after their last checkpoint. */
export async function liveRuns(sql: SqlClient, version: number): Promise<{ id: string; org: string; signedAt: number }[]> {
  const { rows } = await sql.query<{ run_id: string; org_id: string; signed_at: Date }>(
    `select r.run_id, r.org_id, coalesce(c.created_at, r.created_at) as signed_at
     from read.run_rows r
     left join lateral (select seq, created_at from ledger.checkpoints c where c.stream = 'run-' || r.run_id order by seq desc limit 1) c on true
     where r.version = $1 and r.status not in ('completed', 'failed', 'cancelled', 'budget_exceeded') and r.last_seq > coalesce(c.seq, 0)`,
    [version],
  );
  return rows.map((row) => ({ id: row.run_id, org: row.org_id, signedAt: row.signed_at.getTime() }));
}
