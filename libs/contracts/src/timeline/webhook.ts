import { z } from 'zod';
import { Count } from '../ids';
import type { EventRows } from './event-rows';

/** `event_id`: what it told of; null for a test. */
const callback = {
  delivery_id: z.uuid(),
  webhook_id: z.uuid(),
  run_id: z.uuid().nullable(),
  event_id: z.uuid().nullable(),
  type: z.string().max(64),
};

/** Who is told of what, and how each delivery ended. */
export const webhookEvents = {
  // On the stream of the webhook. Of its URL only the origin: a path may itself be a secret.
  'webhook.created': {
    appender: 'delivery',
    data: z.strictObject({
      webhook_id: z.uuid(),
      origin: z.string().max(300),
      events: z.array(z.string().max(64)).min(1),
      agent: z.string().nullable(),
      by: z.string(),
    }),
  },
  'webhook.secret_rotated': { appender: 'delivery', data: z.strictObject({ webhook_id: z.uuid(), by: z.string() }) },
  // The receiver answered 410: it wants nothing more.
  'webhook.disabled': { appender: 'delivery', data: z.strictObject({ webhook_id: z.uuid(), delivery_id: z.uuid() }) },
  'webhook.removed': { appender: 'delivery', data: z.strictObject({ webhook_id: z.uuid(), by: z.string() }) },
  // On the stream of the delivery, once it is settled. Delivered after it had failed, when a person asked for that.
  'callback.delivered': {
    appender: 'delivery',
    data: z.strictObject({ ...callback, attempts: Count, status: z.number().int() }),
  },
  'callback.failed': {
    appender: 'delivery',
    data: z.strictObject({ ...callback, attempts: Count, reason: z.string().max(64), status: z.number().int().nullable() }),
  },
} as const satisfies EventRows;
