import { type EventDraft, type RecordedEvent, runStream, upcast } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import { evolveRun, initialRun } from '@fluidbox/run-stream';
import { createdRun, recorded } from '@fluidbox/testing';
import { approvalsOfRun } from './read-approvals';

const runId = '0198b3a0-0000-7000-8000-000000000003';
const stream = runStream(runId, 'default');
const digest = `sha256:${'a'.repeat(64)}`;
const call = { tool_call_id: 'c1', tool: 'Bash', input_digest: digest };
const asked = {
  ...call,
  approval_id: `apr_${runId}_c1`,
  scope: 'session',
  approvers: 1,
  exclude_requester: false,
  policy_digest: digest,
  engine_version: '1',
  expires_at: '2026-01-01T00:10:00.000Z',
};
const draft = (type: string, data: object): EventDraft => ({ type, actor: 'service:test', data }) as unknown as EventDraft;

/** The approval of a run whose question is of this version, while its content is there and after it was erased. */
async function viewsOf(version: number, scope: object) {
  const events = recorded(stream, [
    draft('session.created', createdRun(runId)),
    draft('tool.requested', { ...call, generation: 1 }),
    draft('approval.requested', { ...asked, ...scope }),
  ]).map((event): RecordedEvent => (event.type === 'approval.requested' ? upcast({ ...event, version }) : event));
  const run = events.reduce(evolveRun, initialRun());
  const viewWith = async (content: (seq: number) => unknown) => {
    const ledger = { content: async (_: unknown, seq: number) => content(seq), store: { read: async () => [] } } as unknown as Ledger;
    return (await approvalsOfRun(ledger, 'default', run))[0];
  };
  const texts = { reason: 'asks', risk: null, ...(version === 1 ? {} : { scope_key: 'Bash:npm test' }) };
  return {
    before: await viewWith((seq) => (seq === 3 ? texts : { input: { command: 'npm test' }, summary: 's' })),
    after: await viewWith(() => null),
  };
}

describe('an approval', () => {
  it('shows what a grant would cover while its content is there, and nothing of it once that is erased', async () => {
    const { before, after } = await viewsOf(2, { scope_digest: digest });
    expect(before).toMatchObject({ scope_key: 'Bash:npm test', reason: 'asks', input: { command: 'npm test' } });
    expect(after).toMatchObject({ status: 'pending', scope_key: null, reason: null, input: null });
    expect(JSON.stringify(after)).not.toContain('npm test');
  });

  it('of version 1 shows the key that stands in its event', async () => {
    const { before, after } = await viewsOf(1, { scope_key: 'Bash:npm test' });
    expect(before).toMatchObject({ scope_key: 'Bash:npm test', reason: 'asks' });
    expect(after).toMatchObject({ scope_key: 'Bash:npm test', reason: null });
  });
});
