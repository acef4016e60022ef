import { z } from 'zod';
import { BudgetMonth, BudgetPeriod, BudgetScope } from '../budgets';
import { Count, MicroUsd, Timestamp } from '../ids';
import type { EventRows } from './event-rows';

export const budgetKinds = ['wall_clock_secs', 'tokens', 'cost_micro_usd', 'tool_calls'] as const;
export const BudgetKind = z.enum(budgetKinds);

/** An account that several runs spend from: of the organisation or of an agent, in one month (UTC) or altogether. */
const account = { account: z.strictObject({ scope: BudgetScope, period: BudgetPeriod }).optional() };
const spent = { budget: BudgetKind, limit: Count, spent: Count, ...account };
const guard = { guard: z.enum(['same_call', 'denials', 'idle_model_calls']), count: Count, limit: Count };

/** What a run holds and spends, and what stops one that spends too much or gets nowhere. */
export const budgetEvents = {
  'budget.reserved': {
    appender: 'llm-facade',
    // `month`: of the accounts that the cost is held in and later charged to, whenever it is settled.
    data: z.strictObject({
      reservation_id: z.uuid(),
      tokens: Count,
      cost_micro_usd: MicroUsd.nullable(),
      expires_at: Timestamp,
      month: BudgetMonth.optional(),
    }),
  },
  'budget.settled': {
    appender: 'llm-facade or runs',
    data: z.strictObject({
      reservation_id: z.uuid(),
      tokens: Count,
      cost_micro_usd: MicroUsd.nullable(),
      basis: z.enum(['usage', 'estimated', 'pessimistic']),
      // Settled for a facade that was lost: what its answer asked for is not known, unless a `model.response` of this reservation comes after all.
      lost: z.literal(true).optional(),
    }),
  },
  'budget.released': {
    appender: 'llm-facade',
    data: z.strictObject({ reservation_id: z.uuid(), cause: z.enum(['not_sent', 'refused_upstream']) }),
  },
  'budget.warned': { appender: 'llm-facade', data: z.strictObject(spent) },
  'budget.exceeded': { appender: 'gate, llm-facade or runs', data: z.strictObject(spent) },
  'guard.warned': { appender: 'gate or llm-facade', data: z.strictObject(guard) },
  'guard.tripped': { appender: 'gate or llm-facade', data: z.strictObject(guard) },
} as const satisfies EventRows;
