import type { DecideApprovalBody } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { type Output, table } from '../output';
import { oneLine, plain } from '../paint';

export async function approvalsCommand(api: ApiClient, output: Output): Promise<number> {
  const { data } = await api.approvals();
  if (output.json) output.out(JSON.stringify(data));
  else if (data.length === 0) output.out('nothing waits for a person');
  else
    output.out(
      table([
        ['APPROVAL', 'TOOL', 'INPUT', 'KEY', 'UNTIL'],
        ...data.map((each) => [each.id, each.tool, oneLine(JSON.stringify(each.input), 60), plain(each.scope_key), each.expires_at]),
      ]),
    );
  return exitCodes.ok;
}

export async function decideCommand(api: ApiClient, approvalId: string, body: DecideApprovalBody, output: Output): Promise<number> {
  const settled = await api.decide(approvalId, body);
  if (output.json) output.out(JSON.stringify(settled));
  else
    output.out(
      settled.decision === 'pending'
        ? `voted: ${settled.votes} of ${settled.needed}`
        : `${settled.decision}: ${plain(settled.approval.tool)} ${oneLine(JSON.stringify(settled.approval.input), 80)}`,
    );
  return exitCodes.ok;
}
