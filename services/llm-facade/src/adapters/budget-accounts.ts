import type { SqlClient } from '@fluidbox/event-store';
import { accountsOf, agentAccount, everyMonth, orgAccount } from '@fluidbox/run-stream';
import type { BudgetAccounts } from '../app/ports';
import { type Account, scopeOf, storedScope } from '../domain/accounts';

interface Row {
  readonly scope: string;
  readonly period: string;
  readonly limit: string | null;
  readonly reserved: string;
  readonly spent: string;
}

/** Rows of `ledger.budget_accounts`. A month from which nobody has spent has none yet: it stands as it would begin. */
export function budgetAccounts(sql: SqlClient): BudgetAccounts {
  const read = async (org: string, where: string, values: readonly unknown[], month: string): Promise<readonly Account[]> => {
    const { rows } = await sql.query<Row>(
      `with chosen as (select * from ledger.budget_accounts where ${where})
       select scope, period, "limit", reserved, spent from chosen where period <> '${everyMonth}'
       union all
       select c.scope, $1, c."limit", 0, 0 from chosen c
       where c.period = '${everyMonth}' and not exists (select from ledger.budget_accounts b where b.scope = c.scope and b.period = $1)
       order by 1, 2`,
      [month, ...values],
    );
    return rows.map((row) => ({
      scope: scopeOf(org, row.scope),
      period: row.period,
      limit: row.limit === null ? null : Number(row.limit),
      reserved: Number(row.reserved),
      spent: Number(row.spent),
    }));
  };
  return {
    limitedOf: async (org, agent, month) => {
      const accounts = await read(
        org,
        `scope = any ($2) and period = any ($3) and "limit" is not null`,
        [
          [orgAccount(org), agentAccount(org, agent)],
          ['total', month, everyMonth],
        ],
        month,
      );
      return accounts.flatMap((account) => (account.limit === null ? [] : [{ ...account, limit: account.limit }]));
    },
    list: (org, month) => read(org, 'scope = $2 or starts_with(scope, $3)', [orgAccount(org), agentAccount(org, '')], month),
    setLimit: async ({ org, scope, period, month, limitMicroUsd, by }) => {
      const stored = storedScope(org, scope);
      await sql.query('select ledger.set_budget_limit($1, $2, $3, $4, $5)', [stored, period, month, limitMicroUsd, by]);
      const wanted = period === everyMonth ? month : period;
      const [account] = await read(org, 'scope = $2 and period = $3', [stored, wanted], month);
      if (account === undefined) throw new Error(`the account ${stored} ${wanted} is not there after its limit was set`);
      return account;
    },
    correct: async ({ reservationId, runId, org, agent, month, costMicroUsd }) => {
      const keys = accountsOf({ agent }, org, month);
      // Told once, however often: the accounts move only with the row. They are locked in the order of their keys, as every append locks them: in another one
      // the two could wait in a circle.
      await sql.query(
        `with told as (
           insert into ledger.budget_corrections (reservation_id, org_id, run_id, agent, month, cost_micro_usd) values ($1, $2, $3, $4, $5, $6)
           on conflict do nothing returning 1
         ), locked as (
           select b.scope, b.period from ledger.budget_accounts b
           where exists (select from told) and (b.scope, b.period) in (select * from unnest($7::text[], $8::text[]))
           order by b.scope, b.period for update
         )
         update ledger.budget_accounts b set spent = b.spent + $6, updated_at = now()
         from locked l where b.scope = l.scope and b.period = l.period`,
        [reservationId, org, runId, agent, month, costMicroUsd, keys.map(({ scope }) => scope), keys.map(({ period }) => period)],
      );
    },
  };
}
