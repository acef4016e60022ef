import type { AccountChange } from '../api';

/** One change per account: that is what is judged, and what an UPDATE takes of several joined rows. */
export function mergedAccounts(changes: readonly AccountChange[]): AccountChange[] {
  const merged = new Map<string, AccountChange>();
  for (const change of changes) {
    const key = JSON.stringify([change.scope, change.period]);
    const known = merged.get(key);
    merged.set(
      key,
      known === undefined ? change : { ...known, reserve: known.reserve + change.reserve, settle: known.settle + change.settle },
    );
  }
  return [...merged.values()];
}
