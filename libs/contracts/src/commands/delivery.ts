import { z } from 'zod';
import { OrgId } from '../ids';
import { Principal } from '../public-api';
import { CreateWebhookBody, DeliveryState, DeliveryView, WebhookView, WebhookWithSecret } from '../webhooks';
import { command } from './command';

/** gateway → delivery, for an admin: who is told of waiting approvals and of results. The secret is answered once, by `create` and by `rotate`. */
const webhook = { principal: Principal, webhook_id: z.uuid() };
export const CreateWebhook = command(
  'delivery',
  'create_webhook',
  z.strictObject({ principal: Principal, body: CreateWebhookBody }),
  WebhookWithSecret,
);
export const ListWebhooks = command('delivery', 'list_webhooks', z.strictObject({ org: OrgId }), z.array(WebhookView));
export const RemoveWebhook = command('delivery', 'remove_webhook', z.strictObject(webhook), z.strictObject({ removed: z.literal(true) }));
export const RotateWebhookSecret = command('delivery', 'rotate_webhook_secret', z.strictObject(webhook), WebhookWithSecret);
export const TestWebhook = command('delivery', 'test_webhook', z.strictObject(webhook), DeliveryView);
/** Newest first, at most 100. */
export const ListDeliveries = command(
  'delivery',
  'list_deliveries',
  z.strictObject({ org: OrgId, webhook_id: z.uuid(), state: DeliveryState.nullable() }),
  z.array(DeliveryView),
);
/** Sends a settled delivery again, with its id and its body, on the whole schedule. */
export const Redeliver = command('delivery', 'redeliver', z.strictObject({ ...webhook, delivery_id: z.uuid() }), DeliveryView);
