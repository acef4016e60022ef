import { z } from 'zod';
import { Timestamp } from './ids';

/** Whose model an organisation's runs ask: its own upstreams with its own keys, in order, for one wire. Without any the deployment's is asked. */
export const upstreamDialects = ['anthropic_messages', 'openai_responses'] as const;
export const UpstreamDialect = z.enum(upstreamDialects);
export type UpstreamDialect = z.infer<typeof UpstreamDialect>;
export const UpstreamName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -, and not begin with -');
/** Of one organisation and dialect. */
export const upstreamsMax = 4;

/** `key` is write-only, and given with every change: else whoever changes the URL could have a key sent that they never knew. */
export const SetUpstreamBody = z.strictObject({
  base_url: z.string().min(1).max(2_048),
  // A shorter one could not be kept out of what an upstream echoes.
  key: z
    .string()
    .max(4_096)
    .regex(/^[\x21-\x7e]{12,}$/, 'must be the API key and nothing else: 12 visible characters at least'),
  /** Its place in the order, from 1 on; left out, where it stands, or behind all others. */
  position: z.number().int().min(1).max(upstreamsMax).optional(),
});
export type SetUpstreamBody = z.infer<typeof SetUpstreamBody>;
export const UpstreamView = z.strictObject({
  name: UpstreamName,
  position: z.number().int(),
  base_url: z.string(),
  set_by: z.string(),
  set_at: Timestamp,
});
export type UpstreamView = z.infer<typeof UpstreamView>;

/** An upstream that was asked and gave no answer, before the one that did. `reservation_id`: what it may have charged is settled there. */
export const FailedUpstream = z.strictObject({
  upstream: UpstreamName,
  outcome: z.enum(['unreachable', 'timeout', 'status']),
  status: z.number().int().optional(),
  reservation_id: z.uuid().optional(),
});
export type FailedUpstream = z.infer<typeof FailedUpstream>;
