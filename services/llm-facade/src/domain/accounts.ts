import { agentScope, type BudgetView, budgetWarnAt, type EventDraft } from '@fluidbox/contracts';
import { agentAccount, budgetKey, orgAccount, type RunState } from '@fluidbox/run-stream';
import { actor } from './actor';

/** How an account of the organisation or of an agent stands. Amounts in micro-USD; without a limit it only counts. */
export interface Account {
  /** As people and events name it: `org`, `agent:<name>`. */
  readonly scope: string;
  readonly period: string;
  readonly limit: number | null;
  readonly reserved: number;
  readonly spent: number;
}
export type LimitedAccount = Account & { readonly limit: number };

/** The name that stands in the ledger, where one table holds all organisations. */
export const storedScope = (org: string, scope: string): string =>
  scope === 'org' ? orgAccount(org) : agentAccount(org, scope.slice(agentScope('').length));
export const scopeOf = (org: string, stored: string): string =>
  stored === orgAccount(org) ? 'org' : agentScope(stored.slice(agentAccount(org, '').length));

/**
 * What accounts leave to one request that may cost `cost`: `spent` names the first with nothing left, `held` means that others hold what it needs, else
 * it may have `upTo`. A request that is alone on its accounts gets what is left of them, as on the budget of its run.
 */
export type AccountRoom =
  | { readonly kind: 'spent'; readonly account: LimitedAccount }
  | { readonly kind: 'held' }
  | { readonly kind: 'room'; readonly upTo: number };

export function roomIn(accounts: readonly LimitedAccount[], cost: number): AccountRoom {
  // What costs nothing needs no room.
  const spent = cost === 0 ? undefined : accounts.find((account) => account.spent >= account.limit);
  if (spent !== undefined) return { kind: 'spent', account: spent };
  let upTo = cost;
  for (const { limit, spent: used, reserved } of accounts) {
    if (cost <= limit - used - reserved) continue;
    if (reserved > 0) return { kind: 'held' };
    upTo = Math.min(upTo, limit - used);
  }
  return { kind: 'room', upTo };
}

export const accountExceeded = ({ scope, period, limit, spent }: LimitedAccount): Extract<EventDraft, { type: 'budget.exceeded' }> => ({
  type: 'budget.exceeded',
  actor,
  data: { budget: 'cost_micro_usd', limit, spent, account: { scope, period } },
});

/** Every run that spends from an account beyond 80 % says so once in its own timeline: an account has none. */
export const accountWarnings = (run: RunState, accounts: readonly LimitedAccount[], cost: number): readonly EventDraft[] =>
  accounts
    .filter(
      ({ scope, period, limit, spent }) =>
        cost > 0 && spent + cost >= limit * budgetWarnAt && !run.warned.has(budgetKey('cost_micro_usd', { scope, period })),
    )
    .map(({ scope, period, limit, spent }) => ({
      type: 'budget.warned',
      actor,
      data: { budget: 'cost_micro_usd', limit, spent: spent + cost, account: { scope, period } },
    }));

export function budgetView({ scope, period, limit, reserved, spent }: Account): BudgetView {
  const state = limit === null || spent < limit * budgetWarnAt ? 'open' : spent < limit ? 'warned' : 'exhausted';
  return { scope, period, limit_micro_usd: limit, spent_micro_usd: spent, reserved_micro_usd: reserved, state };
}
