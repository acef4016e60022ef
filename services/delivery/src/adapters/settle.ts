import type { SqlClient } from '@fluidbox/event-store';
import type { Claimed, Settlement } from '../app/ports';
import { type Telling, tell, tellAll, telling } from './outbox';
import { cancelPending } from './webhook-table';

export interface Ended {
  readonly claimed: Claimed;
  readonly settlement: Settlement;
  readonly now: Date;
}

/** What attempts came to, with the events that tell of it. Rows of webhooks are locked before those of deliveries, as whoever removes a webhook does. */
export async function settleAll(tx: SqlClient, lease: string, ended: readonly Ended[]): Promise<void> {
  const ids = ended.map(({ claimed }) => claimed.id);
  const attempts = ended.map(({ claimed }) => claimed.attempt);
  const times = ended.map(({ now }) => now);
  const statuses = ended.map(({ settlement }) => settlement.status);
  const reasons = ended.map(({ settlement }) => settlement.reason);
  await tx.query(
    `update delivery.attempts a set finished_at = e.at, status = e.status, reason = e.reason
     from unnest($1::uuid[], $2::integer[], $3::timestamptz[], $4::integer[], $5::text[]) e (id, attempt, at, status, reason)
     where a.delivery_id = e.id and a.attempt = e.attempt`,
    [ids, attempts, times, statuses, reasons],
  );
  await countFailures(tx, ended);
  const { rows } = await tx.query<Settled>(
    `update delivery.deliveries d
     set state = e.state, last_status = e.status, reason = e.reason, next_attempt_at = coalesce(e.next_at, d.next_attempt_at),
         leased_until = null, lease = null, settled_at = case when e.state = 'pending' then null else e.at end
     from unnest($2::uuid[], $3::integer[], $4::timestamptz[], $5::integer[], $6::text[], $7::text[], $8::timestamptz[])
       e (id, attempt, at, status, reason, state, next_at)
     where d.id = e.id and d.attempts = e.attempt and d.lease = $1 and d.state = 'pending'
     returning d.id, d.webhook_id, d.org_id, d.type, d.run_id, d.event_id, d.attempts, d.state, d.last_status, d.reason`,
    [
      lease,
      ids,
      attempts,
      times,
      statuses,
      reasons,
      ended.map(({ settlement }) => settlement.state),
      ended.map(({ settlement }) => settlement.nextAttemptAt),
    ],
  );
  await tellAll(tx, rows.flatMap(endOf));
  const settled = new Map(rows.map((row) => [row.id, row]));
  for (const { claimed, settlement, now } of ended) {
    const row = settled.get(claimed.id);
    if (settlement.disables && row !== undefined) await disable(tx, row, now);
  }
}

/** Since the last one that was answered. */
async function countFailures(tx: SqlClient, ended: readonly Ended[]): Promise<void> {
  const counts = new Map<string, { answered: boolean; failures: number }>();
  for (const { claimed, settlement } of ended) {
    const before = counts.get(claimed.webhookId) ?? { answered: false, failures: 0 };
    const now = settlement.state === 'delivered' ? { answered: true, failures: 0 } : { ...before, failures: before.failures + 1 };
    counts.set(claimed.webhookId, now);
  }
  const counted = [...counts.values()];
  await tx.query(
    `update delivery.webhooks w set failures = case when c.answered then 0 else w.failures end + c.failures
     from unnest($1::uuid[], $2::boolean[], $3::integer[]) c (id, answered, failures)
     where w.id = c.id and (c.failures > 0 or w.failures > 0)`,
    [[...counts.keys()], counted.map(({ answered }) => answered), counted.map(({ failures }) => failures)],
  );
}

interface Settled {
  id: string;
  webhook_id: string;
  org_id: string;
  type: string;
  run_id: string | null;
  event_id: string | null;
  attempts: number;
  state: Settlement['state'];
  last_status: number | null;
  reason: Settlement['reason'];
}

function endOf(row: Settled): Telling[] {
  const { id, webhook_id, org_id: org, type, run_id, event_id, attempts, last_status: status, reason } = row;
  const stream = { category: 'delivery', id, org } as const;
  const about = { delivery_id: id, webhook_id, run_id, event_id, type, attempts };
  if (row.state === 'pending') return [];
  if (row.state === 'delivered') return [telling(stream, 'service:delivery', 'callback.delivered', { ...about, status: status ?? 0 })];
  return [telling(stream, 'service:delivery', 'callback.failed', { ...about, reason: reason ?? 'refused_status', status })];
}

async function disable(tx: SqlClient, { id, webhook_id, org_id }: Settled, now: Date): Promise<void> {
  const { rowCount } = await tx.query(
    'update delivery.webhooks set disabled_at = $2 where id = $1 and disabled_at is null and removed_at is null',
    [webhook_id, now],
  );
  await cancelPending(tx, webhook_id, now);
  if (rowCount === 0) return;
  const stream = { category: 'webhook', id: webhook_id, org: org_id } as const;
  await tell(tx, stream, 'service:delivery', 'webhook.disabled', { webhook_id, delivery_id: id });
}
