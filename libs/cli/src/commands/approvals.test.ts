import { decidedLine } from './approvals';

describe('what a decision says', () => {
  const settled = { decision: 'approved', approval: { tool: 'Bash', input: { command: 'rm -r build' } } };

  it('is the input that runs now: the edited one where a person edited it', () => {
    expect(decidedLine(settled, { decision: 'edit', input: { command: 'ls' } })).toBe('approved, edited: Bash {"command":"ls"}');
    expect(decidedLine(settled, { decision: 'approve' })).toBe('approved: Bash {"command":"rm -r build"}');
  });
});
