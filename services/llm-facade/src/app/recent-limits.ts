import type { LimitedAccount } from '../domain/accounts';
import type { BudgetAccounts } from './ports';

const keptMs = 5_000;
const keptMax = 10_000;

/**
 * What to warn of when an answer is booked. That a run has no limited accounts, which is the rule, is believed for a few seconds; those that have limits
 * are read each time. An account that cannot be read is not warned of: booking must not fail with it.
 */
export class RecentLimits {
  readonly #unlimitedUntil = new Map<string, number>();

  constructor(private readonly read: BudgetAccounts['limitedOf']) {}

  async of(org: string, agent: string, month: string, now: number): Promise<readonly LimitedAccount[]> {
    const key = `${org} ${agent} ${month}`;
    if ((this.#unlimitedUntil.get(key) ?? 0) > now) return [];
    const accounts = await this.read(org, agent, month).catch(() => []);
    if (accounts.length > 0) return accounts;
    if (this.#unlimitedUntil.size >= keptMax) this.#unlimitedUntil.clear();
    this.#unlimitedUntil.set(key, now + keptMs);
    return [];
  }
}
