import { z } from 'zod';

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

/** What a person writes: dollars as a decimal number, any subset. */
export const BudgetsInput = z.strictObject({
  max_wall_clock_secs: Budgets.shape.max_wall_clock_secs.optional(),
  max_tokens: Budgets.shape.max_tokens.optional(),
  max_cost_usd: z.number().positive().max(1e6).nullable().optional(),
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
