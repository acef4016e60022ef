import type { ApprovalView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { approvalCard } from '../demo/decide';
import type { Output } from '../output';
import { approvalsCommand, decidedLine } from './approvals';

describe('what a decision says', () => {
  const settled = { decision: 'approved', approval: { tool: 'Bash', input: { command: 'rm -r build' } } };

  it('is the input that runs now: the edited one where a person edited it', () => {
    expect(decidedLine(settled, { decision: 'edit', input: { command: 'ls' } })).toBe('approved, edited: Bash {"command":"ls"}');
    expect(decidedLine(settled, { decision: 'approve' })).toBe('approved: Bash {"command":"rm -r build"}');
  });
});

describe('what waits for a person', () => {
  const waiting = { id: 'apr_x', tool: 'Bash', input: { command: 'npm test' }, input_digest: '', expires_at: 'noon', reason: 'asks' };
  const shown = async (scope_key: string | null): Promise<string> => {
    const lines: string[] = [];
    const approval = { ...waiting, scope_key } as ApprovalView;
    const api = { approvals: async () => ({ data: [approval] }) } as unknown as ApiClient;
    await approvalsCommand(api, { json: false, out: (line: string) => lines.push(line) } as unknown as Output);
    return [...lines, ...approvalCard(approval)].join('\n');
  };

  it('is listed with what a grant for the run would cover, or with the fact that this was erased', async () => {
    expect((await shown('Bash:npm test')).match(/Bash:npm test/g)).toHaveLength(2);
    expect((await shown(null)).match(/\(content erased\)/g)).toHaveLength(2);
  });
});
