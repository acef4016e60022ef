import { type EventType, eventTypes, type RecordedEvent, upcast } from '@fluidbox/contracts';
import fc from 'fast-check';
import {
  acceptsWork,
  callCounts,
  coverageOf,
  decisionCounts,
  derivedStatus,
  evolveRun,
  grantFor,
  initialRun,
  leaseRefusal,
  type RunState,
  reserved,
  unspent,
} from '.';

const runId = '0198c0de-0000-7000-8000-000000000001';
const digest = `sha256:${'a'.repeat(64)}`;
let position = 0;
const at = (seq: number, type: EventType, data: Record<string, unknown>): RecordedEvent => ({
  seq,
  globalPosition: ++position,
  eventId: `0198c0de-0000-7000-8000-${String(position).padStart(12, '0')}`,
  org: 'default',
  stream: `run-${runId}`,
  type,
  version: 1,
  actor: 'service:test',
  occurredAt: new Date(1_800_000_000_000 + seq * 1000).toISOString(),
  data,
});
const fold = (...events: readonly [EventType, Record<string, unknown>][]): RunState =>
  events.reduce((state, [type, data], index) => evolveRun(state, at(index + 1, type, data)), initialRun());

const created: [EventType, Record<string, unknown>] = [
  'session.created',
  {
    run_id: runId,
    agent: 'fixer',
    agent_revision: 1,
    harness: 'scripted',
    model: 'none',
    policy: 'default',
    policy_version: 1,
    spec_digest: digest,
    request_digest: digest,
    autonomy: 'supervised',
    trust_tier: 'trusted',
    budgets: { max_wall_clock_secs: 60, max_tokens: 1000, max_cost_micro_usd: null, max_tool_calls: 3 },
    workspace_kind: 'scratch',
    invoked_by: 'admin',
  },
];
const usage = { input_tokens: 1, output_tokens: 1, cache_read_tokens: 0, cache_write_tokens: 0, cost_micro_usd: 1 };
const running: [EventType, Record<string, unknown>] = [
  'session.status_changed',
  { from: 'initializing', to: 'running', reason: 'sandbox_started', deadline_at: '2027-01-15T08:01:00.000Z' },
];
const requested = (id: string, tool = 'Bash'): [EventType, Record<string, unknown>] => [
  'tool.requested',
  { tool_call_id: id, tool, input_digest: digest, generation: 1 },
];
const decided = (id: string, verdict: string): [EventType, Record<string, unknown>] => [
  'tool.decision',
  { tool_call_id: id, tool: 'Bash', verdict, source: 'policy', input_digest: digest, code: 'rule' },
];
const emitted = (id: string): [EventType, Record<string, unknown>] => [
  'model.tool_call',
  { tool_call_id: id, tool: 'Bash', input_digest: digest, reservation_id: runId },
];
const scope = { digest: `sha256:${'5'.repeat(64)}`, key: 'Bash:git commit' };
const asked = (id: string): [EventType, Record<string, unknown>] => [
  'approval.requested',
  {
    tool_call_id: id,
    tool: 'Bash',
    approval_id: `apr_${runId}_${id}`,
    input_digest: digest,
    scope: 'once',
    scope_digest: scope.digest,
    approvers: 1,
    exclude_requester: false,
    policy_digest: digest,
    engine_version: '1',
    expires_at: '2027-01-15T08:10:00.000Z',
  },
];
const settled = (id: string, decision: string, scope: 'once' | 'session' = 'once'): [EventType, Record<string, unknown>] => [
  'approval.decided',
  { approval_id: `apr_${runId}_${id}`, tool_call_id: id, decision, scope, decided_by: 'bob' },
];

describe('the fold of a run', () => {
  it('works while running and not once an end is decided', () => {
    expect(acceptsWork(fold(created, running))).toBe(true);
    expect(
      acceptsWork(
        fold(created, running, [
          'session.status_changed',
          { from: 'running', to: 'finalizing', reason: 'runner_result', outcome: 'completed' },
        ]),
      ),
    ).toBe(false);
    expect(acceptsWork(fold(created, running, ['budget.exceeded', { budget: 'tokens', limit: 1, spent: 2 }]))).toBe(false);
  });

  it('keeps the first intent', () => {
    const run = fold(
      created,
      running,
      ['session.status_changed', { from: 'running', to: 'cancelling', reason: 'cancel_requested', outcome: 'cancelled' }],
      ['session.status_changed', { from: 'cancelling', to: 'finalizing', reason: 'runner_result', outcome: 'completed' }],
    );
    expect(run.intent?.outcome).toBe('cancelled');
  });

  it('derives awaiting_approval from pending approvals', () => {
    expect(derivedStatus(fold(created, running, requested('c1'), asked('c1')))).toBe('awaiting_approval');
    expect(derivedStatus(fold(created, running, requested('c1'), asked('c1'), settled('c1', 'approved')))).toBe('running');
  });

  it('remembers a session grant by its digest, and not a single approval', () => {
    const grantOf = (decision: string, covers: 'once' | 'session') =>
      grantFor(fold(created, running, requested('c1'), asked('c1'), settled('c1', decision, covers)), scope);
    expect(grantOf('approved', 'session')).toBe(`apr_${runId}_c1`);
    expect(grantOf('approved', 'once')).toBeUndefined();
    expect(grantOf('denied', 'session')).toBeUndefined();
  });

  it('takes no scope key for the digest of a grant, whatever a tool is called', () => {
    const run = fold(created, running, requested('c1'), asked('c1'), settled('c1', 'approved', 'session'));
    expect(grantFor(run, { digest: `sha256:${'6'.repeat(64)}`, key: scope.digest })).toBeUndefined();
  });

  it('remembers a session grant of version 1 by the key that stands in its event', () => {
    const ofVersion1 = (type: EventType, data: Record<string, unknown>): [EventType, Record<string, unknown>] => [
      type,
      upcast(at(1, type, { ...data, scope_key: scope.key })).data,
    ];
    const { scope_digest: _, ...requestedThen } = asked('c1')[1];
    const run = fold(
      created,
      running,
      requested('c1'),
      ofVersion1('approval.requested', requestedThen),
      ofVersion1('approval.decided', settled('c1', 'approved', 'session')[1]),
    );
    expect(grantFor(run, scope)).toBe(`apr_${runId}_c1`);
    expect(grantFor(run, { ...scope, key: 'Bash:git push' })).toBeUndefined();
  });

  it('counts a model call as decided whichever of the two events came first', () => {
    const gateFirst = fold(created, running, requested('c1'), decided('c1', 'allow'), emitted('c1'));
    const facadeFirst = fold(created, running, emitted('c1'), requested('c1'), decided('c1', 'allow'));
    for (const run of [gateFirst, facadeFirst]) {
      expect(callCounts(run)).toMatchObject({ model: 1, decided: 1, unknown: 0 });
      expect(run.openModelCalls.size).toBe(0);
    }
  });

  it('counts a gap as a gap, whatever was decided about the call afterwards', () => {
    const gap: [EventType, Record<string, unknown>] = ['coverage.gap', { tool_call_id: 'c1', tool: 'Bash', class: 'uncovered' }];
    const late = fold(created, emitted('c1'), requested('c1'), gap, decided('c1', 'deny'));
    expect(callCounts(late)).toMatchObject({ model: 1, decided: 0, uncovered: 1 });
    expect(coverageOf(late)).toBe('partial');
  });

  it('counts no decision about another tool under the id of a call', () => {
    expect(callCounts(fold(created, emitted('c1'), requested('c1', 'Read'), decided('c1', 'allow')))).toMatchObject({
      decided: 0,
      unknown: 1,
    });
  });

  it('says full, unknown and partial coverage', () => {
    expect(coverageOf(fold(created, emitted('c1'), requested('c1'), decided('c1', 'deny')))).toBe('full');
    expect(
      coverageOf(
        fold(created, emitted('c1'), ['model.tool_call_closed', { tool_call_id: 'c1', tool: 'Read', class: 'rejected_by_harness' }]),
      ),
    ).toBe('full');
    expect(coverageOf(fold(created, emitted('c1')))).toBe('unknown');
    expect(coverageOf(fold(created, emitted('c1'), ['coverage.gap', { tool_call_id: 'c1', tool: 'Bash', class: 'uncovered' }]))).toBe(
      'partial',
    );
  });

  const fields = (
    event: [EventType, Record<string, unknown>],
    input_fields: Record<string, string>,
  ): [EventType, Record<string, unknown>] => [event[0], { ...event[1], input_fields }];

  it('counts no decision about another input: a compared field that differs or was held back', () => {
    const model = fields(emitted('c1'), { command: 'x' });
    const answered = decided('c1', 'allow');
    const counts = (gate: [EventType, Record<string, unknown>]) => callCounts(fold(created, model, gate, answered));
    expect(counts(fields(requested('c1'), { command: 'x' }))).toMatchObject({ decided: 1, unknown: 0 });
    expect(counts(fields(requested('c1'), { command: 'y' }))).toMatchObject({ decided: 0, unknown: 1 });
    expect(counts(requested('c1'))).toMatchObject({ decided: 0, unknown: 1 });
    // What the harness adds is its own business, and an event of before has no fields to compare.
    expect(counts(fields(requested('c1'), { command: 'x', cwd: 'z' }))).toMatchObject({ decided: 1 });
    expect(callCounts(fold(created, emitted('c1'), fields(requested('c1'), { command: 'y' }), answered))).toMatchObject({ decided: 1 });
  });

  it('counts a decision about a field as the harness tidies it, and about no other form of it', () => {
    const model: [EventType, Record<string, unknown>] = [
      'model.tool_call',
      { ...emitted('c1')[1], input_fields: { command: 'cd /w && x' }, input_variants: { command: ['x'] } },
    ];
    const counts = (command: string) => callCounts(fold(created, model, fields(requested('c1'), { command }), decided('c1', 'allow')));
    expect([counts('x').decided, counts('cd /w && x').decided, counts('y').decided]).toEqual([1, 1, 0]);
  });

  it('counts an approved edit as the decision on the call that was asked for', () => {
    const edit: [EventType, Record<string, unknown>] = [
      'tool.decision',
      { ...decided('c1', 'allow')[1], edited_digest: `sha256:${'e'.repeat(64)}` },
    ];
    const run = fold(created, fields(emitted('c1'), { command: 'x' }), fields(requested('c1'), { command: 'x' }), edit);
    expect(callCounts(run)).toMatchObject({ decided: 1, unknown: 0 });
  });

  it('counts a second call under the same id as one of its own, which nothing covers; a repeat of the same call as none', () => {
    const other: [EventType, Record<string, unknown>] = [
      'model.tool_call',
      { ...emitted('c1')[1], input_digest: `sha256:${'b'.repeat(64)}` },
    ];
    const run = fold(created, emitted('c1'), requested('c1'), decided('c1', 'allow'), emitted('c1'), other, other);
    expect(callCounts(run)).toMatchObject({ model: 2, decided: 1, uncovered: 1 });
    expect(coverageOf(run)).toBe('partial');
  });

  it('says unknown when an answer was lost with its facade, until the answer is told after all', () => {
    const reservation: [EventType, Record<string, unknown>] = [
      'budget.reserved',
      { reservation_id: runId, tokens: 600, cost_micro_usd: 5, expires_at: '2027-01-15T08:10:00.000Z' },
    ];
    const settledAs = (more: object): [EventType, Record<string, unknown>] => [
      'budget.settled',
      { reservation_id: runId, tokens: 600, cost_micro_usd: 5, basis: 'pessimistic', ...more },
    ];
    const response: [EventType, Record<string, unknown>] = [
      'model.response',
      { ...usage, reservation_id: runId, estimated: false, tool_calls: 0 },
    ];
    expect(coverageOf(fold(created, reservation, settledAs({})))).toBe('full');
    expect(coverageOf(fold(created, reservation, settledAs({ lost: true })))).toBe('unknown');
    expect(coverageOf(fold(created, reservation, settledAs({ lost: true }), response))).toBe('full');
  });

  it('counts answers without progress: a decided call or an answer that ended by itself starts anew', () => {
    const response = (more: object): [EventType, Record<string, unknown>] => [
      'model.response',
      { ...usage, reservation_id: runId, estimated: false, stop_reason: 'tool_use', tool_calls: 1, ...more },
    ];
    const idle = (...events: [EventType, Record<string, unknown>][]) => fold(created, ...events).idleModelCalls;
    expect(idle(response({}), response({}))).toBe(2);
    expect(idle(response({}), requested('c1'), decided('c1', 'deny'), response({}))).toBe(1);
    expect(idle(response({}), response({ tool_calls: 0, stop_reason: 'end_turn' }))).toBe(0);
    expect(idle(response({}), response({ tool_calls: 0, stop_reason: 'max_tokens' }), response({ tool_calls: 0, estimated: true }))).toBe(
      3,
    );
    // The same call answered again is no progress.
    expect(idle(requested('c1'), decided('c1', 'allow'), response({}), decided('c1', 'allow'))).toBe(1);
  });

  it('settles a reservation once', () => {
    const reservation: [EventType, Record<string, unknown>] = [
      'budget.reserved',
      { reservation_id: runId, tokens: 600, cost_micro_usd: 5, expires_at: '2027-01-15T08:10:00.000Z' },
    ];
    const settle: [EventType, Record<string, unknown>] = [
      'budget.settled',
      { reservation_id: runId, tokens: 100, cost_micro_usd: 1, basis: 'usage' },
    ];
    expect(reserved(fold(created, reservation)).tokens).toBe(600);
    const run = fold(created, reservation, settle, settle);
    expect(reserved(run).tokens).toBe(0);
    expect(unspent(run).tokens).toBe(900);
  });

  it('keeps the first decision of a call and lists wrong reuses apart', () => {
    const run = fold(created, running, requested('c1'), decided('c1', 'allow'), requested('c1', 'Write'), decided('c1', 'deny'));
    expect(run.calls.get('c1')?.decision?.verdict).toBe('allow');
    expect(run.calls.get('c1')?.violations.size).toBe(1);
    expect(decisionCounts(run)).toEqual({ allow: 1, deny: 0, ask: 0 });
  });

  it('leaves a call that waits for a person waiting when its id is reused wrongly', () => {
    const violation: [EventType, Record<string, unknown>] = [
      'tool.decision',
      {
        tool_call_id: 'c1',
        tool: 'Write',
        verdict: 'deny',
        source: 'protocol_violation',
        input_digest: digest,
        code: 'protocol_violation',
      },
    ];
    const run = fold(created, running, requested('c1'), asked('c1'), requested('c1', 'Write'), violation);
    expect(run.calls.get('c1')).toMatchObject({ decision: null, approval: { settled: null } });
    expect(run.denialsInARow).toBe(1);
  });

  it('refuses an old generation before it looks at the lease', () => {
    const run = fold(created, ['lease.granted', { generation: 2, valid_until: '2027-01-15T08:00:00.000Z' }]);
    expect(leaseRefusal(run, 1, 0)).toBe('stale_lease');
    expect(leaseRefusal(run, 2, Date.parse('2027-01-15T08:00:01.000Z'))).toBe('lease_expired');
    expect(leaseRefusal(run, 2, Date.parse('2027-01-15T07:59:59.000Z'))).toBeNull();
  });

  it('is total: any events in any order never throw, and a repeat changes nothing', () => {
    const anyEvent = fc.tuple(
      fc.constantFrom(...(Object.keys(eventTypes) as EventType[])),
      fc.dictionary(
        fc.constantFrom('tool_call_id', 'approval_id', 'reservation_id', 'generation', 'to', 'budget', 'class', 'tokens'),
        fc.constantFrom('c1', 'x', 1, 7),
      ),
    );
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
        const state = initialRun();
        events.forEach(([type, data], index) => {
          evolveRun(state, at(index + 1, type, data));
        });
        const before = JSON.stringify(callCounts(state));
        events.forEach(([type, data], index) => {
          evolveRun(state, at(index + 1, type, data));
        });
        return JSON.stringify(callCounts(state)) === before && state.version === events.length;
      }),
      { seed: 42 },
    );
  });
});
