import type { BudgetView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { paintFor } from '../paint';
import { listBudgetsCommand, setBudgetCommand } from './budgets';

const budget = (change: Partial<BudgetView> = {}): BudgetView => ({
  scope: 'org',
  period: '2026-11',
  limit_micro_usd: 5_000_000,
  spent_micro_usd: 4_200_000,
  reserved_micro_usd: 0,
  state: 'warned',
  ...change,
});
const output = (json: boolean) => {
  const lines: string[] = [];
  return { lines, json, paint: paintFor({ isTTY: false }, {}), out: (text: string) => void lines.push(text), err: () => undefined };
};

describe('limits that many runs share', () => {
  it('are listed in dollars, one that does not exist as none', async () => {
    const api = {
      budgets: async () => ({ data: [budget(), budget({ scope: 'agent:a', period: 'total', limit_micro_usd: null, state: 'open' })] }),
    };
    const shown = output(false);
    await listBudgetsCommand(api as unknown as ApiClient, shown);
    expect(shown.lines[0]?.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['SCOPE', 'PERIOD', 'LIMIT', 'SPENT', 'RESERVED', 'STATE'],
      ['org', '2026-11', '$5.0000', '$4.2000', '$0.0000', 'warned'],
      ['agent:a', 'total', 'none', '$4.2000', '$0.0000', 'open'],
    ]);
  });

  it('are set, and lifted, by what the API is told', async () => {
    const asked: unknown[] = [];
    const api = {
      setBudget: async (...args: unknown[]) => {
        asked.push(args);
        return budget();
      },
    } as unknown as ApiClient;
    const json = output(true);
    await setBudgetCommand(api, { scope: 'org', period: 'month', maxCostUsd: 5 }, json);
    await setBudgetCommand(api, { scope: 'agent:a', period: 'total', maxCostUsd: 'none' }, json);
    expect(asked).toEqual([
      ['org', { period: 'month', max_cost_usd: 5 }],
      ['agent:a', { period: 'total', max_cost_usd: null }],
    ]);
    expect(JSON.parse(json.lines[0] ?? '')).toEqual(budget());
  });
});
