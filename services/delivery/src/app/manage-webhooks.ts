import {
  type CreateWebhookBody,
  type DeliveryState,
  type DeliveryView,
  type Principal,
  Problem,
  secretOverlapSecs,
  type WebhookView,
  type WebhookWithSecret,
  webhooksMax,
} from '@fluidbox/contracts';
import { rotated, type WebhookSecrets } from '../domain/secrets';
import { refuseWebhookUrl } from '../domain/webhook-url';
import type { ByPrincipal, ManagePorts, Webhook } from './ports';

const unknownWebhook = (): Problem => new Problem('not_found', 'there is no such webhook');

export async function createWebhook(
  ports: ManagePorts,
  { principal, body }: { principal: Principal; body: CreateWebhookBody },
): Promise<WebhookWithSecret> {
  const refusal = refuseWebhookUrl(body.url, ports.privateHosts);
  if (refusal !== null) throw new Problem('unprocessable', `/url: ${refusal}`, { errors: [{ pointer: '/url', detail: refusal }] });
  if ((await ports.webhooks.count(principal.org)) >= webhooksMax)
    throw new Problem('conflict', `there are ${webhooksMax} webhooks already; remove one first`);
  // As the parser writes it: what was looked at is what is called.
  const secrets: WebhookSecrets = { url: new URL(body.url).href, secret: ports.generateSecret(), old: null };
  const webhook = {
    id: ports.uuid(),
    org: principal.org,
    agent: body.agent ?? null,
    events: body.events,
    createdBy: principal.name,
    createdAt: ports.clock.now(),
    disabledAt: null,
    secrets,
  };
  await ports.webhooks.create(webhook);
  await ports.record();
  return { ...viewOf(ports, webhook), secret: secrets.secret };
}

export const listWebhooks = async (ports: ManagePorts, { org }: { org: string }): Promise<WebhookView[]> =>
  (await ports.webhooks.list(org)).map((webhook) => viewOf(ports, webhook));

export async function removeWebhook(ports: ManagePorts, { principal, webhook_id }: ByPrincipal): Promise<{ removed: true }> {
  if (!(await ports.webhooks.remove(principal.org, webhook_id, principal.name, ports.clock.now()))) throw unknownWebhook();
  await ports.record();
  return { removed: true };
}

export async function rotateSecret(ports: ManagePorts, { principal, webhook_id }: ByPrincipal): Promise<WebhookWithSecret> {
  const now = ports.clock.now().getTime();
  const fresh = ports.generateSecret();
  const webhook = await ports.webhooks.rotate(principal.org, webhook_id, principal.name, (secrets) =>
    rotated(secrets, fresh, now, secretOverlapSecs * 1_000),
  );
  if (webhook === null) throw unknownWebhook();
  await ports.record();
  return { ...viewOf(ports, webhook), secret: fresh };
}

/** Goes the way of every other delivery, so that it proves what it shows. */
export async function testWebhook(ports: ManagePorts, { principal, webhook_id }: ByPrincipal): Promise<DeliveryView> {
  const webhook = await knownWebhook(ports, principal.org, webhook_id);
  if (webhook.disabledAt !== null)
    throw new Problem('conflict', 'its receiver answered 410 and gets nothing more; remove the webhook and add it again');
  const id = ports.uuid();
  const now = ports.clock.now();
  const message = { type: 'webhook.test', timestamp: now.toISOString(), data: { webhook_id } } as const;
  const about = { id, webhookId: webhook_id, org: principal.org, type: message.type, runId: null, eventId: null };
  await ports.deliveries.add([{ ...about, message, expiresAt: null }], now, ports.sql);
  ports.wake();
  return knownDelivery(ports, principal.org, webhook_id, id);
}

export async function listDeliveries(
  ports: ManagePorts,
  { org, webhook_id, state }: { org: string; webhook_id: string; state: DeliveryState | null },
): Promise<DeliveryView[]> {
  await knownWebhook(ports, org, webhook_id);
  return [...(await ports.deliveries.list(org, webhook_id, state))];
}

export async function redeliver(
  ports: ManagePorts,
  { principal, webhook_id, delivery_id }: ByPrincipal & { delivery_id: string },
): Promise<DeliveryView> {
  const webhook = await knownWebhook(ports, principal.org, webhook_id);
  const delivery = await knownDelivery(ports, principal.org, webhook_id, delivery_id);
  if (webhook.disabledAt !== null)
    throw new Problem('conflict', 'its receiver answered 410 and gets nothing more; remove the webhook and add it again');
  // Pending already: asked twice is asked once.
  if (!(await ports.deliveries.sendAgain(principal.org, webhook_id, delivery_id, ports.clock.now()))) return delivery;
  ports.wake();
  return knownDelivery(ports, principal.org, webhook_id, delivery_id);
}

async function knownWebhook(ports: ManagePorts, org: string, id: string): Promise<Webhook> {
  const webhook = await ports.webhooks.find(org, id);
  if (webhook === null) throw unknownWebhook();
  return webhook;
}

async function knownDelivery(ports: ManagePorts, org: string, webhookId: string, id: string): Promise<DeliveryView> {
  const delivery = await ports.deliveries.find(org, webhookId, id);
  if (delivery === null) throw new Problem('not_found', 'there is no such delivery of this webhook');
  return delivery;
}

function viewOf({ clock }: ManagePorts, { id, agent, events, createdBy, createdAt, disabledAt, secrets }: Webhook): WebhookView {
  const old = secrets?.old != null && secrets.old.until > clock.now().getTime() ? new Date(secrets.old.until).toISOString() : null;
  return {
    id,
    url: secrets?.url ?? null,
    events: [...events],
    agent,
    created_by: createdBy,
    created_at: createdAt.toISOString(),
    disabled_at: disabledAt?.toISOString() ?? null,
    old_secret_until: old,
  };
}
