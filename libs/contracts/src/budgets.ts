import { z } from 'zod';
import { MicroUsd } from './ids';

/** Effective limits of a run. `null` lifts a cap and must be written; nothing is unlimited by omission. */
export const Budgets = z.strictObject({
  max_wall_clock_secs: z
    .number()
    .int()
    .min(1)
    .max(30 * 86_400)
    .nullable(),
  max_tokens: z.number().int().min(1).max(1e12).nullable(),
  max_cost_micro_usd: z.number().int().min(1).max(1e12).nullable(),
  max_tool_calls: z.number().int().min(1).max(1e6).nullable(),
});
export type Budgets = z.infer<typeof Budgets>;

export const defaultBudgets: Budgets = {
  max_wall_clock_secs: 1800,
  max_tokens: 1_000_000,
  max_cost_micro_usd: 2_500_000,
  max_tool_calls: 100,
};

/** Costs are counted in millionths of a dollar; less would round to nothing, which is another limit than was meant. */
const leastUsd = 0.000_001;

/** What a person writes: dollars as a decimal number, any subset. */
export const BudgetsInput = z.strictObject({
  max_wall_clock_secs: Budgets.shape.max_wall_clock_secs.optional(),
  max_tokens: Budgets.shape.max_tokens.optional(),
  max_cost_usd: z.number().min(leastUsd).max(1e6).nullable().optional(),
  max_tool_calls: Budgets.shape.max_tool_calls.optional(),
});
export type BudgetsInput = z.infer<typeof BudgetsInput>;

const tighter = (a: number | null, b: number | null | undefined): number | null =>
  b === undefined || b === null ? a : a === null ? b : Math.min(a, b);
export const microUsdOf = (usd: number): number => Math.round(usd * 1_000_000);

/** `base` narrowed by `input`: field by field the smaller one wins, a missing or null field never widens. */
export function narrowBudgets(base: Budgets, input: BudgetsInput | undefined): Budgets {
  if (input === undefined) return base;
  const cost = input.max_cost_usd;
  return {
    max_wall_clock_secs: tighter(base.max_wall_clock_secs, input.max_wall_clock_secs),
    max_tokens: tighter(base.max_tokens, input.max_tokens),
    max_cost_micro_usd: tighter(base.max_cost_micro_usd, typeof cost === 'number' ? microUsdOf(cost) : cost),
    max_tool_calls: tighter(base.max_tool_calls, input.max_tool_calls),
  };
}

/**
 * Accounts that many runs spend from, in money: `org` is the organisation of the caller, `agent:<name>` one agent in it. Each is kept altogether
 * (`total`) and for each calendar month of UTC.
 */
export const BudgetScope = z.string().regex(/^(org|agent:[A-Za-z0-9_-][A-Za-z0-9._-]{0,63})$/, 'must be org or agent:<name>');
export type BudgetScope = z.infer<typeof BudgetScope>;
export const BudgetMonth = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, 'must be a month as YYYY-MM');
export type BudgetMonth = z.infer<typeof BudgetMonth>;
export const BudgetPeriod = z.union([z.literal('total'), BudgetMonth]);
export type BudgetPeriod = z.infer<typeof BudgetPeriod>;
export const budgetMonthOf = (time: number): BudgetMonth => new Date(time).toISOString().slice(0, 7);
export const agentScope = (agent: string): BudgetScope => `agent:${agent}`;
/** What share of a limit is warned of. */
export const budgetWarnAt = 0.8;

/** A limit for all time or for every month, this one included; `null` lifts it. */
export const SetBudgetBody = z.strictObject({
  period: z.enum(['total', 'month']),
  max_cost_usd: z
    .number()
    .max(1e9)
    .refine((usd) => usd === 0 || usd >= leastUsd, `must be 0 or at least ${leastUsd}`)
    .nullable(),
});
export type SetBudgetBody = z.infer<typeof SetBudgetBody>;
export const BudgetView = z.strictObject({
  scope: BudgetScope,
  period: BudgetPeriod,
  limit_micro_usd: MicroUsd.nullable(),
  spent_micro_usd: MicroUsd,
  reserved_micro_usd: MicroUsd,
  /** `warned`: from 80 % of the limit on. `exhausted`: nothing is left, model requests are refused. */
  state: z.enum(['open', 'warned', 'exhausted']),
});
export type BudgetView = z.infer<typeof BudgetView>;
