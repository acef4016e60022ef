import type { ApprovalView, DecideApprovalBody } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { type Output, table } from '../output';
import { oneLine } from '../paint';
import { erasedMark } from '../timeline-line';

export async function approvalsCommand(api: ApiClient, output: Output): Promise<number> {
  const { data } = await api.approvals();
  if (output.json) output.out(JSON.stringify(data));
  else if (data.length === 0) output.out('nothing waits for a person');
  else
    output.out(
      table([
        ['APPROVAL', 'TOOL', 'INPUT', 'KEY', 'UNTIL'],
        ...data.map((each) => [each.id, each.tool, oneLine(JSON.stringify(each.input), 60), each.scope_key ?? erasedMark, each.expires_at]),
      ]),
    );
  return exitCodes.ok;
}

/** What runs now: the edited input where there is one. The approval keeps the input that was asked for. */
export function decidedLine(
  settled: { decision: string; approval: Pick<ApprovalView, 'tool' | 'input'> },
  body: DecideApprovalBody,
): string {
  const edited = body.decision === 'edit';
  const input = JSON.stringify(edited ? body.input : settled.approval.input);
  return `${settled.decision}${edited ? ', edited' : ''}: ${oneLine(settled.approval.tool, 60)} ${oneLine(input, 200)}`;
}

export async function decideCommand(api: ApiClient, approvalId: string, body: DecideApprovalBody, output: Output): Promise<number> {
  const settled = await api.decide(approvalId, body);
  if (output.json) output.out(JSON.stringify(settled));
  else output.out(settled.decision === 'pending' ? `voted: ${settled.votes} of ${settled.needed}` : decidedLine(settled, body));
  return exitCodes.ok;
}
