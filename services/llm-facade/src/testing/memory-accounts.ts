import type { MemoryStore } from '@fluidbox/event-store';
import { accountsOf, everyMonth } from '@fluidbox/run-stream';
import type { BudgetAccounts } from '../app/ports';
import { type Account, type LimitedAccount, scopeOf, storedScope } from '../domain/accounts';

/** The accounts of the store in memory, as `adapters/budget-accounts.ts` reads and changes those in Postgres. */
export function memoryAccounts({ accounts }: Pick<MemoryStore, 'accounts'>): BudgetAccounts {
  const corrected = new Set<string>();
  const view = (org: string, { scope, period, limit, reserved, spent }: Account): Account => ({
    scope: scopeOf(org, scope),
    period,
    limit,
    reserved,
    spent,
  });
  return {
    limitedOf: async (org, agent, month) =>
      accountsOf({ agent }, org, month)
        .map(({ scope, period }) => view(org, accounts.of(scope, period)))
        .flatMap((account): LimitedAccount[] => (account.limit === null ? [] : [{ ...account, limit: account.limit }])),
    list: async (org) =>
      accounts
        .all()
        .filter(({ period }) => period !== everyMonth)
        .map((account) => view(org, account)),
    setLimit: async ({ org, scope, period, month, limitMicroUsd }) => {
      const stored = storedScope(org, scope);
      accounts.of(stored, period).limit = limitMicroUsd;
      const account = accounts.of(stored, period === everyMonth ? month : period);
      account.limit = limitMicroUsd;
      return view(org, account);
    },
    correct: async ({ reservationId, org, agent, month, costMicroUsd }) => {
      if (corrected.has(reservationId)) return;
      corrected.add(reservationId);
      for (const { scope, period } of accountsOf({ agent }, org, month)) accounts.of(scope, period).spent += costMicroUsd;
    },
  };
}
