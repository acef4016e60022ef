import type { CostDimension, CostGroup, GateDimension, GateGroup, ListedArtifact, Summary } from '@fluidbox/contracts';
import { Problem } from '@fluidbox/contracts';
import type { Cursor } from '../domain/cursor';

/** Sums and lists over the runs of an organisation, from the projector's tables. */
export interface Reports {
  costs(filter: Period & { org: string; by: CostDimension; limit: number }): Promise<readonly CostGroup[]>;
  decisions(filter: Period & { org: string; by: GateDimension; limit: number }): Promise<readonly GateGroup[]>;
  /** Newest first. `invokedBy`: only those of runs that this principal started. */
  artifacts(filter: {
    org: string;
    invokedBy: string | null;
    kind: string | null;
    before: Cursor | null;
    limit: number;
  }): Promise<readonly ListedArtifact[]>;
}
/** Days in UTC, both included. */
export interface Period {
  readonly from: string;
  readonly to: string;
}

export const groupsMax = 1_000;
const daysDefault = 30;
const daysMax = 366;
const dayMs = 24 * 60 * 60_000;

/** The last 30 days unless the caller says otherwise. */
export function periodOf(given: { from?: string | undefined; to?: string | undefined }, now: Date): Period {
  const to = given.to ?? now.toISOString().slice(0, 10);
  const from = given.from ?? new Date(Date.parse(to) - (daysDefault - 1) * dayMs).toISOString().slice(0, 10);
  const days = (Date.parse(to) - Date.parse(from)) / dayMs + 1;
  if (days < 1) throw new Problem('invalid_request', 'from: is after to');
  if (days > daysMax) throw new Problem('invalid_request', `from: a period has at most ${daysMax} days`);
  return { from, to };
}

/** One group more than an answer holds was asked for, to see whether there are more. */
export const summaryOf = <D extends string, G>(by: D, period: Period, groups: readonly G[]): Summary<D, G> => ({
  by,
  ...period,
  data: groups.slice(0, groupsMax),
  truncated: groups.length > groupsMax,
});
