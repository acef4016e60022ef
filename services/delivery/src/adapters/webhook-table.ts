import { Problem } from '@fluidbox/contracts';
import type { SqlClient } from '@fluidbox/event-store';
import type { KeyEncryptionKey } from '@fluidbox/seal';
import type { SqlPool } from '@fluidbox/service-kit';
import { z } from 'zod';
import type { Webhook, WebhookTable } from '../app/ports';
import type { WebhookSecrets } from '../domain/secrets';
import { tell } from './outbox';

const Secrets = z.strictObject({
  url: z.string(),
  secret: z.string(),
  old: z.strictObject({ secret: z.string(), until: z.number() }).nullable(),
});

export interface SecretBox {
  seal(id: string, secrets: WebhookSecrets): Buffer;
  /** Null when it does not open, or opens to something else: one such row must not keep the others from theirs. */
  open(id: string, sealed: Buffer): WebhookSecrets | null;
}
/** Bound to the webhook: sealed bytes that were copied into another row do not open there. */
export const secretBox = (key: KeyEncryptionKey): SecretBox => ({
  seal: (id, secrets) => key.wrap(Buffer.from(JSON.stringify(secrets), 'utf8'), `webhook-${id}`),
  open: (id, sealed) => {
    try {
      return Secrets.parse(JSON.parse(key.unwrap(sealed, `webhook-${id}`).toString('utf8')));
    } catch {
      return null;
    }
  },
});

interface Row {
  id: string;
  org_id: string;
  agent: string | null;
  events: Webhook['events'];
  sealed: Buffer;
  created_by: string;
  created_at: Date;
  disabled_at: Date | null;
}
const columns = 'id, org_id, agent, events, sealed, created_by, created_at, disabled_at';
const streamOf = (id: string, org: string) => ({ category: 'webhook', id, org }) as const;

/** URL and secrets rest sealed; of the rest only what is looked for by. */
export function webhookTable(sql: SqlPool, box: SecretBox): WebhookTable {
  const webhookOf = (row: Row): Webhook => ({
    id: row.id,
    org: row.org_id,
    agent: row.agent,
    events: row.events,
    createdBy: row.created_by,
    createdAt: row.created_at,
    disabledAt: row.disabled_at,
    secrets: box.open(row.id, row.sealed),
  });
  const findIn = async (tx: SqlClient, org: string, id: string, lock = ''): Promise<Webhook | null> => {
    const { rows } = await tx.query<Row>(
      `select ${columns} from delivery.webhooks where id = $1 and org_id = $2 and removed_at is null ${lock}`,
      [id, org],
    );
    return rows[0] === undefined ? null : webhookOf(rows[0]);
  };
  return {
    create: (webhook) =>
      sql.transaction(async (tx) => {
        const { id, org, agent, events, createdBy, createdAt, secrets } = webhook;
        await tx.query(
          'insert into delivery.webhooks (id, org_id, agent, events, sealed, created_by, created_at) values ($1, $2, $3, $4, $5, $6, $7)',
          [id, org, agent, events, box.seal(id, secrets), createdBy, createdAt],
        );
        const data = { webhook_id: id, origin: new URL(secrets.url).origin, events: [...events], agent, by: createdBy };
        await tell(tx, streamOf(id, org), `principal:${createdBy}`, 'webhook.created', data);
      }),
    async count(org) {
      const { rows } = await sql.query<{ n: number }>(
        'select count(*)::integer as n from delivery.webhooks where org_id = $1 and removed_at is null',
        [org],
      );
      return rows[0]?.n ?? 0;
    },
    async list(org) {
      const { rows } = await sql.query<Row>(
        `select ${columns} from delivery.webhooks where org_id = $1 and removed_at is null order by created_at, id`,
        [org],
      );
      return rows.map(webhookOf);
    },
    find: (org, id) => findIn(sql, org, id),
    remove: (org, id, by, now) =>
      sql.transaction(async (tx) => {
        const { rowCount } = await tx.query(
          "update delivery.webhooks set removed_at = $3, sealed = '' where id = $1 and org_id = $2 and removed_at is null",
          [id, org, now],
        );
        if (rowCount === 0) return false;
        await cancelPending(tx, id, now);
        await tell(tx, streamOf(id, org), `principal:${by}`, 'webhook.removed', { webhook_id: id, by });
        return true;
      }),
    rotate: (org, id, by, change) =>
      sql.transaction(async (tx) => {
        const webhook = await findIn(tx, org, id, 'for update');
        if (webhook === null) return null;
        if (webhook.secrets === null)
          throw new Problem(
            'conflict',
            'its sealed URL and secret cannot be opened with the key of this deployment; remove the webhook and add it again',
          );
        const secrets = change(webhook.secrets);
        await tx.query('update delivery.webhooks set sealed = $2 where id = $1', [id, box.seal(id, secrets)]);
        await tell(tx, streamOf(id, org), `principal:${by}`, 'webhook.secret_rotated', { webhook_id: id, by });
        return { ...webhook, secrets };
      }),
  };
}

/** Whoever calls this holds the row of the webhook, so that nothing is added meanwhile. */
export async function cancelPending(tx: SqlClient, webhookId: string, now: Date): Promise<void> {
  await tx.query(
    `update delivery.deliveries set state = 'cancelled', settled_at = $2, leased_until = null, lease = null
     where webhook_id = $1 and state = 'pending'`,
    [webhookId, now],
  );
}
