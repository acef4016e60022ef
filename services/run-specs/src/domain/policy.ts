import {
  type EventDraft,
  type ImportPolicyBody,
  type PolicyView,
  Problem,
  type RecordedEvent,
  type TimelineEvent,
} from '@fluidbox/contracts';

/** A policy is a name with numbered, immutable versions. The newest governs new runs; a run keeps the one it froze. */
export type PolicyState = { readonly status: 'absent' } | KnownPolicy;
export interface KnownPolicy {
  readonly status: 'known';
  readonly name: string;
  readonly versions: readonly PolicyVersion[];
}
export interface PolicyVersion {
  readonly version: number;
  readonly digest: string;
  readonly sourceDigest: string;
  readonly summary: string;
  readonly by: string;
  readonly publishedAt: string;
}

export const policyFold = {
  initial: (): PolicyState => ({ status: 'absent' }),
  evolve(state: PolicyState, recorded: RecordedEvent): PolicyState {
    const event = recorded as TimelineEvent;
    if (event.type === 'policy.created') return { status: 'known', name: event.data.name, versions: [] };
    if (event.type !== 'policy.published' || state.status === 'absent') return state;
    const { version, policy_digest, source_digest, summary, by } = event.data;
    const published = { version, digest: policy_digest, sourceDigest: source_digest, summary, by, publishedAt: event.occurredAt };
    return { ...state, versions: [...state.versions, published] };
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
}

/**
 * The next version, or nothing when the newest one has the same bytes. A base version that is not the newest is refused: somebody
 * else published in between, and what they changed would be lost unseen.
 */
export function decidePublish(
  state: PolicyState,
  policy: ParsedPolicy,
  request: Pick<ImportPolicyBody, 'summary' | 'base_version'>,
  { by, actor }: Author,
): readonly EventDraft[] | Problem {
  const newest = newestVersion(state);
  if (newest?.sourceDigest === policy.sourceDigest) return [];
  const current = newest?.version ?? 0;
  if (request.base_version !== undefined && request.base_version !== current) {
    return new Problem(
      'stale_version',
      `policy ${policy.name} is at version ${current}, not ${request.base_version}; read it and publish again`,
      {
        extra: { current_version: current },
      },
    );
  }
  const published: EventDraft = {
    type: 'policy.published',
    actor,
    data: { version: current + 1, policy_digest: policy.digest, source_digest: policy.sourceDigest, summary: request.summary, by },
  };
  return state.status === 'known' ? [published] : [{ type: 'policy.created', actor, data: { name: policy.name, by } }, published];
}

export const newestVersion = (state: PolicyState): PolicyVersion | undefined =>
  state.status === 'known' ? state.versions[state.versions.length - 1] : undefined;

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
});
