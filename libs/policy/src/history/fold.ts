import { type HistoryCondition, historyTimesMax, type PolicyHistory } from '@fluidbox/contracts';

/** The history after a call that counts for these conditions was allowed: what a replay of recorded calls builds. */
export function withAllowed(
  history: PolicyHistory,
  matches: readonly HistoryCondition[],
  { at, ok }: { readonly at: number; readonly ok: boolean | null },
): PolicyHistory {
  if (matches.length === 0) return history;
  const next: Record<HistoryCondition, PolicyHistory[HistoryCondition]> = { ...history };
  for (const name of matches) {
    const seen = history[name] ?? { allowed: [], total: 0, pending: 0 };
    next[name] = { ...seen, allowed: [...seen.allowed, { at, ok }].slice(-historyTimesMax), total: seen.total + 1 };
  }
  return next;
}
