import { type PolicyProposalView, Problem } from '@fluidbox/contracts';
import { findProposal } from '../domain/decide-proposal';
import { isOpen, type KnownPolicy } from '../domain/policy';
import type { Proposal } from '../domain/proposal';
import type { Ports } from './ports';
import { documentText, policyState } from './read-policy';

export const proposalView = (state: KnownPolicy, proposal: Proposal, source: string): PolicyProposalView => ({
  ...summaryOf(state, proposal),
  source,
});

const summaryOf = (state: KnownPolicy, proposal: Proposal): Omit<PolicyProposalView, 'source'> => ({
  id: proposal.id,
  policy: state.name,
  status: proposal.closed !== null ? proposal.closed.outcome : isOpen(state, proposal) ? 'open' : 'stale',
  base_version: proposal.baseVersion,
  digest: proposal.digest,
  summary: proposal.summary,
  by: proposal.by,
  created_at: proposal.proposedAt,
  reasons: [...proposal.reasons],
  backtest: proposal.backtest,
  closed_by: proposal.closed?.by ?? null,
});

export async function getPolicyProposal(
  ports: Ports,
  request: { readonly org: string; readonly name: string; readonly proposal_id: string },
): Promise<PolicyProposalView> {
  const state = await policyState(ports, request.org, request.name);
  const proposal = findProposal(state, request.proposal_id);
  if (proposal === undefined || state.status === 'absent')
    throw new Problem('not_found', `policy ${request.name} has no proposal ${request.proposal_id}`);
  return proposalView(
    state,
    proposal,
    await documentText(ports, proposal.sourceDigest, `proposal ${proposal.id} of policy ${request.name}`),
  );
}

/** Newest first within each policy. */
export async function listPolicyProposals(
  ports: Ports,
  request: { readonly org: string; readonly name: string | null; readonly closed: boolean },
): Promise<Omit<PolicyProposalView, 'source'>[]> {
  const names = request.name === null ? await ports.names.list(request.org, 'policy') : [request.name];
  const states = await Promise.all(names.map((name) => policyState(ports, request.org, name)));
  return states.flatMap((state) =>
    state.status === 'absent'
      ? []
      : state.proposals
          .map((proposal) => summaryOf(state, proposal))
          .filter(({ status }) => request.closed || status === 'open')
          .reverse(),
  );
}
