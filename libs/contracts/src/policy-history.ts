import { z } from 'zod';

/**
 * History rules look at the run's own decided calls. A frozen policy names each of its history conditions `<rule>.<kind>` (rule = its index in `tools`);
 * the gate writes into `tool.requested` which of them the call counts for, so that the fold of a run needs neither content nor patterns.
 */
export const historyKinds = ['requires', 'forbid_after', 'rate', 'count'] as const;
export type HistoryKind = (typeof historyKinds)[number];
export const HistoryCondition = z.string().regex(/^\d{1,3}\.(requires|forbid_after|rate|count)$/);
export type HistoryCondition = z.infer<typeof HistoryCondition>;
/** A call may count for more conditions than this only if the policy has more; the parser refuses such a policy. */
export const historyConditionsMax = 128;
/** Times kept for one condition. `rate.max` and `count.max` above it are refused by the parser. */
export const historyTimesMax = 1_000;

/** What the fold knows of one condition. Times are milliseconds since 1970, oldest first. */
export interface ConditionHistory {
  /** Calls that count and were allowed: when they were decided, and what the runner reported later (`null`: nothing yet). The newest `historyTimesMax`. */
  readonly allowed: readonly { readonly at: number; readonly ok: boolean | null }[];
  /** How many were allowed in all. */
  readonly total: number;
  /** Calls that count and wait for a person: they hold a place, so that parallel calls cannot overshoot. */
  readonly pending: number;
}
export type PolicyHistory = Readonly<Record<HistoryCondition, ConditionHistory>>;
