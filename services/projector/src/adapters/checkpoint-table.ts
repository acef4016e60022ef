import { type StreamRef, streamNameOf } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import { type SignedHead, type Standing, witnessId } from '../app/sign-checkpoint';

export async function saveCheckpoints(tx: SqlClient, heads: readonly SignedHead[], kid: string): Promise<SignedHead[]> {
  const { rows } = await tx.query<{ stream: string }>(
    `insert into ledger.checkpoints (stream, seq, org_id, hash, jws, kid)
     select stream, seq, org_id, decode(hash, 'hex'), jws, $6
     from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[]) signed (stream, seq, org_id, hash, jws)
     on conflict (stream, seq) do nothing returning stream`,
    [
      heads.map(({ stream }) => stream),
      heads.map(({ seq }) => seq),
      heads.map(({ org }) => org),
      heads.map(({ hash }) => hash),
      heads.map(({ jws }) => jws),
      kid,
    ],
  );
  const saved = new Set(rows.map(({ stream }) => stream));
  return heads.filter(({ stream }) => saved.has(stream));
}

interface StandingRow {
  number: number;
  seq: string;
  hash: string;
  closed: boolean;
  signed_seq: string | null;
  signed_hash: string | null;
}
export async function standings(tx: SqlClient, refs: readonly StreamRef[]): Promise<Standing[]> {
  const { rows } = await tx.query<StandingRow>(
    `select asked.number::integer, h.seq, encode(h.hash, 'hex') as hash, h.closed, c.seq as signed_seq, encode(c.hash, 'hex') as signed_hash
     from unnest($1::text[], $2::text[]) with ordinality asked (stream, org_id, number)
     join ledger.stream_heads h on h.stream = asked.stream and h.org_id = asked.org_id and h.seq > 0
     left join lateral (select seq, hash from ledger.checkpoints where stream = asked.stream order by seq desc limit 1) c on true
     order by asked.number`,
    [refs.map(streamNameOf), refs.map(({ org }) => org)],
  );
  return rows.flatMap(({ number, seq, hash, closed, signed_seq, signed_hash }) => {
    const ref = refs[number - 1];
    const signed = signed_seq === null || signed_hash === null ? null : { seq: Number(signed_seq), hash: signed_hash };
    return ref === undefined ? [] : [{ ref, head: { seq: Number(seq), hash, closed }, signed }];
  });
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
