import type { ApprovalView } from '@fluidbox/contracts';
import { until } from '@fluidbox/testing';
import type { SystemStack } from './support/stack';
import { runWire, startWireStack, typesOf } from './support/wire-run';

const permission = '/internal/sessions/{id}/permission';
const commit = { tool_call_id: 'c1', tool: 'Bash', input: { command: "git commit -m 'x'" } };
const ask = { name: 'answer', as: 'tool', path: permission, body: commit };

describe('approvals', () => {
  let stack: SystemStack;

  beforeAll(async () => {
    stack = await startWireStack();
  });
  afterAll(() => stack.stop());

  async function pending(runId: string): Promise<ApprovalView> {
    return until(async () => (await stack.admin.approvals()).data.find((approval) => approval.run_id === runId));
  }
  /** Runs one asked call and decides it while it waits. */
  async function whileWaiting(decide: (approval: ApprovalView) => Promise<void>, options: Parameters<typeof runWire>[3] = {}) {
    let started: (id: string) => void = () => undefined;
    const running = new Promise<string>((resolve) => {
      started = resolve;
    });
    const run = runWire(stack.admin, 'wire', { steps: [ask] }, { ...options, onStarted: started });
    await decide(await pending(await running));
    return run;
  }

  it('[APPROVAL-1] lets the call run after a person approved it', async () => {
    const { answers, events } = await whileWaiting(async (approval) => {
      expect(approval).toMatchObject({ tool: 'Bash', input: commit.input, status: 'pending' });
      expect(approval.scope_key).toContain('git commit');
      expect((await stack.admin.session(approval.run_id)).status).toBe('awaiting_approval');
      await stack.admin.decide(approval.id, { decision: 'approve', comment: 'fine' });
    });
    expect(answers.answer).toEqual({ status: 200, text: '{"decision":"allow"}' });
    expect(events.map((event) => event.type).filter((type) => type.startsWith('approval') || type.startsWith('tool'))).toEqual([
      'tool.requested',
      'approval.requested',
      'approval.decided',
      'tool.decision',
    ]);
  });

  it('[APPROVAL-1] tells the agent of a denial', async () => {
    const { answers, events } = await whileWaiting((approval) =>
      stack.admin.decide(approval.id, { decision: 'deny', comment: 'not now' }).then(() => undefined),
    );
    expect(JSON.parse(answers.answer?.text ?? '')).toMatchObject({ decision: 'deny' });
    expect(typesOf(events, 'tool.decision')[0]?.data).toMatchObject({ verdict: 'deny', source: 'approval' });
  });

  it('[APPROVAL-1] answers a loser with the settled decision', async () => {
    await whileWaiting(async (approval) => {
      await stack.admin.decide(approval.id, { decision: 'approve' });
      await expect(stack.admin.decide(approval.id, { decision: 'deny' })).rejects.toMatchObject({ status: 409, code: 'approval_settled' });
    });
  });

  it('[APPROVAL-4] runs the edited input, and keeps waiting when policy denies the edit', async () => {
    const { answers, events } = await whileWaiting(async (approval) => {
      await expect(
        stack.admin.decide(approval.id, { decision: 'edit', input: { command: 'curl http://example.com' } }),
      ).rejects.toMatchObject({ status: 422, code: 'edit_denied' });
      expect((await pending(approval.run_id)).status).toBe('pending');
      await stack.admin.decide(approval.id, { decision: 'edit', input: { command: "git commit -m 'y'" } });
    });
    expect(JSON.parse(answers.answer?.text ?? '')).toEqual({ decision: 'allow', updated_input: { command: "git commit -m 'y'" } });
    const decided = typesOf(events, 'approval.decided')[0]?.data;
    expect(decided?.edited_digest).toMatch(/^sha256:/);
    expect(typesOf(events, 'tool.decision')[0]?.data.edited_digest).toBe(decided?.edited_digest);
  });

  it('[APPROVAL-3] denies what nobody decided in time and refuses a late decision', async () => {
    const source = (await stack.admin.policy('default')).source
      .replace(/^name:.*$/m, 'name: hasty')
      .replace(/default_ttl_secs: *\d+/, 'default_ttl_secs: 2');
    await stack.admin.importPolicy('hasty', { source });
    await stack.admin.createAgent({ name: 'hasty', harness: 'scripted', policy: 'hasty' });
    const { answers, events } = await runWire(stack.admin, 'hasty', { steps: [ask] });
    expect(JSON.parse(answers.answer?.text ?? '')).toMatchObject({ decision: 'deny' });
    expect(typesOf(events, 'approval.decided')[0]?.data.decision).toBe('expired');
    const approvalId = String(typesOf(events, 'approval.requested')[0]?.data.approval_id);
    await expect(stack.admin.decide(approvalId, { decision: 'approve' })).rejects.toMatchObject({ status: 409, code: 'approval_settled' });
  });

  it('[API-4] is decided by an approver, not by another member', async () => {
    const approver = stack.client((await stack.admin.createToken({ name: 'ann', role: 'approver' })).token);
    const member = stack.client((await stack.admin.createToken({ name: 'mia', role: 'member' })).token);
    const { answers } = await whileWaiting(async (approval) => {
      await expect(member.decide(approval.id, { decision: 'approve' })).rejects.toMatchObject({ status: 404 });
      await expect(member.createToken({ name: 'x', role: 'member' })).rejects.toMatchObject({ status: 403 });
      expect((await approver.decide(approval.id, { decision: 'approve' })).approval.decided_by).toContain('ann');
    });
    expect(answers.answer?.text).toBe('{"decision":"allow"}');
  });

  it('H-DB-02 · fifty calls that wait hold nobody up: lists, appends and decisions are answered beside them, and all are decided', async () => {
    const parallel = Array.from({ length: 50 }, (_, i) => ({
      ...ask,
      body: { tool_call_id: `c${i}`, tool: 'Bash', input: { command: `git commit -m 'part ${i}'` } },
    }));
    let id = '';
    const run = runWire(stack.admin, 'wire', { steps: [{ name: 'all', parallel }] }, { onStarted: (started) => (id = started) });
    const waiting = async () => (await stack.admin.approvals()).data.filter((approval) => approval.run_id === id);
    await until(async () => (await waiting()).length === 50);
    const [first, ...rest] = await waiting();
    const approve = (approval?: ApprovalView) => stack.admin.decide(approval?.id ?? '', { decision: 'approve' });
    // A pool without a free connection would refuse each of these.
    await stack.admin.createAgent({ name: 'beside', harness: 'scripted' });
    await approve(first);
    await until(async () => (await waiting()).length === 49);
    await Promise.all(rest.map(approve));
    const { answers, events } = await run;
    expect((answers.all ?? []).map(({ text }) => text?.trim())).toEqual(Array<string>(50).fill('{"decision":"allow"}'));
    expect(typesOf(events, 'approval.decided')).toHaveLength(50);
  });
});
