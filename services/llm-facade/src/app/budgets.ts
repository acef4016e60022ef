import { type BudgetView, budgetMonthOf, type ListBudgets, microUsdOf, type ParsedRequestOf, type SetBudget } from '@fluidbox/contracts';
import { budgetView } from '../domain/accounts';
import type { Ports } from './ports';

type BudgetPorts = Pick<Ports, 'accounts' | 'clock'>;

/** A new limit binds the next reservation. One below what is spent stops every further request; what runs already is not cut. */
export async function setBudget(ports: BudgetPorts, { principal, scope, body }: ParsedRequestOf<typeof SetBudget>): Promise<BudgetView> {
  const account = await ports.accounts.setLimit({
    org: principal.org,
    scope,
    period: body.period,
    month: budgetMonthOf(ports.clock.now().getTime()),
    limitMicroUsd: body.max_cost_usd === null ? null : microUsdOf(body.max_cost_usd),
    by: principal.name,
  });
  return budgetView(account);
}

export async function listBudgets(ports: BudgetPorts, { org }: ParsedRequestOf<typeof ListBudgets>): Promise<BudgetView[]> {
  return (await ports.accounts.list(org, budgetMonthOf(ports.clock.now().getTime()))).map(budgetView);
}
