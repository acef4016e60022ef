import type { AccountChange } from '../api';
import { mergedAccounts } from '../domain/merged-accounts';

export interface MemoryAccount {
  readonly scope: string;
  readonly period: string;
  limit: number | null;
  reserved: number;
  spent: number;
}

export class MemoryAccounts {
  readonly #accounts = new Map<string, MemoryAccount>();

  /** The row of a new month takes the limit of every month. */
  of(scope: string, period: string): MemoryAccount {
    const known = this.#accounts.get(`${scope} ${period}`);
    if (known !== undefined) return known;
    const monthly = /^\d{4}-\d{2}$/.test(period) ? (this.#accounts.get(`${scope} month`)?.limit ?? null) : null;
    const account: MemoryAccount = { scope, period, limit: monthly, reserved: 0, spent: 0 };
    this.#accounts.set(`${scope} ${period}`, account);
    return account;
  }

  all(): readonly MemoryAccount[] {
    return [...this.#accounts.values()];
  }

  /** Whether all changes may be made. */
  haveRoomFor(changes: readonly AccountChange[]): boolean {
    return !mergedAccounts(changes).some((change) => this.#isOverLimit(change));
  }

  change(changes: readonly AccountChange[]): void {
    for (const { scope, period, reserve, settle } of changes) {
      const account = this.of(scope, period);
      account.reserved += reserve;
      account.spent += settle;
    }
  }

  #isOverLimit({ scope, period, reserve }: AccountChange): boolean {
    const { limit, spent, reserved } = this.of(scope, period);
    return reserve > 0 && limit !== null && spent + reserved + reserve > limit;
  }
}
