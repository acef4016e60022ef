import { z } from 'zod';
import { Count, Digest, MicroUsd } from '../ids';
import { FailedUpstream, UpstreamName, upstreamsMax } from '../upstreams';
import type { EventRows } from './event-rows';
import { call, FieldDigests } from './tool-call';

export const CallClass = z.enum(['decided', 'rejected_by_harness', 'no_effect', 'provider_executed', 'uncovered', 'unknown']);
export type CallClass = z.infer<typeof CallClass>;

export const usage = { input_tokens: Count, output_tokens: Count, cache_read_tokens: Count, cache_write_tokens: Count };

/** What the model answered, which calls it asked for, and which of those the gate never saw. */
export const modelCallEvents = {
  'model.response': {
    appender: 'llm-facade',
    data: z.strictObject({
      reservation_id: z.uuid(),
      model: z.string(),
      status: z.number().int(),
      stop_reason: z.string().nullable(),
      tool_calls: Count.optional(),
      ...usage,
      // Parts of the writes and of the output, where the provider names them.
      cache_write_1h_tokens: Count.optional(),
      reasoning_tokens: Count.optional(),
      cost_micro_usd: MicroUsd.nullable(),
      estimated: z.boolean(),
      agent_id: z.string().max(128).nullable(),
      duration_ms: Count,
      // Of the organisation's own upstreams the one that answered, and those that were asked before it.
      upstream: UpstreamName.optional(),
      attempts: z.array(FailedUpstream).max(upstreamsMax).optional(),
    }),
  },
  // `input_fields` is compared with the one of `tool.requested`: the gate must have judged what the model asked for.
  'model.tool_call': {
    appender: 'llm-facade',
    // `input_variants`: the same field as the harness is known to tidy it before it asks.
    data: z.strictObject({
      ...call,
      input_digest: Digest,
      input_fields: FieldDigests.optional(),
      input_variants: z.record(z.string().max(64), z.array(Digest).max(8)).optional(),
      reservation_id: z.uuid(),
    }),
  },
  // Closes a model call that the gate never decided and that had no effect. `decided` needs no event: the gate's `tool.decision` closes it.
  'model.tool_call_closed': {
    appender: 'llm-facade',
    data: z.strictObject({ ...call, class: z.enum(['rejected_by_harness', 'no_effect']) }),
  },
  // Ends model access, so the run fails. `report_only`: the policy says `coverage: report`, it is recorded and nothing ends.
  'coverage.gap': {
    appender: 'llm-facade',
    data: z.strictObject({
      ...call,
      class: z.enum(['uncovered', 'provider_executed', 'rejected_by_harness']),
      report_only: z.literal(true).optional(),
    }),
  },
} as const satisfies EventRows;
