import { type EventDraft, type ImportPolicyBody, type PolicyView, Problem, type RecordedEvent, timelineEvent } from '@fluidbox/contracts';
import { type BacktestCounts, evolveProposals, type Proposal } from './proposal';

/** A policy is a name with numbered, immutable versions. The newest governs new runs; a run keeps the one it froze. */
export type PolicyState = { readonly status: 'absent' } | KnownPolicy;
export interface KnownPolicy {
  readonly status: 'known';
  readonly name: string;
  readonly versions: readonly PolicyVersion[];
  /** The name is free; its versions stay readable. */
  readonly deleted: boolean;
  readonly proposals: readonly Proposal[];
}
export interface PolicyVersion {
  readonly version: number;
  readonly digest: string;
  readonly sourceDigest: string;
  readonly summary: string;
  readonly by: string;
  readonly approvedBy: string | null;
  readonly publishedAt: string;
}

export const policyFold = {
  initial: (): PolicyState => ({ status: 'absent' }),
  evolve(state: PolicyState, recorded: RecordedEvent): PolicyState {
    const event = timelineEvent(recorded);
    if (event === null) return state;
    if (event.type === 'policy.created') return { status: 'known', name: event.data.name, versions: [], deleted: false, proposals: [] };
    if (state.status === 'absent') return state;
    const known = { ...state, proposals: evolveProposals(state.proposals, event) };
    if (event.type === 'policy.deleted') return { ...known, deleted: true };
    if (event.type !== 'policy.published') return known;
    const { version, policy_digest, source_digest, summary, by, approved_by } = event.data;
    const published = {
      version,
      digest: policy_digest,
      sourceDigest: source_digest,
      summary,
      by,
      approvedBy: approved_by ?? null,
      publishedAt: event.occurredAt,
    };
    return { ...known, deleted: false, versions: [...state.versions, published] };
  },
};

export interface ParsedPolicy {
  readonly name: string;
  readonly digest: string;
  readonly sourceDigest: string;
}

/** Whose name stands in the version, and who acted: a person whose name happens to be that of the service is still a person. */
export interface Author {
  readonly by: string;
  readonly actor: string;
  /** Who made the author's token; null when nobody knows. */
  readonly madeBy: readonly string[] | null;
}

/** Why a second person has to look at it. */
export interface SecondPersonNeeded {
  readonly proposalId: string;
  readonly reasons: readonly string[];
  readonly backtest: BacktestCounts | null;
}

const openProposalsMax = 16;

/**
 * The next version, nothing when the newest one has the same bytes, or a proposal where a second person is needed. A base version that is not
 * the newest is refused: somebody else published in between, and what they changed would be lost unseen.
 */
export function decidePublish(
  state: PolicyState,
  policy: ParsedPolicy,
  request: Pick<ImportPolicyBody, 'summary' | 'base_version'>,
  author: Author,
  needed: SecondPersonNeeded | null = null,
): readonly EventDraft[] | Problem {
  const newest = newestVersion(state);
  if (newest?.sourceDigest === policy.sourceDigest) return [];
  const stale = staleBase(state, policy.name, request.base_version);
  if (stale !== null) return stale;
  const last = lastVersion(state)?.version ?? 0;
  const { by, actor } = author;
  const written = { policy_digest: policy.digest, source_digest: policy.sourceDigest, summary: request.summary, by };
  if (needed !== null) {
    if (author.madeBy === null) return noSecondPerson(by);
    const waiting = state.status === 'known' ? state.proposals.filter((each) => isOpen(state, each)) : [];
    if (waiting.some((each) => each.sourceDigest === policy.sourceDigest)) return [];
    if (waiting.length >= openProposalsMax)
      return new Problem('conflict', `policy ${policy.name} has ${waiting.length} open proposals; decide or withdraw one first`);
    const proposed: EventDraft = {
      type: 'policy.proposed',
      actor,
      data: {
        ...written,
        proposal_id: needed.proposalId,
        base_version: last,
        made_by: [...author.madeBy],
        reasons: [...needed.reasons],
        backtest: needed.backtest,
      },
    };
    return [proposed];
  }
  const published: EventDraft = { type: 'policy.published', actor, data: { version: last + 1, ...written } };
  return state.status === 'known' ? [published] : [{ type: 'policy.created', actor, data: { name: policy.name, by } }, published];
}

/** A token that stands for nobody in particular cannot be told from a second one. */
export const noSecondPerson = (name: string): Problem =>
  new Problem(
    'forbidden',
    `this needs two persons, and nobody can tell who ${name} is: the bootstrap token and tokens made before their maker was recorded take no part; use an admin token of a person (fluidbox token create)`,
  );

function staleBase(state: PolicyState, name: string, base: number | undefined): Problem | null {
  const current = newestVersion(state)?.version ?? 0;
  if (base === undefined || base === current) return null;
  return new Problem('stale_version', `policy ${name} is at version ${current}, not ${base}; read it and publish again`, {
    extra: { current_version: current },
  });
}

export function decideDelete(
  state: PolicyState,
  name: string,
  usedBy: readonly string[],
  author: Pick<Author, 'by' | 'actor'>,
): readonly EventDraft[] | Problem {
  const newest = newestVersion(state);
  if (newest === undefined) return new Problem('not_found', `there is no policy ${name}`);
  if (name === 'default') return new Problem('conflict', 'policy default is what agents get that name none; it cannot be deleted');
  if (usedBy.length > 0)
    return new Problem(
      'conflict',
      `policy ${name} is named by ${usedBy.length} agents (${usedBy.slice(0, 10).join(', ')}); revise them first`,
      {
        extra: { agents: usedBy.slice(0, 100) },
      },
    );
  return [{ type: 'policy.deleted', actor: author.actor, data: { last_version: newest.version, by: author.by } }];
}

/** The version that governs new runs. */
export const newestVersion = (state: PolicyState): PolicyVersion | undefined =>
  state.status === 'known' && !state.deleted ? state.versions[state.versions.length - 1] : undefined;

/** The same, also of a name that was deleted: its numbers go on, and its word about a second person still binds. */
export const lastVersion = (state: PolicyState): PolicyVersion | undefined =>
  state.status === 'known' ? state.versions[state.versions.length - 1] : undefined;

/** A proposal that can still be published: nothing came in between. */
export const isOpen = (state: KnownPolicy, proposal: Proposal): boolean =>
  proposal.closed === null && proposal.baseVersion === lastVersion(state)?.version;

/** The version asked for, or the newest. */
export function findVersion(state: PolicyState, version: number | null): PolicyVersion | undefined {
  if (version === null || state.status === 'absent') return newestVersion(state);
  return state.versions.find((candidate) => candidate.version === version);
}

export const policyView = (name: string, version: PolicyVersion): Omit<PolicyView, 'source'> => ({
  name,
  version: version.version,
  digest: version.digest,
  summary: version.summary,
  by: version.by,
  created_at: version.publishedAt,
  ...(version.approvedBy === null ? {} : { approved_by: version.approvedBy }),
});
