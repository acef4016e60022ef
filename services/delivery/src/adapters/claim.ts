import type { MessageType } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import type { SqlPool } from '@fluidbox/service-kit';
import type { Claimed, Sending } from '../app/ports';
import type { SecretBox } from './webhook-table';

/** Both longer than an attempt can take, so that a live process never loses one. */
const leaseMs = 30_000;
const leaseLeftMsMin = 15_000;
/** Of one receiver, what was begun included. */
const pageMax = 64;
const advisoryLock = 0x64656c;

/**
 * Each receiver has its own page, so that however much waits for one, the others are served; a receiver that fails has room for one. It belongs to the process
 * that holds leases of it: who bounds the attempts at it counts in memory, and needs nobody else's.
 */
const claimSql = `
  with free as (
    select w.id, w.failures > 0 as failing, case when w.failures > 0 then 1 else $5::integer end - held.count as room
    from delivery.webhooks w, lateral (
      select count(*) as count, count(*) filter (where b.lease <> $3) as elsewhere from delivery.deliveries b
      where b.webhook_id = w.id and b.state = 'pending' and b.leased_until > $1
    ) held
    where w.removed_at is null and w.disabled_at is null and held.elsewhere = 0
  ), due as (
    select d.id, free.failing from free, lateral (
      select d.id, d.next_attempt_at from delivery.deliveries d
      where d.webhook_id = free.id and d.state = 'pending' and d.next_attempt_at <= $1 and (d.leased_until is null or d.leased_until <= $1)
      order by d.next_attempt_at limit greatest(free.room, 0) for update skip locked
    ) d order by d.next_attempt_at limit $4::integer
  )
  update delivery.deliveries d set leased_until = $2, lease = $3 from due where d.id = due.id
  returning d.id, d.webhook_id, d.type, d.attempts, d.tries, d.body, d.expires_at, due.failing`;

interface ClaimRow {
  id: string;
  webhook_id: string;
  type: MessageType;
  attempts: number;
  tries: number;
  body: string;
  expires_at: Date | null;
  failing: boolean;
}

/** One process after the other: a claim that did not see the one beside it would take the same receiver. */
export const claimDue = (sql: SqlPool, lease: string, room: number, now: Date): Promise<Claimed[]> =>
  sql.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
    const { rows } = await tx.query<ClaimRow>(claimSql, [now, new Date(now.getTime() + leaseMs), lease, room, pageMax]);
    return rows.map((row) => ({
      id: row.id,
      webhookId: row.webhook_id,
      type: row.type,
      attempt: row.attempts + 1,
      tries: row.tries + 1,
      body: row.body,
      expiresAt: row.expires_at?.getTime() ?? null,
      failing: row.failing,
    }));
  });

export async function giveBackAll(sql: SqlClient, lease: string, claimed: readonly Claimed[]): Promise<void> {
  await sql.query(
    `update delivery.deliveries d set leased_until = null, lease = null from unnest($2::uuid[], $3::integer[]) back (id, attempt)
     where d.id = back.id and d.lease = $1 and d.attempts = back.attempt - 1 and d.state = 'pending'`,
    [lease, claimed.map(({ id }) => id), claimed.map(({ attempt }) => attempt)],
  );
}

export interface Beginning {
  readonly claimed: Claimed;
  readonly body: string;
  readonly now: Date;
}

/**
 * The attempt of a lost process is closed in the same statement. A lease that is long enough for an attempt stays as it is: a row whose indexed columns do not
 * change costs no index an entry.
 */
const beginSql = `
  with begun as (
    update delivery.deliveries d set body = b.body, attempts = b.attempt, tries = d.tries + 1,
      leased_until = case when d.leased_until < b.safe then b.until else d.leased_until end
    from unnest($2::uuid[], $3::integer[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[]) b (id, attempt, body, at, safe, until)
    where d.id = b.id and d.lease = $1 and d.attempts = b.attempt - 1 and d.state = 'pending' and d.leased_until > b.at
    returning d.id, d.webhook_id, b.attempt, b.at
  ), lost as (
    update delivery.attempts a set reason = 'process_lost', finished_at = begun.at
    from begun where a.delivery_id = begun.id and a.finished_at is null
  ), noted as (
    insert into delivery.attempts (delivery_id, attempt, started_at) select id, attempt, at from begun
  )
  select begun.id, begun.webhook_id, w.sealed from begun join delivery.webhooks w on w.id = begun.webhook_id`;

/** What is sealed is read here, not with the page: a secret that was rotated meanwhile signs. */
export async function beginAll(
  sql: SqlClient,
  box: SecretBox,
  lease: string,
  beginnings: readonly Beginning[],
): Promise<(Sending | null)[]> {
  const { rows } = await sql.query<{ id: string; webhook_id: string; sealed: Buffer }>(beginSql, [
    lease,
    beginnings.map(({ claimed }) => claimed.id),
    beginnings.map(({ claimed }) => claimed.attempt),
    beginnings.map(({ body }) => body),
    beginnings.map(({ now }) => now),
    beginnings.map(({ now }) => new Date(now.getTime() + leaseLeftMsMin)),
    beginnings.map(({ now }) => new Date(now.getTime() + leaseMs)),
  ]);
  const begun = new Map(rows.map((row) => [row.id, row]));
  return beginnings.map(({ claimed: { id }, body }) => {
    const row = begun.get(id);
    return row === undefined ? null : { id, body, secrets: box.open(row.webhook_id, row.sealed) };
  });
}
