import type { PolicyProposalView } from '@fluidbox/contracts';
import { diffPolicies, parsePolicy } from '@fluidbox/policy';
import type { ApiClient } from '../../api/client';
import { exitCodes } from '../../exit-codes';
import { type Output, table } from '../../output';
import { oneLine } from '../../paint';

export async function proposalsCommand(
  api: ApiClient,
  policy: string | undefined,
  { closed }: { readonly closed?: boolean },
  output: Output,
): Promise<number> {
  const { data } = await api.policyProposals({
    ...(policy === undefined ? {} : { policy }),
    ...(closed === true ? { closed: 'true' } : {}),
  });
  if (output.json) output.out(JSON.stringify(data));
  else
    output.out(
      table([
        ['POLICY', 'PROPOSAL', 'STATUS', 'OVER', 'BY', 'CREATED', 'SUMMARY'],
        ...data.map((each) => [
          each.policy,
          each.id,
          each.status,
          String(each.base_version),
          each.by,
          each.created_at,
          oneLine(each.summary, 60),
        ]),
      ]),
    );
  return exitCodes.ok;
}

/** What somebody else proposes, against the version that governs: what there is to read before a word is given. */
export async function proposalCommand(api: ApiClient, name: string, id: string, output: Output): Promise<number> {
  const proposal = await api.policyProposal(name, id);
  if (output.json) output.out(JSON.stringify(proposal));
  else for (const line of [...about(proposal), ...(await changesOf(api, proposal)), '', proposal.source.trimEnd()]) output.out(line);
  return exitCodes.ok;
}

function about({ policy, base_version, by, created_at, status, summary, reasons, backtest }: PolicyProposalView): string[] {
  return [
    `${policy} over version ${base_version}, by ${by} at ${created_at}: ${status}`,
    `  ${oneLine(summary, 160)}`,
    ...reasons.map((reason) => `  because ${oneLine(reason, 200)}`),
    ...(backtest === null
      ? []
      : [
          `  ${backtest.calls} recorded calls: ${backtest.loosened} let through more easily, ${backtest.undetermined} undetermined, ${backtest.erased} erased${backtest.complete ? '' : '; not all were read'}`,
        ]),
  ];
}

async function changesOf(api: ApiClient, { policy, base_version, source }: PolicyProposalView): Promise<string[]> {
  const [before, after] = [parsePolicy((await api.policy(policy, base_version)).source), parsePolicy(source)];
  if (!before.ok || !after.ok) return [];
  return diffPolicies(before.document, after.document).changes.map(({ effect, text }) => `  ${effect.padEnd(7)} ${oneLine(text, 200)}`);
}

export async function decideProposalCommand(
  api: ApiClient,
  [name, id]: readonly [string, string],
  decision: 'approve' | 'reject',
  output: Output,
): Promise<number> {
  const decided = await api.decideProposal(name, id, { decision });
  output.out(
    output.json
      ? JSON.stringify(decided)
      : decided.status === 'published'
        ? `${name} version ${decided.base_version + 1} governs new runs, by ${decided.by} and ${decided.closed_by ?? 'nobody'}`
        : `${decided.status} ${id}`,
  );
  return exitCodes.ok;
}
