import { randomUUID } from 'node:crypto';
import type { DeliveryReason, DeliveryView, MessageType } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import type { SqlPool } from '@fluidbox/service-kit';
import type { Claimed, DeliveryTable, Settlement } from '../app/ports';
import { tell } from './outbox';
import { cancelPending, type SecretBox } from './webhook-table';

/** Longer than an attempt can take, so that a live process never loses one. */
const leaseMs = 30_000;
/** Attempts at once of one webhook; one while its receiver fails. Counted over all processes. */
const atOnceMax = 8;
const pageMax = 100;

interface ViewRow {
  id: string;
  webhook_id: string;
  type: MessageType;
  run_id: string | null;
  state: DeliveryView['state'];
  attempts: number;
  last_status: number | null;
  reason: DeliveryReason | null;
  next_attempt_at: Date;
  created_at: Date;
  settled_at: Date | null;
}
const viewColumns = 'id, webhook_id, type, run_id, state, attempts, last_status, reason, next_attempt_at, created_at, settled_at';
const viewOf = (row: ViewRow): DeliveryView => ({
  ...row,
  next_attempt_at: row.state === 'pending' ? row.next_attempt_at.toISOString() : null,
  created_at: row.created_at.toISOString(),
  settled_at: row.settled_at?.toISOString() ?? null,
});

export function deliveryTable(sql: SqlPool, box: SecretBox): DeliveryTable {
  return {
    async add(deliveries, now, tx) {
      for (const { id, webhookId, org, type, runId, eventId, message, expiresAt } of deliveries) {
        await tx.query(
          `insert into delivery.deliveries (id, webhook_id, org_id, type, run_id, event_id, body, expires_at, next_attempt_at, created_at)
           select $1, w.id, $3, $4, $5, $6, $7, $8, $9, $9 from delivery.webhooks w
           where w.id = $2 and w.removed_at is null and w.disabled_at is null for share
           on conflict do nothing`,
          [id, webhookId, org, type, runId, eventId, JSON.stringify(message), expiresAt, now],
        );
      }
    },
    async find(org, webhookId, id) {
      const { rows } = await sql.query<ViewRow>(
        `select ${viewColumns} from delivery.deliveries where id = $1 and webhook_id = $2 and org_id = $3`,
        [id, webhookId, org],
      );
      return rows[0] === undefined ? null : viewOf(rows[0]);
    },
    async list(org, webhookId, state) {
      const { rows } = await sql.query<ViewRow>(
        `select ${viewColumns} from delivery.deliveries where webhook_id = $1 and org_id = $2 and ($3::text is null or state = $3)
         order by created_at desc, id desc limit ${pageMax}`,
        [webhookId, org, state],
      );
      return rows.map(viewOf);
    },
    async sendAgain(org, webhookId, id, now) {
      // A person asked: that what it tells of is over does not matter.
      const { rowCount } = await sql.query(
        `update delivery.deliveries
         set state = 'pending', tries = 0, next_attempt_at = $4, settled_at = null, reason = null, expires_at = null
         where id = $1 and webhook_id = $2 and org_id = $3 and state <> 'pending'`,
        [id, webhookId, org, now],
      );
      return rowCount > 0;
    },
    async claim({ room, now }) {
      const lease = randomUUID();
      const { rows } = await sql.query<ClaimRow>(claimSql, [now, new Date(now.getTime() + leaseMs), lease, room, atOnceMax]);
      return rows.map((row) => claimedOf(row, lease, box));
    },
    async replaceBody({ id, lease }, body) {
      const { rowCount } = await sql.query('update delivery.deliveries set body = $3 where id = $1 and lease = $2', [id, lease, body]);
      return rowCount > 0;
    },
    settle: (claimed, settlement, now) => sql.transaction((tx) => settleIn(tx, claimed, settlement, now)),
    async nextDue() {
      const { rows } = await sql.query<{ at: Date | null }>(
        `select least(
           (select next_attempt_at from delivery.deliveries where state = 'pending' and leased_until is null order by next_attempt_at limit 1),
           (select min(leased_until) from delivery.deliveries where state = 'pending' and leased_until is not null)
         ) as at`,
      );
      return rows[0]?.at?.getTime() ?? null;
    },
    async forgetSettledBefore(time) {
      await sql.query('delete from delivery.deliveries where settled_at < $1', [time]);
    },
  };
}

/**
 * Each receiver has its own room, so that however much waits for one, the others are served; a receiver that fails has room for one. `skip locked` and the lease keep
 * two processes from taking the same one. The beginning of the attempt is recorded in the same statement, and the attempt of a lost process is closed.
 */
const claimSql = `
  with free as (
    select w.id, case when w.failures > 0 then 1 else $5::integer end
      - (select count(*) from delivery.deliveries b where b.webhook_id = w.id and b.state = 'pending' and b.leased_until > $1) as room
    from delivery.webhooks w where w.removed_at is null and w.disabled_at is null
  ), due as (
    select d.id from free, lateral (
      select d.id, d.next_attempt_at from delivery.deliveries d
      where d.webhook_id = free.id and d.state = 'pending' and d.next_attempt_at <= $1 and (d.leased_until is null or d.leased_until <= $1)
      order by d.next_attempt_at limit greatest(free.room, 0) for update skip locked
    ) d order by d.next_attempt_at limit $4::integer
  ), claimed as (
    update delivery.deliveries d set leased_until = $2, lease = $3, attempts = attempts + 1, tries = tries + 1
    from due where d.id = due.id
    returning d.id, d.webhook_id, d.type, d.attempts, d.tries, d.body, d.expires_at
  ), lost as (
    update delivery.attempts a set reason = 'process_lost', finished_at = $1
    from claimed where a.delivery_id = claimed.id and a.finished_at is null
  ), begun as (
    insert into delivery.attempts (delivery_id, attempt, started_at) select id, attempts, $1 from claimed
  )
  select claimed.id, claimed.webhook_id, claimed.type, claimed.attempts, claimed.tries, claimed.body, claimed.expires_at, w.sealed
  from claimed join delivery.webhooks w on w.id = claimed.webhook_id`;

interface ClaimRow {
  id: string;
  webhook_id: string;
  type: MessageType;
  attempts: number;
  tries: number;
  body: string;
  expires_at: Date | null;
  sealed: Buffer;
}
const claimedOf = (row: ClaimRow, lease: string, box: SecretBox): Claimed => ({
  id: row.id,
  webhookId: row.webhook_id,
  lease,
  type: row.type,
  attempt: row.attempts,
  tries: row.tries,
  body: row.body,
  expiresAt: row.expires_at?.getTime() ?? null,
  secrets: box.open(row.webhook_id, row.sealed),
});

/** The row of the webhook is locked before that of the delivery, as whoever removes a webhook does. */
async function settleIn(tx: SqlClient, claimed: Claimed, settlement: Settlement, now: Date): Promise<void> {
  const { state, status, reason, nextAttemptAt, disables } = settlement;
  await tx.query('update delivery.attempts set finished_at = $3, status = $4, reason = $5 where delivery_id = $1 and attempt = $2', [
    claimed.id,
    claimed.attempt,
    now,
    status,
    reason,
  ]);
  if (state === 'delivered')
    await tx.query('update delivery.webhooks set failures = 0 where id = $1 and failures > 0', [claimed.webhookId]);
  else await tx.query('update delivery.webhooks set failures = failures + 1 where id = $1', [claimed.webhookId]);
  const { rows } = await tx.query<{ org_id: string; type: string; run_id: string | null; event_id: string | null; attempts: number }>(
    `update delivery.deliveries
     set state = $3, last_status = $4, reason = $5, next_attempt_at = coalesce($6, next_attempt_at), leased_until = null, lease = null,
         settled_at = case when $3 = 'pending' then null else $7::timestamptz end
     where id = $1 and lease = $2 and state = 'pending' returning org_id, type, run_id, event_id, attempts`,
    [claimed.id, claimed.lease, state, status, reason, nextAttemptAt, now],
  );
  const [row] = rows;
  if (row === undefined || state === 'pending') return;
  const { org_id: org, type, run_id, event_id, attempts } = row;
  const stream = { category: 'delivery', id: claimed.id, org } as const;
  const about = { delivery_id: claimed.id, webhook_id: claimed.webhookId, run_id, event_id, type, attempts };
  if (state === 'delivered') await tell(tx, stream, 'service:delivery', 'callback.delivered', { ...about, status: status ?? 0 });
  else await tell(tx, stream, 'service:delivery', 'callback.failed', { ...about, reason: reason ?? 'refused_status', status });
  if (disables) await disable(tx, claimed, org, now);
}

async function disable(tx: SqlClient, { id, webhookId }: Claimed, org: string, now: Date): Promise<void> {
  const { rowCount } = await tx.query(
    'update delivery.webhooks set disabled_at = $2 where id = $1 and disabled_at is null and removed_at is null',
    [webhookId, now],
  );
  await cancelPending(tx, webhookId, now);
  if (rowCount === 0) return;
  const stream = { category: 'webhook', id: webhookId, org } as const;
  await tell(tx, stream, 'service:delivery', 'webhook.disabled', { webhook_id: webhookId, delivery_id: id });
}
