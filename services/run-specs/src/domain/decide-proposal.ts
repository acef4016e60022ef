import { type EventDraft, Problem } from '@fluidbox/contracts';
import { type Author, isOpen, lastVersion, noSecondPerson, type PolicyState } from './policy';
import { notIndependent, type Proposal } from './proposal';

/** Publishes or closes what was proposed. A rejection needs no second person: it changes nothing that governs a run. */
export function decideProposal(
  state: PolicyState,
  proposalId: string,
  decision: 'approve' | 'reject',
  decider: Author,
): readonly EventDraft[] | Problem {
  const proposal = findProposal(state, proposalId);
  if (proposal === undefined || state.status === 'absent') return new Problem('not_found', `there is no proposal ${proposalId}`);
  const { by, actor, madeBy } = decider;
  if (proposal.closed !== null && proposal.closed.outcome !== 'stale')
    return new Problem('conflict', `the proposal was ${proposal.closed.outcome} by ${proposal.closed.by ?? 'nobody'}`);
  if (decision === 'reject') {
    if (proposal.closed !== null) return stale(state, proposal);
    const outcome = by === proposal.by ? 'withdrawn' : 'rejected';
    return [{ type: 'policy.proposal_closed', actor, data: { proposal_id: proposal.id, outcome, by } }];
  }
  if (!isOpen(state, proposal)) return stale(state, proposal);
  if (madeBy === null) return noSecondPerson(by);
  const refused = notIndependent(proposal, { name: by, madeBy });
  if (refused !== null) return new Problem('forbidden', refused);
  return [
    {
      type: 'policy.published',
      actor,
      data: {
        version: proposal.baseVersion + 1,
        policy_digest: proposal.digest,
        source_digest: proposal.sourceDigest,
        summary: proposal.summary,
        by: proposal.by,
        approved_by: by,
        proposal_id: proposal.id,
      },
    },
  ];
}

export const findProposal = (state: PolicyState, id: string): Proposal | undefined =>
  state.status === 'known' ? state.proposals.find((each) => each.id === id) : undefined;

function stale(state: PolicyState, proposal: Proposal): Problem {
  const current = lastVersion(state)?.version ?? 0;
  return new Problem(
    'stale_version',
    `the proposal was made for version ${proposal.baseVersion}, which is no longer the newest; propose it again`,
    {
      extra: { current_version: current },
    },
  );
}
