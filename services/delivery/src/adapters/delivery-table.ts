import { randomUUID } from 'node:crypto';
import type { DeliveryReason, DeliveryView, MessageType } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import type { SqlPool } from '@fluidbox/service-kit';
import { inGroups } from '../app/in-groups';
import type { Claimed, DeliveryTable, NewDelivery } from '../app/ports';
import { type Beginning, beginAll, claimDue, giveBackAll } from './claim';
import { type Ended, settleAll } from './settle';
import type { SecretBox } from './webhook-table';

const pageMax = 100;
const addedAtOnce = 500;

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

/** Every process has its own: it is in the leases that it holds. */
export function deliveryTable(sql: SqlPool, box: SecretBox): DeliveryTable {
  const lease = randomUUID();
  const begin = inGroups((group: readonly Beginning[]) => beginAll(sql, box, lease, group));
  const settle = inGroups(async (group: readonly Ended[]) => {
    await sql.transaction((tx) => settleAll(tx, lease, group));
    return group.map(() => undefined);
  });
  const giveBack = inGroups(async (group: readonly Claimed[]) => {
    await giveBackAll(sql, lease, group);
    return group.map(() => undefined);
  });
  return {
    async add(deliveries, now, tx) {
      for (let at = 0; at < deliveries.length; at += addedAtOnce) await addAll(tx, deliveries.slice(at, at + addedAtOnce), now);
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
    claim: ({ room, now }) => claimDue(sql, lease, room, now),
    giveBack,
    begin: (claimed, body, now) => begin({ claimed, body, now }),
    settle: (claimed, settlement, now) => settle({ claimed, settlement, now }),
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

/** Rows of webhooks in the order of their ids, so that two who add never wait for each other. */
async function addAll(tx: SqlClient, deliveries: readonly NewDelivery[], now: Date): Promise<void> {
  await tx.query(
    `insert into delivery.deliveries (id, webhook_id, org_id, type, run_id, event_id, body, expires_at, next_attempt_at, created_at)
     select n.id, w.id, n.org_id, n.type, n.run_id, n.event_id, n.body, n.expires_at, $9, $9
     from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::uuid[], $7::text[], $8::timestamptz[])
       n (id, webhook_id, org_id, type, run_id, event_id, body, expires_at)
     join (
       select id from delivery.webhooks where id = any ($2) and removed_at is null and disabled_at is null order by id for share
     ) w on w.id = n.webhook_id
     on conflict do nothing`,
    [
      deliveries.map(({ id }) => id),
      deliveries.map(({ webhookId }) => webhookId),
      deliveries.map(({ org }) => org),
      deliveries.map(({ type }) => type),
      deliveries.map(({ runId }) => runId),
      deliveries.map(({ eventId }) => eventId),
      deliveries.map(({ message }) => JSON.stringify(message)),
      deliveries.map(({ expiresAt }) => expiresAt),
      now,
    ],
  );
}
