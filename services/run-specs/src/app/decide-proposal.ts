import { type DecideProposalBody, type PolicyProposalView, Problem } from '@fluidbox/contracts';
import { decideProposal } from '../domain/decide-proposal';
import { policyFold } from '../domain/policy';
import type { Ports } from './ports';
import { authorOf, type Publisher } from './publish-policy';
import { getPolicyProposal } from './read-proposals';
import { refusedSource } from './refused-source';
import { policyStream } from './streams';

/** The second person's word. What is published is what was proposed, byte for byte. */
export async function decidePolicyProposal(
  ports: Ports,
  request: Publisher & { readonly name: string; readonly proposal_id: string; readonly body: DecideProposalBody },
): Promise<PolicyProposalView> {
  const { principal, name, proposal_id, body } = request;
  const { org } = principal;
  const { source } = await getPolicyProposal(ports, { org, name, proposal_id });
  if (body.decision === 'approve') {
    // It may have been proposed under another version of the language.
    const parsed = ports.policies.parse(source);
    const problems = parsed.ok ? ports.policies.failedTests(parsed.document) : parsed.problems;
    if (problems.length > 0) throw refusedSource(problems);
  }
  await ports.ledger.decide(policyFold, policyStream(org, name), (state) => {
    const events = decideProposal(state, proposal_id, body.decision, authorOf(request));
    if (events instanceof Problem) throw events;
    return { events, result: undefined };
  });
  return getPolicyProposal(ports, { org, name, proposal_id });
}
