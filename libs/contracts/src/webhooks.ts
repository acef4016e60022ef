import { z } from 'zod';
import { ApprovalId, Count, Digest, MicroUsd, Name, Timestamp } from './ids';
import { ApprovalScope, Coverage, Outcome, StatusReason } from './timeline';

/** Outgoing webhooks (Standard Webhooks): who is told of what, and how each telling stands. */
export const webhookEvents = ['approval.requested', 'run.result'] as const;
export const WebhookEvent = z.enum(webhookEvents);
export type WebhookEvent = z.infer<typeof WebhookEvent>;

/** Subscriptions of one organisation. */
export const webhooksMax = 1_000;
/** How long the old secret still signs beside the new one. */
export const secretOverlapSecs = 86_400;

/** `agent`: only runs of this agent; left out, of all. */
export const CreateWebhookBody = z.strictObject({
  url: z.string().min(1).max(2_048),
  events: z
    .array(WebhookEvent)
    .min(1)
    .refine((events) => new Set(events).size === events.length, 'must not name an event twice'),
  agent: Name.optional(),
});
export type CreateWebhookBody = z.infer<typeof CreateWebhookBody>;
export const WebhookView = z.strictObject({
  id: z.uuid(),
  /** Null: the sealed row cannot be opened, so nothing is sent to it until its key is back; it can be removed. */
  url: z.string().nullable(),
  events: z.array(WebhookEvent),
  agent: Name.nullable(),
  created_by: z.string(),
  created_at: Timestamp,
  /** Set when the receiver answered 410: nothing more is sent to it. */
  disabled_at: Timestamp.nullable(),
  /** Until when the secret before the last rotation signs too. */
  old_secret_until: Timestamp.nullable(),
});
export type WebhookView = z.infer<typeof WebhookView>;
/** The secret (`whsec_` and base64) is shown this once. */
export const WebhookWithSecret = WebhookView.extend({ secret: z.string() });
export type WebhookWithSecret = z.infer<typeof WebhookWithSecret>;

/** What an attempt came to, and why a delivery is dead. */
export const DeliveryReason = z.enum([
  'timeout',
  'unresolvable',
  'private_address',
  'connection_failed',
  'tls_failed',
  'redirect',
  'refused_status',
  'gone',
  'expired',
  'process_lost',
  'unreadable_secret',
]);
export type DeliveryReason = z.infer<typeof DeliveryReason>;
export const deliveryStates = ['pending', 'delivered', 'dead', 'cancelled'] as const;
export const DeliveryState = z.enum(deliveryStates);
export type DeliveryState = z.infer<typeof DeliveryState>;
/** `type`: of the message; `webhook.test` was asked for by a person. */
export const MessageType = z.enum([...webhookEvents, 'webhook.test']);
export type MessageType = z.infer<typeof MessageType>;
export const DeliveryView = z.strictObject({
  id: z.uuid(),
  webhook_id: z.uuid(),
  type: MessageType,
  run_id: z.uuid().nullable(),
  state: DeliveryState,
  attempts: Count,
  /** HTTP status of the last answer; null where there was none. */
  last_status: z.number().int().nullable(),
  reason: DeliveryReason.nullable(),
  next_attempt_at: Timestamp.nullable(),
  created_at: Timestamp,
  settled_at: Timestamp.nullable(),
});
export type DeliveryView = z.infer<typeof DeliveryView>;

/**
 * Where a stream stood: whoever keeps it can tell a record that was changed afterwards. As a witness keeps it (`fluidbox verify --witness`). `jws`: the checkpoint
 * of this head, which proves itself; null when it was not signed in time.
 */
const Head = z.strictObject({
  stream: z.string(),
  seq: z.number().int().min(1),
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  jws: z.string().nullable(),
});
/**
 * The body of a delivery. It holds nothing that a person or a model wrote: no task, no input, no summary. `link` opens the approval and decides nothing.
 */
export const WebhookMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('approval.requested'),
    timestamp: Timestamp,
    data: z.strictObject({
      run_id: z.uuid(),
      approval_id: ApprovalId,
      agent: z.string(),
      tool: z.string(),
      scope: ApprovalScope,
      approvers: z.number().int(),
      expires_at: Timestamp,
      link: z.string(),
    }),
  }),
  z.strictObject({
    type: z.literal('run.result'),
    timestamp: Timestamp,
    data: z.strictObject({
      run_id: z.uuid(),
      agent: z.string(),
      outcome: Outcome,
      reason: StatusReason,
      coverage: Coverage,
      cost_micro_usd: MicroUsd,
      duration_ms: Count,
      diff_sha256: Digest.nullable(),
      head: Head,
    }),
  }),
  z.strictObject({ type: z.literal('webhook.test'), timestamp: Timestamp, data: z.strictObject({ webhook_id: z.uuid() }) }),
]);
export type WebhookMessage = z.infer<typeof WebhookMessage>;
export type ResultMessage = Extract<WebhookMessage, { type: 'run.result' }>;
