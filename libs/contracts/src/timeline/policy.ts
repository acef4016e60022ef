import { z } from 'zod';
import { Count, Digest } from '../ids';
import type { EventRows } from './event-rows';

/** On the stream of the policy. */
export const policyEvents = {
  'policy.created': { appender: 'run-specs', data: z.strictObject({ name: z.string(), by: z.string() }) },
  'policy.published': {
    appender: 'run-specs',
    // `by` wrote it; where a second person was needed, `approved_by` published it.
    data: z.strictObject({
      version: z.number().int(),
      policy_digest: Digest,
      source_digest: Digest,
      summary: z.string(),
      by: z.string(),
      approved_by: z.string().optional(),
      proposal_id: z.uuid().optional(),
    }),
  },
  // `made_by`: who made the token of the proposer, so that nobody approves for themselves with a token of their own making.
  'policy.proposed': {
    appender: 'run-specs',
    data: z.strictObject({
      proposal_id: z.uuid(),
      base_version: z.number().int(),
      policy_digest: Digest,
      source_digest: Digest,
      summary: z.string(),
      by: z.string(),
      made_by: z.array(z.string()),
      reasons: z.array(z.string().max(300)).max(16),
      backtest: z.strictObject({ calls: Count, loosened: Count, undetermined: Count, erased: Count, complete: z.boolean() }).nullable(),
    }),
  },
  'policy.proposal_closed': {
    appender: 'run-specs',
    data: z.strictObject({ proposal_id: z.uuid(), outcome: z.enum(['rejected', 'withdrawn']), by: z.string() }),
  },
  // The name is free again; its versions stay readable, and the next one goes on with their numbers.
  'policy.deleted': { appender: 'run-specs', data: z.strictObject({ last_version: z.number().int(), by: z.string() }) },
} as const satisfies EventRows;
