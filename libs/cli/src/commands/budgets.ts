import type { BudgetView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { dollarsOf } from '../money';
import { type Output, table } from '../output';

const row = ({ scope, period, limit_micro_usd, spent_micro_usd, reserved_micro_usd, state }: BudgetView): string[] => [
  scope,
  period,
  limit_micro_usd === null ? 'none' : dollarsOf(limit_micro_usd),
  dollarsOf(spent_micro_usd),
  dollarsOf(reserved_micro_usd),
  state,
];
const shown = (budgets: readonly BudgetView[]): string =>
  table([['SCOPE', 'PERIOD', 'LIMIT', 'SPENT', 'RESERVED', 'STATE'], ...budgets.map(row)]);

export async function setBudgetCommand(
  api: ApiClient,
  options: { scope: string; period: 'total' | 'month'; maxCostUsd: number | 'none' },
  output: Output,
): Promise<number> {
  const budget = await api.setBudget(options.scope, {
    period: options.period,
    max_cost_usd: options.maxCostUsd === 'none' ? null : options.maxCostUsd,
  });
  output.out(output.json ? JSON.stringify(budget) : shown([budget]));
  return exitCodes.ok;
}

export async function listBudgetsCommand(api: ApiClient, output: Output): Promise<number> {
  const { data } = await api.budgets();
  output.out(output.json ? JSON.stringify(data) : shown(data));
  return exitCodes.ok;
}
