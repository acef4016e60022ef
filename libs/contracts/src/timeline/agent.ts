import { z } from 'zod';
import { Budgets } from '../budgets';
import { Digest } from '../ids';
import type { EventRows } from './event-rows';

/** On the stream of the agent. */
export const agentEvents = {
  'agent.created': { appender: 'run-specs', data: z.strictObject({ agent_id: z.uuid(), name: z.string(), by: z.string() }) },
  'agent.revised': {
    appender: 'run-specs',
    data: z.strictObject({
      revision: z.number().int(),
      harness: z.string(),
      model: z.string(),
      policy: z.string(),
      budgets: Budgets.nullable(),
      trust_tier: z.enum(['trusted', 'read_only']),
      workspace: z.unknown(),
      description: z.string().nullable(),
      by: z.string(),
      system_prompt_digest: Digest.nullable(),
    }),
    content: z.strictObject({ system_prompt: z.string() }),
  },
} as const satisfies EventRows;
