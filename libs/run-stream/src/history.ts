import { type ConditionHistory, historyTimesMax, type PolicyHistory } from '@fluidbox/contracts';

/**
 * What a run has done, by the history conditions of its policy. A call names the conditions it counts for when it is asked about (`matches`), so the fold
 * needs neither inputs nor patterns:
 *
 *   requested ──▶ holds a place ──▶ allowed: counts from now on, and the runner's word about it (`ok`) is filled in when it comes
 *                              └──▶ denied: gives the place back
 */
export type HistoryState = Map<string, Condition>;
interface AllowedCall {
  readonly at: number;
  ok: boolean | null;
}
interface Condition extends ConditionHistory {
  readonly allowed: AllowedCall[];
  total: number;
  pending: number;
}

/** What one call means for the history. */
export interface CallHistory {
  matches: readonly string[];
  /** One object in the history of all of its conditions, so that a report reaches them all. Null until the call is allowed. */
  allowed: AllowedCall | null;
}

export function holdPlaces(history: HistoryState, matches: readonly string[]): CallHistory {
  for (const name of matches) conditionOf(history, name).pending += 1;
  return { matches, allowed: null };
}

/** Called once per call. `edited`: what the input counts for that a person wrote instead; what runs is what counts. */
export function countDecided(
  history: HistoryState,
  call: CallHistory,
  { allowedAt, edited }: { allowedAt: number | null; edited?: readonly string[] | undefined },
): void {
  for (const name of call.matches) conditionOf(history, name).pending -= 1;
  call.matches = edited ?? call.matches;
  if (allowedAt === null) return;
  call.allowed = { at: allowedAt, ok: null };
  for (const name of call.matches) {
    const condition = conditionOf(history, name);
    condition.total += 1;
    condition.allowed.push(call.allowed);
    if (condition.allowed.length > historyTimesMax) condition.allowed.shift();
  }
}

/** The first report stays: a runner cannot mend later what it said of a call. */
export function countReported(call: CallHistory, ok: boolean): void {
  if (call.allowed !== null) call.allowed.ok ??= ok;
}

/** As policy reads it. It is the fold's own state: read it before the next event. */
export const historyOf = (history: HistoryState): PolicyHistory => Object.fromEntries(history);

/** The same without the place that a waiting call holds itself: it must not stand in the way of what a person writes in its stead. */
export function historyWithout(history: HistoryState, waiting: CallHistory): PolicyHistory {
  const held = new Set(waiting.matches);
  const freed = (name: string, condition: Condition): ConditionHistory =>
    held.has(name) ? { ...condition, pending: condition.pending - 1 } : condition;
  return Object.fromEntries([...history].map(([name, condition]) => [name, freed(name, condition)]));
}

function conditionOf(history: HistoryState, name: string): Condition {
  let condition = history.get(name);
  if (condition === undefined) {
    condition = { allowed: [], total: 0, pending: 0 };
    history.set(name, condition);
  }
  return condition;
}
