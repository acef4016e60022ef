import type { BudgetView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { type Output, table } from '../output';

const usd = (microUsd: number): string => (microUsd / 1_000_000).toFixed(2);
const row = ({ scope, period, limit_micro_usd, spent_micro_usd, reserved_micro_usd, state }: BudgetView): string[] => [
  scope,
  period,
  limit_micro_usd === null ? 'none' : usd(limit_micro_usd),
  usd(spent_micro_usd),
  usd(reserved_micro_usd),
  state,
];
const shown = (budgets: readonly BudgetView[]): string =>
  table([['SCOPE', 'PERIOD', 'LIMIT USD', 'SPENT', 'RESERVED', 'STATE'], ...budgets.map(row)]);

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
