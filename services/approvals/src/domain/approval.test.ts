import { DecideApprovalBody, type EventDraft, type EventType, eventTypes, Problem, runStream } from '@fluidbox/contracts';
import { evolveRun, initialRun, type RunState } from '@fluidbox/run-stream';
import { createdRun, recorded } from '@fluidbox/testing';
import fc from 'fast-check';
import { decideApproval, nextExpiry, settleOverdue } from './approval';

const runId = '0198b3a0-0000-7000-8000-000000000002';
const stream = runStream(runId, 'default');
const digest = `sha256:${'a'.repeat(64)}`;
const scopeDigest = `sha256:${'c'.repeat(64)}`;
const editedDigest = `sha256:${'b'.repeat(64)}`;
const t0 = Date.parse('2026-01-01T00:00:00.000Z');
const approvalId = `apr_${runId}_toolu_1`;
const draft = (type: string, data: Record<string, unknown>) => ({ type, actor: 'service:gate', data }) as unknown as EventDraft;

const created = draft('session.created', createdRun(runId));
const status = (from: string, to: string, more = {}) => draft('session.status_changed', { from, to, reason: 'runner_result', ...more });
const asked = (more: Record<string, unknown> = {}) => [
  created,
  draft('session.status_changed', { from: 'initializing', to: 'running', reason: 'sandbox_started' }),
  draft('tool.requested', { tool_call_id: 'toolu_1', tool: 'Bash', input_digest: digest, generation: 1 }),
  draft('approval.requested', {
    approval_id: approvalId,
    tool_call_id: 'toolu_1',
    tool: 'Bash',
    input_digest: digest,
    scope: 'once',
    scope_digest: scopeDigest,
    approvers: 1,
    exclude_requester: false,
    policy_digest: digest,
    engine_version: '1',
    expires_at: new Date(t0 + 600_000).toISOString(),
    ...more,
  }),
];
const ending = status('running', 'cancelling', { outcome: 'cancelled' });
const terminal = [status('running', 'finalizing', { outcome: 'failed' }), status('finalizing', 'failed', { outcome: 'failed' })];

const given = (...drafts: readonly EventDraft[]): RunState =>
  recorded(stream, drafts, { at: new Date(t0) }).reduce(evolveRun, initialRun());
type Role = 'member' | 'approver' | 'admin';
function decide(
  drafts: readonly EventDraft[],
  decision: string,
  by: [string, Role] = ['grace', 'approver'],
  more: { secs?: number; body?: Record<string, unknown>; editedDigest?: string; matches?: string[] } = {},
) {
  const body = DecideApprovalBody.parse({ decision, ...more.body });
  const [name, role] = by;
  return decideApproval(given(...drafts), {
    approvalId,
    body,
    principal: { name, role, org: 'default' },
    now: t0 + (more.secs ?? 1) * 1_000,
    ...(more.editedDigest === undefined ? {} : { edit: { digest: more.editedDigest, matches: more.matches ?? [] } }),
  });
}
const shown = ({ events, result }: ReturnType<typeof decide>) => [
  events.map((event) => {
    const data = event.data as Record<string, unknown>;
    return [event.type, data.decision ?? data.verdict, data.scope ?? data.code].filter((part) => part !== undefined).join(' ');
  }),
  result instanceof Problem ? result.code : result.decision,
];
const eventsOf = (settled: ReturnType<typeof decide>): readonly EventDraft[] => settled.events;

describe('deciding', () => {
  it.each([
    ['approve', ['approval.decided approved once', 'tool.decision allow approved'], 'approved'],
    ['approve_session', ['approval.decided approved session', 'tool.decision allow approved'], 'approved'],
    ['deny', ['approval.decided denied once', 'tool.decision deny approval_denied'], 'denied'],
  ])('%s settles approval and call in one group', (decision, events, result) => {
    expect(shown(decide(asked(), decision))).toEqual([events, result]);
  });

  it('grants what was asked for the rest of the run only with approve_session', () => {
    expect([...given(...asked(), ...eventsOf(decide(asked(), 'approve_session'))).grants.keys()]).toEqual([scopeDigest]);
    expect([...given(...asked(), ...eventsOf(decide(asked(), 'approve'))).grants.keys()]).toEqual([]);
  });

  it('tells the second one how it was settled, and the winner the same again', () => {
    const settled = [...asked(), ...eventsOf(decide(asked(), 'approve'))];
    const loser = decide(settled, 'deny', ['bob', 'admin']);
    expect(shown(loser)).toEqual([[], 'approval_settled']);
    expect(loser.result).toMatchObject({ extra: { decision: 'approved', decided_by: 'grace' } });
    expect(shown(decide(settled, 'approve'))).toEqual([[], 'approved']);
    expect(shown(decide(settled, 'deny'))).toEqual([[], 'approval_settled']);
  });

  it('takes only the same input for the same decision', () => {
    const input = { command: 'git push --dry-run' };
    const plain = [...asked(), ...eventsOf(decide(asked(), 'approve'))];
    const edited = [...asked(), ...eventsOf(decide(asked(), 'edit', undefined, { body: { input }, editedDigest }))];
    expect(shown(decide(edited, 'approve'))).toEqual([[], 'approval_settled']);
    expect(shown(decide(edited, 'edit', undefined, { body: { input }, editedDigest: `sha256:${'c'.repeat(64)}` }))).toEqual([
      [],
      'approval_settled',
    ]);
    expect(shown(decide(plain, 'edit', undefined, { body: { input }, editedDigest }))).toEqual([[], 'approval_settled']);
    expect(shown(decide(edited, 'edit', undefined, { body: { input }, editedDigest }))).toEqual([[], 'approved']);
    expect(shown(decide(plain, 'approve'))).toEqual([[], 'approved']);
  });

  it('names both digests when the input was edited, and keeps the edited input', () => {
    const { events } = decide(asked(), 'edit', ['grace', 'approver'], { body: { input: { command: 'git push --dry-run' } }, editedDigest });
    expect(events.map(({ data }) => (data as { edited_digest?: string }).edited_digest)).toEqual([editedDigest, editedDigest]);
    expect(events.map(({ data }) => 'matches' in data)).toEqual([false, false]);
    const counted = decide(asked(), 'edit', ['grace', 'approver'], { body: { input: {} }, editedDigest, matches: ['0.count'] });
    expect(counted.events.map(({ data }) => ('matches' in data ? data.matches : null))).toEqual([null, ['0.count']]);
    expect(events[1]?.data).toMatchObject({ input_digest: digest });
    expect(events[0]?.content).toEqual({ comment: null, edited_input: { command: 'git push --dry-run' } });
  });

  it('tells the agent what the person said', () => {
    expect(eventsOf(decide(asked(), 'deny', undefined, { body: { comment: 'open a pull request' } }))[1]?.content).toMatchObject({
      message: 'a person denied this call: open a pull request',
    });
  });

  it('knows no other approval', () => {
    expect(shown(decide([created], 'approve'))).toEqual([[], 'not_found']);
  });
});

describe('who may decide', () => {
  it.each<[string, Role, string]>([
    ['grace', 'approver', 'approved'],
    ['root', 'admin', 'approved'],
    ['ada', 'member', 'approved'],
    ['bob', 'member', 'forbidden'],
  ])('%s as %s: %s', (name, role, result) => {
    expect(shown(decide(asked(), 'approve', [name, role]))[1]).toBe(result);
  });

  it('excludes the requester where the policy says so, whatever their role', () => {
    expect(shown(decide(asked({ exclude_requester: true }), 'approve', ['ada', 'admin']))).toEqual([[], 'forbidden']);
    expect(shown(decide(asked({ exclude_requester: true }), 'approve', ['grace', 'approver']))[1]).toBe('approved');
  });
});

describe('several approvers', () => {
  const two = asked({ approvers: 2 });
  const first = decide(two, 'approve_session', ['grace', 'approver']);

  it('settles with the last vote; each person counts once', () => {
    expect(shown(first)).toEqual([['approval.voted approve_session'], 'pending']);
    const voted = [...two, ...eventsOf(first)];
    expect(shown(decide(voted, 'approve', ['grace', 'approver']))).toEqual([[], 'pending']);
    expect(shown(decide(voted, 'approve_session', ['root', 'admin']))).toEqual([
      ['approval.voted approve_session', 'approval.decided approved session', 'tool.decision allow approved'],
      'approved',
    ]);
  });

  it('grants the session only when all said so', () => {
    expect(shown(decide([...two, ...eventsOf(first)], 'approve', ['root', 'admin']))[0]).toContain('approval.decided approved once');
  });

  it('is over with one denial', () => {
    expect(shown(decide(two, 'deny'))).toEqual([
      ['approval.voted deny', 'approval.decided denied once', 'tool.decision deny approval_denied'],
      'denied',
    ]);
  });

  it('cannot be edited', () => {
    expect(shown(decide(two, 'edit', undefined, { body: { input: {} }, editedDigest }))).toEqual([[], 'unprocessable']);
  });
});

describe('too late', () => {
  it('is refused from the moment of expiry on, also before the timer fired, and settles it', () => {
    expect(shown(decide(asked(), 'approve', undefined, { secs: 599 }))[1]).toBe('approved');
    expect(shown(decide(asked(), 'approve', undefined, { secs: 600 }))).toEqual([
      ['approval.decided expired once', 'tool.decision deny approval_expired'],
      'approval_expired',
    ]);
  });

  it('is refused, and recorded once, when the run accepts no work any more', () => {
    const late = decide([...asked(), ending], 'approve');
    expect(shown(late)).toEqual([['approval.decided refused once', 'tool.decision deny session_terminal'], 'approval_settled']);
    expect(late.result).toMatchObject({ extra: { decision: 'refused' } });
    expect(shown(decide([...asked(), ending, ...eventsOf(late)], 'approve'))).toEqual([[], 'approval_settled']);
    expect(shown(decide([...asked(), ...terminal], 'approve'))).toEqual([[], 'approval_settled']);
  });
});

describe('what nobody decides', () => {
  it('expires in time, not before, and not twice', () => {
    expect(settleOverdue(given(...asked()), t0 + 599_999)).toEqual([]);
    const events = settleOverdue(given(...asked()), t0 + 600_000);
    expect(events.map(({ type }) => type)).toEqual(['approval.decided', 'tool.decision']);
    expect(settleOverdue(given(...asked(), ...events), t0 + 600_000)).toEqual([]);
    expect([nextExpiry(given(...asked())), nextExpiry(given(...asked(), ...events))]).toEqual([t0 + 600_000, null]);
  });

  it('is refused when the run winds down, and left alone when the stream is closed', () => {
    expect(settleOverdue(given(...asked(), ending), t0)[0]?.data).toMatchObject({ decision: 'refused' });
    expect(settleOverdue(given(...asked(), ...terminal), t0)).toEqual([]);
  });
});

describe('in any order', () => {
  it('settles at most once, with storable events', () => {
    const decisions = fc.tuple(
      fc.constantFrom('approve', 'approve_session', 'deny', 'edit'),
      fc.constantFrom<[string, Role]>(['grace', 'approver'], ['root', 'admin'], ['ada', 'member'], ['bob', 'member']),
      fc.integer({ min: 0, max: 700 }),
    );
    fc.assert(
      fc.property(
        fc.array(fc.oneof(decisions, fc.constant('end'), fc.constant('sweep')), { maxLength: 8 }),
        fc.integer({ min: 1, max: 3 }),
        (steps, approvers) => {
          const history: EventDraft[] = asked({ approvers });
          for (const step of steps) {
            let events: readonly EventDraft[];
            if (step === 'end') events = [ending];
            else if (step === 'sweep') events = settleOverdue(given(...history), t0 + 650_000);
            else
              events = decide(history, step[0], step[1], {
                secs: step[2],
                ...(step[0] === 'edit' ? { body: { input: {} }, editedDigest } : {}),
              }).events;
            if (step !== 'end')
              for (const event of events) expect(() => eventTypes[event.type as EventType].data.parse(event.data)).not.toThrow();
            history.push(...events);
          }
          const count = (type: string) => history.filter((event) => event.type === type).length;
          expect(count('approval.decided')).toBeLessThanOrEqual(1);
          expect(count('tool.decision')).toBe(count('approval.decided'));
        },
      ),
    );
  });
});
