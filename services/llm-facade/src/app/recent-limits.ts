import type { LimitedAccount } from '../domain/accounts';
import type { BudgetAccounts } from './ports';

const keptMs = 5_000;
const keptMax = 10_000;

/**
 * Limited accounts as they stood a few seconds ago: enough to warn, not to admit. Booking an answer must not wait for them, nor fail with them, so an
 * account that cannot be read is not warned of.
 */
export class RecentLimits {
  readonly #kept = new Map<string, { readonly until: number; readonly accounts: Promise<readonly LimitedAccount[]> }>();

  constructor(private readonly read: BudgetAccounts['limitedOf']) {}

  of(org: string, agent: string, month: string, now: number): Promise<readonly LimitedAccount[]> {
    const key = `${org} ${agent} ${month}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.until > now) return kept.accounts;
    if (this.#kept.size >= keptMax) this.#kept.clear();
    const accounts = this.read(org, agent, month).catch(() => []);
    this.#kept.set(key, { until: now + keptMs, accounts });
    return accounts;
  }
}
