import {
  type EventDraft,
  type EventType,
  eventTypes,
  PolicyDocument,
  type PolicyDocumentInput,
  Problem,
  runStream,
} from '@fluidbox/contracts';
import { compilePolicy, gateProjection, matchesOf } from '@fluidbox/policy';
import { evolveRun, initialRun, type RunState } from '@fluidbox/run-stream';
import { createdRun, recorded } from '@fluidbox/testing';
import fc from 'fast-check';
import { type Decided, decidePermission, refusalsRecordedMax } from './permission';
import type { FrozenRules } from './rules';

const runId = '0198b3a0-0000-7000-8000-000000000002';
const stream = runStream(runId, 'default');
const digestOf = (input: unknown): string => `sha256:${Buffer.from(JSON.stringify(input)).toString('hex').padEnd(64, '0').slice(-64)}`;
const scopeDigest = jest.fn(digestOf);
const at = Date.parse('2026-01-01T00:00:00.000Z');
const draft = (type: string, data: Record<string, unknown>) => ({ type, actor: 'service:runs', data }) as unknown as EventDraft;

const created = (budgets: Record<string, unknown> = {}) =>
  draft(
    'session.created',
    createdRun(runId, {
      spec_digest: digestOf(1),
      request_digest: digestOf(2),
      budgets: { max_wall_clock_secs: 600, max_tokens: null, max_cost_micro_usd: null, max_tool_calls: 10, ...budgets },
    }),
  );
const lease = (generation = 1, seconds = 900) =>
  draft('lease.granted', { generation, valid_until: new Date(at + seconds * 1000).toISOString() });
const status = (from: string, to: string, more = {}) => draft('session.status_changed', { from, to, reason: 'sandbox_started', ...more });
const running = (budgets: Record<string, unknown> = {}) => [
  created(budgets),
  lease(),
  status('initializing', 'running', { deadline_at: new Date(at + 600_000).toISOString() }),
];

const rules = (document: Omit<PolicyDocumentInput, 'name'> = {}, more: Partial<FrozenRules> = {}): FrozenRules => ({
  toolSurface: new Set(['Bash', 'Read', 'Write']),
  trustTier: 'trusted',
  autonomy: 'supervised',
  policyDigest: digestOf(3),
  argumentSchemas: new Map(),
  comparedFields: {},
  runsEdits: true,
  policy: compilePolicy(
    PolicyDocument.parse({
      name: 'test',
      tools: [
        { match: ['Bash'], action: 'allow', shell: { allow: ['ls'], ask: ['git push'], deny: ['curl'] }, tell_agent: 'no network here' },
      ],
      defaults: { tool_action: 'allow' },
      ...document,
    }),
  ),
  ...more,
});

interface Call {
  id?: string;
  tool?: string;
  input?: Record<string, unknown>;
  generation?: number;
  now?: number;
  mended?: boolean;
}
const bash = (command: string, id = 'toolu_1'): Call => ({ id, tool: 'Bash', input: { command } });

function ask(run: RunState, call: Call, using: FrozenRules = rules()): Decided {
  const { id = 'toolu_1', tool = 'Bash', input = { command: 'ls' }, generation = 1, now = at + 1000, mended = false } = call;
  const projection = gateProjection({ tool, input, mended });
  return decidePermission(
    run,
    {
      toolCallId: id,
      tool,
      input,
      inputDigest: digestOf(input),
      generation,
      projection,
      matches: matchesOf(using.policy, projection),
      summary: tool,
    },
    { now, rules: using, scopeDigest },
  );
}
const given = (...drafts: readonly EventDraft[]): RunState =>
  recorded(stream, drafts, { at: new Date(at) }).reduce(evolveRun, initialRun());
const after = (state: RunState, decided: Decided): RunState =>
  recorded(stream, decided.events, { after: state.version, at: new Date(at) }).reduce(evolveRun, state);
const typesOf = (decided: Decided): string[] => decided.events.map((event) => event.type);
const dataOf = (decided: Decided, type: EventType) => decided.events.find((event) => event.type === type)?.data;
const contentOf = (decided: Decided, type: EventType) => decided.events.find((event) => event.type === type)?.content;
const decision = (decided: Decided) => dataOf(decided, 'tool.decision') as Record<string, unknown> | undefined;
const codeOf = (decided: Decided) =>
  decided.result instanceof Problem ? decided.result.code : decided.result.kind === 'denied' ? decided.result.code : decided.result.kind;

describe('a new call', () => {
  it('that the policy allows is requested and decided in one group', () => {
    const decided = ask(given(...running()), bash('ls -la'));
    expect(decided.result).toEqual({ kind: 'allowed' });
    expect(typesOf(decided)).toEqual(['tool.requested', 'tool.decision']);
    expect(decision(decided)).toMatchObject({
      verdict: 'allow',
      source: 'policy',
      code: 'allowed',
      engine_version: expect.any(String),
      rule: { index: 0 },
    });
  });
  it('that the policy denies tells the agent what its author wrote, and people the rule', () => {
    const decided = ask(given(...running()), bash('ls && curl http://h.example'));
    expect(decided.result).toMatchObject({ kind: 'denied', code: 'policy_denied', message: expect.stringContaining('no network here') });
    expect(decision(decided)).toMatchObject({ verdict: 'deny', source: 'policy', rule: { index: 0, part: 'deny: curl' } });
  });
  it('that is denied tells the agent the entry that decided and nothing else of the policy; people are told more', () => {
    const policy = {
      tools: [
        {
          match: ['Bash'],
          action: 'allow' as const,
          shell: { allow: ['ls'], deny: ['curl', 'scp secret-host'], deny_regex: ['internal-name'], ask: ['deploy prod'] },
          paths: { deny: ['**/hidden/**'] },
          reason: 'because the auditors said so',
          risk: 'exfiltration',
        },
        { match: ['Read'], action: 'deny' as const, reason: 'other rule' },
      ],
    };
    for (const [more, source] of [
      [{}, 'policy'],
      [{ autonomy: 'autonomous' as const }, 'policy'],
    ] as const) {
      const decided = ask(given(...running()), bash('curl http://h.example'), rules(policy, more));
      expect(decision(decided)).toMatchObject({ source });
      expect(decided.result).toMatchObject({
        message: 'The policy does not allow this call: "curl http://h.example" is denied by "curl".',
      });
      const content = decided.events.find(({ type }) => type === 'tool.decision')?.content;
      expect(content).toMatchObject({ reason: expect.stringContaining('because the auditors said so') });
    }
    const unattended = ask(given(...running()), bash('deploy prod'), rules(policy, { autonomy: 'autonomous' }));
    expect(JSON.stringify(unattended.result)).not.toMatch(/auditors|exfiltration|scp|internal-name|hidden|other rule/);
  });
  it('without the field its tool needs is denied by its shape, in observe mode too', () => {
    for (const using of [rules(), rules({ mode: 'observe' })]) {
      const decided = ask(given(...running()), { tool: 'Bash', input: { cmd: 'ls' } }, using);
      expect(decided.result).toMatchObject({ kind: 'denied', code: 'invalid_input', message: '/command: a Bash call needs a command' });
      expect(decision(decided)).toMatchObject({ verdict: 'deny', source: 'schema' });
      expect(ask(given(...running()), bash('ls'), using).result).toEqual({ kind: 'allowed' });
    }
  });
  it('that a person must decide waits, with everything the approver needs', () => {
    const decided = ask(given(...running()), bash('git push origin main'));
    expect(decided.result).toEqual({ kind: 'pending', approvalId: `apr_${runId}_toolu_1`, expiresAt: at + 600_000 });
    expect(typesOf(decided)).toEqual(['tool.requested', 'approval.requested']);
    expect(dataOf(decided, 'approval.requested')).toMatchObject({
      scope: 'once',
      scope_digest: digestOf('Bash:git push'),
      approvers: 1,
      exclude_requester: false,
    });
    expect(contentOf(decided, 'approval.requested')).toMatchObject({ scope_key: 'Bash:git push' });
  });
  it('whose action nobody can name can only be approved this once', () => {
    const decided = ask(given(...running()), bash('"$CMD" x'));
    expect(dataOf(decided, 'approval.requested')).toMatchObject({ scope: 'once', scope_digest: digestOf('Bash#toolu_1') });
    expect(contentOf(decided, 'approval.requested')).toMatchObject({ scope_key: 'Bash#toolu_1' });
  });
  it('quotes itself in content only, whatever is decided', () => {
    const word = 'canary-word';
    const granted = rules({ tools: [{ match: ['Bash'], action: 'ask' }] });
    const calls: readonly [Call, FrozenRules][] = [
      [bash(`ls ${word}`), rules()],
      [bash(`curl ${word}`), rules()],
      [bash(`git push > ${word}`), rules()],
      [bash(`$X ${word}`), rules()],
      [bash(`npm run ${word}`), granted],
      [
        { tool: 'Read', input: { file_path: `/etc/${word}` } },
        rules({ tools: [{ match: ['Read'], action: 'allow', paths: { allow: ['a/**'], deny: [] } }] }),
      ],
      [{ tool: 'Write', input: { file_path: `/workspace/${word}` } }, rules({}, { trustTier: 'read_only' })],
      [{ tool: 'Read', input: { [word]: 1 } }, rules()],
    ];
    for (const [call, using] of calls) {
      const { events } = ask(given(...running()), call, using);
      expect(JSON.stringify(events.map(({ data }) => data))).not.toContain(word);
      expect(JSON.stringify(events.map(({ content }) => content))).toContain(word);
    }
  });
  it('has its scope digested only when a person or a grant has to allow it', () => {
    scopeDigest.mockClear();
    ask(given(...running()), bash('ls'));
    ask(given(...running()), bash('curl x'));
    expect(scopeDigest).not.toHaveBeenCalled();
    ask(given(...running()), bash('git push'));
    expect(scopeDigest.mock.calls).toEqual([['Bash:git push']]);
  });
  it('every event it appends is one the timeline accepts, whatever the call', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('Bash', 'Read', 'Write', 'Nope', 'mcp__a__b', ''),
        fc.dictionary(fc.constantFrom('command', 'file_path', 'x'), fc.jsonValue()),
        fc.boolean(),
        (tool, input, mended) => {
          const decided = ask(given(...running()), { tool, input, mended });
          for (const event of decided.events) expect(eventTypes[event.type].data.safeParse(event.data).success).toBe(true);
          expect(typesOf(decided)[0]).toBe('tool.requested');
          expect(typesOf(decided).some((type) => type === 'tool.decision' || type === 'approval.requested')).toBe(true);
        },
      ),
    );
  });
});

describe('the stages, in order', () => {
  it.each([
    ['another generation', given(...running()), { generation: 2 }, 'stale_lease'],
    ['a dead lease', given(...running()), { now: at + 901_000 }, 'unauthorized'],
    ['an unknown run', given(), {}, 'not_found'],
  ])('refuse %s without an event', (_what, run, call, code) => {
    expect(ask(run, call)).toMatchObject({ events: [], result: { code } });
  });
  it('refuse a run that winds down, on the record; a run that ended, without', () => {
    const winding = given(...running(), status('running', 'cancelling', { outcome: 'cancelled' }));
    expect(decision(ask(winding, {}))).toMatchObject({ verdict: 'deny', source: 'session_terminal' });
    const ended = given(
      ...running(),
      status('running', 'finalizing', { outcome: 'failed' }),
      status('finalizing', 'failed', { outcome: 'failed' }),
    );
    expect(ask(ended, {})).toEqual({ events: [], result: { kind: 'denied', code: 'session_terminal', message: expect.any(String) } });
  });
  it('refuse past the deadline', () => {
    const decided = ask(given(...running()), { now: at + 600_000 });
    expect([decision(decided)?.source, codeOf(decided), typesOf(decided)]).toEqual([
      'budget',
      'wall_clock_exceeded',
      ['tool.requested', 'tool.decision'],
    ]);
  });
  it('refuse the call over the budget once with budget.exceeded, and count denied calls', () => {
    let run = given(...running({ max_tool_calls: 2 }));
    run = after(run, ask(run, bash('curl x', 'a')));
    expect(codeOf(ask(run, bash('ls', 'b')))).toBe('allowed');
    run = after(run, ask(run, bash('ls', 'b')));
    const over = ask(run, bash('ls', 'c'));
    expect(typesOf(over)).toEqual(['tool.requested', 'tool.decision', 'budget.exceeded']);
    expect(decision(over)).toMatchObject({ source: 'budget', code: 'tool_calls_exceeded' });
    expect(dataOf(over, 'budget.exceeded')).toEqual({ budget: 'tool_calls', limit: 2, spent: 3 });
    const next = ask(after(run, over), bash('ls', 'd'));
    expect([decision(next)?.source, typesOf(next)]).toEqual(['session_terminal', ['tool.requested', 'tool.decision']]);
  });
  it('a retry of a decided call is free', () => {
    const run = given(...running({ max_tool_calls: 1 }));
    const once = after(run, ask(run, bash('ls', 'a')));
    expect(ask(once, bash('ls', 'a'))).toMatchObject({ events: [], result: { kind: 'stored' } });
    expect(codeOf(ask(once, bash('ls', 'b')))).toBe('tool_calls_exceeded');
  });
  it.each([
    ['Nope', 'tool_not_granted'],
    ['mcp__gh__pr', 'tool_not_bound'],
    ['WebFetch', 'tool_not_granted'],
  ])('refuse %s as %s, even under a policy that allows everything', (tool, code) => {
    const decided = ask(given(...running()), { tool, input: {} }, rules({ tools: [{ match: ['*'], action: 'allow' }] }));
    expect([decision(decided)?.source, codeOf(decided)]).toEqual(['capability', code]);
  });
  it('the trust tier stands above policy, grants and observe mode', () => {
    const readOnly = rules({ tools: [{ match: ['*'], action: 'allow' }], mode: 'observe' }, { trustTier: 'read_only' });
    const decided = ask(given(...running()), { tool: 'Write', input: { file_path: '/workspace/a' } }, readOnly);
    expect(decision(decided)).toMatchObject({ verdict: 'deny', source: 'trust_tier', original_verdict: 'allow' });
    expect(codeOf(ask(given(...running()), { tool: 'Read', input: { file_path: '/workspace/a' } }, readOnly))).toBe('allowed');
  });
  it('observe mode lets pass what the policy would not, and says so', () => {
    const observing = (command: string) => decision(ask(given(...running()), bash(command), rules({ mode: 'observe' })));
    expect(observing('curl x')).toMatchObject({ verdict: 'allow', source: 'observe', original_verdict: 'deny' });
    expect(observing('git push')).toMatchObject({ verdict: 'allow', source: 'observe', original_verdict: 'ask' });
    expect(observing('ls')).toMatchObject({ verdict: 'allow', source: 'policy' });
  });
  it('what the history does not allow nobody is asked about; a grant does not lift it, and observe mode says what it would have been', () => {
    const tools = [{ match: ['Bash'], action: 'ask' as const, history: { count: { max: 1 } }, approval_scope: 'session' as const }];
    const first = ask(given(...running()), bash('ls', 'a'), rules({ tools }));
    expect(dataOf(first, 'tool.requested')).toMatchObject({ matches: ['0.count'] });
    const second = ask(after(given(...running()), first), bash('ls x', 'b'), rules({ tools }));
    expect(decision(second)).toMatchObject({ verdict: 'deny', source: 'policy', rule: { index: 0, part: 'history.count' } });
    expect(second.result).toMatchObject({ message: expect.stringContaining('1 of 1 calls of this rule') });
    const observed = ask(after(given(...running()), first), bash('ls x', 'b'), rules({ tools, mode: 'observe' }));
    expect(decision(observed)).toMatchObject({ verdict: 'allow', source: 'observe', original_verdict: 'deny' });
  });
  it('an autonomous run gets the fallback, and both verdicts are recorded', () => {
    const unattended = (fallback: 'allow' | 'deny') =>
      ask(given(...running()), bash('git push'), rules({ autonomy: { on_approval_rule: fallback } }, { autonomy: 'autonomous' }));
    expect(decision(unattended('deny'))).toMatchObject({ verdict: 'deny', source: 'autonomy_rewrite', original_verdict: 'ask' });
    expect(decision(unattended('allow'))).toMatchObject({ verdict: 'allow', source: 'autonomy_rewrite', original_verdict: 'ask' });
  });
});

describe('grants', () => {
  const approved = (scope: 'once' | 'session') => {
    const run = given(...running());
    const pending = after(run, ask(run, bash('git push', 'a')));
    return recorded(
      stream,
      [
        draft('approval.decided', {
          approval_id: `apr_${runId}_a`,
          tool_call_id: 'a',
          decision: 'approved',
          scope,
          decided_by: 'grace',
        }),
        draft('tool.decision', {
          tool_call_id: 'a',
          tool: 'Bash',
          verdict: 'allow',
          source: 'approval',
          input_digest: digestOf({ command: 'git push' }),
          code: 'approved',
        }),
      ],
      { after: pending.version, at: new Date(at) },
    ).reduce(evolveRun, pending);
  };
  it('for the run let the same action pass and name the approval', () => {
    expect(decision(ask(approved('session'), bash('git push origin main', 'b')))).toMatchObject({
      verdict: 'allow',
      source: 'session_grant',
      approval_id: `apr_${runId}_a`,
      original_verdict: 'ask',
    });
  });
  it.each(['git push --force', 'git push && node x.js', 'curl x'])('fit no other action: %s', (command) => {
    expect(decision(ask(approved('session'), bash(command, 'b')))?.verdict).not.toBe('allow');
  });
  it('once is once', () => {
    expect(typesOf(ask(approved('once'), bash('git push', 'b')))).toEqual(['tool.requested', 'approval.requested']);
  });
  it('never reach another run', () => {
    expect(typesOf(ask(given(...running()), bash('git push', 'b')))).toEqual(['tool.requested', 'approval.requested']);
  });
  it('do not lift a denial', () => {
    expect(codeOf(ask(approved('session'), bash('git push', 'b'), rules({ tools: [{ match: ['Bash'], action: 'deny' }] })))).toBe(
      'policy_denied',
    );
  });
});

describe('the same call id', () => {
  const asked = () => {
    const run = given(...running());
    return after(run, ask(run, bash('git push')));
  };
  it('with the same input waits on, without a second approval', () => {
    expect(ask(asked(), bash('git push'))).toMatchObject({ events: [], result: { kind: 'pending' } });
  });
  it.each([bash('ls'), { tool: 'Read', input: { command: 'git push' } }])(
    'with another tool or input is a violation, recorded once; the first stays: %j',
    (call) => {
      const first = ask(asked(), call);
      expect([codeOf(first), typesOf(first), decision(first)?.source]).toEqual([
        'protocol_violation',
        ['tool.requested', 'tool.decision'],
        'protocol_violation',
      ]);
      const later = after(asked(), first);
      expect(ask(later, call)).toMatchObject({ events: [], result: { kind: 'denied', code: 'protocol_violation' } });
      expect(ask(later, bash('git push')).result).toMatchObject({ kind: 'pending' });
      expect(later.calls.size).toBe(1);
    },
  );
  it('cannot be used to fill the ledger', () => {
    let run = asked();
    for (let i = 0; i < refusalsRecordedMax; i++) run = after(run, ask(run, bash(`ls ${i}`)));
    expect(ask(run, bash('ls one more'))).toMatchObject({ events: [], result: { code: 'protocol_violation' } });
  });
  it('that was allowed does not start after the run has wound down; a denial stays what it was', () => {
    const ending = status('running', 'cancelling', { outcome: 'cancelled' });
    const run = given(...running());
    const allowed = after(run, ask(run, bash('ls')));
    expect(codeOf(ask(recorded(stream, [ending], { after: allowed.version }).reduce(evolveRun, allowed), bash('ls')))).toBe(
      'session_terminal',
    );
    const other = given(...running());
    const denied = after(other, ask(other, bash('curl x')));
    expect(codeOf(ask(recorded(stream, [ending], { after: denied.version }).reduce(evolveRun, denied), bash('curl x')))).toBe('stored');
  });
});

describe('guards', () => {
  const guarded = rules({ guards: { same_call: 5, denials: 5 } });
  const repeat = (command: (i: number) => string, times: number) => {
    let run = given(...running({ max_tool_calls: null }));
    const seen: string[][] = [];
    for (let i = 0; i < times; i++) {
      const decided = ask(run, bash(command(i), `c${i}`), guarded);
      seen.push(
        typesOf(decided)
          .slice(2)
          .concat(typesOf(decided)[1] === 'guard.warned' ? 'guard.warned' : []),
      );
      run = after(run, decided);
    }
    return { run, seen };
  };
  it('warn of, then stop the same call again and again', () => {
    const { run, seen } = repeat(() => 'ls', 5);
    expect(seen.map((types) => types.filter((type) => type.startsWith('guard.')))).toEqual([
      [],
      [],
      [],
      ['guard.warned'],
      ['guard.tripped'],
    ]);
    expect(run.modelAccessEnded).toBe('guard');
    expect(decision(ask(run, bash('ls x', 'z'), guarded))?.source).toBe('session_terminal');
  });
  it('warn of, then stop an agent that is refused again and again', () => {
    const { run, seen } = repeat((i) => `curl ${i}`, 5);
    expect(seen.map((types) => types.filter((type) => type.startsWith('guard.')))).toEqual([
      [],
      [],
      [],
      ['guard.warned'],
      ['guard.tripped'],
    ]);
    expect(run.exceeded.has('denials')).toBe(true);
  });
  it('leave an agent alone that does different things', () => {
    expect(
      repeat((i) => `ls ${i}`, 20)
        .seen.flat()
        .filter((type) => type.startsWith('guard.')),
    ).toEqual([]);
    expect(repeat((i) => (i % 2 ? `curl ${i}` : 'ls'), 20).run.modelAccessEnded).toBeNull();
  });
});
