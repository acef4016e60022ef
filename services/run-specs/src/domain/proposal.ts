import type { TimelineEvent } from '@fluidbox/contracts';

export interface BacktestCounts {
  readonly calls: number;
  readonly loosened: number;
  readonly undetermined: number;
  readonly erased: number;
  readonly complete: boolean;
}

/** A version that waits for a second person. */
export interface Proposal {
  readonly id: string;
  readonly baseVersion: number;
  readonly digest: string;
  readonly sourceDigest: string;
  readonly summary: string;
  readonly by: string;
  /** Who made the proposer's token, oldest first. */
  readonly madeBy: readonly string[];
  readonly reasons: readonly string[];
  readonly backtest: BacktestCounts | null;
  readonly proposedAt: string;
  readonly closed: { readonly outcome: 'published' | 'rejected' | 'withdrawn' | 'stale'; readonly by: string | null } | null;
}

/** Closed ones that are still shown. */
const closedMax = 100;

export function evolveProposals(proposals: readonly Proposal[], event: TimelineEvent): readonly Proposal[] {
  const close = (id: string | null, closed: NonNullable<Proposal['closed']>): readonly Proposal[] =>
    proposals.map((each) => (each.closed === null && (id === null || each.id === id) ? { ...each, closed } : each));
  switch (event.type) {
    case 'policy.proposed': {
      const { data } = event;
      const proposed: Proposal = {
        id: data.proposal_id,
        baseVersion: data.base_version,
        digest: data.policy_digest,
        sourceDigest: data.source_digest,
        summary: data.summary,
        by: data.by,
        madeBy: data.made_by,
        reasons: data.reasons,
        backtest: data.backtest,
        proposedAt: event.occurredAt,
        closed: null,
      };
      const closed = proposals.filter((each) => each.closed !== null);
      const dropped = new Set(closed.slice(0, Math.max(0, closed.length - closedMax)));
      return [...proposals.filter((each) => !dropped.has(each)), proposed];
    }
    case 'policy.proposal_closed':
      return close(event.data.proposal_id, { outcome: event.data.outcome, by: event.data.by });
    case 'policy.published': {
      const { proposal_id, approved_by } = event.data;
      // Whatever else waited was written for the version before.
      return (proposal_id === undefined ? proposals : close(proposal_id, { outcome: 'published', by: approved_by ?? null })).map((each) =>
        each.closed === null ? { ...each, closed: { outcome: 'stale', by: null } } : each,
      );
    }
    case 'policy.deleted':
      return close(null, { outcome: 'stale', by: event.data.by });
    default:
      return proposals;
  }
}

/**
 * Why this principal is no second person, or null. Neither may have made the other's token, nor may one maker stand behind both: whoever
 * makes tokens could otherwise be both persons. The bootstrap token stands in nobody's makers.
 */
export function notIndependent(
  proposer: { readonly by: string; readonly madeBy: readonly string[] },
  decider: { readonly name: string; readonly madeBy: readonly string[] },
): string | null {
  if (proposer.by === decider.name) return `${decider.name} proposed it; another admin has to decide`;
  const behind = new Set([proposer.by, ...proposer.madeBy]);
  const shared = [decider.name, ...decider.madeBy].find((name) => behind.has(name));
  return shared === undefined
    ? null
    : `${shared} stands behind the tokens of both ${proposer.by} and ${decider.name}; an admin whose token has another maker has to decide`;
}
