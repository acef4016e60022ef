import { randomBytes } from 'node:crypto';
import { type EventDraft, Problem, RunId, runStream, type ServiceName } from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore } from '@fluidbox/event-store';
import { callCounts, decisionCounts, type RunState, runFold } from '@fluidbox/run-stream';
import { kekFromBytes, saltedDigest } from '@fluidbox/seal';
import { fakeClock, sequentialIds } from '@fluidbox/testing';
import { frozenRules } from '../adapters/frozen-rules';
import { evaluateEdit } from './evaluate-edit';
import type { Ports } from './ports';
import { requestPermission } from './request-permission';
import { type RunningRun, scriptedHarness, startRun } from './running-run.fixture';

const runId = RunId.parse('0198b3a0-0000-7000-8000-000000000002');
const stream = runStream(runId, 'default');
const digest = `sha256:${'a'.repeat(64)}`;
const draft = (type: string, data: Record<string, unknown>, content?: unknown) =>
  ({ type, actor: 'service:test', data, ...(content === undefined ? {} : { content }) }) as unknown as EventDraft;

/** The real use case on a real ledger, as two gate processes with caches of their own would see it. */
async function world({ maxToolCalls = 20, ...run }: Partial<RunningRun> = {}) {
  const clock = fakeClock();
  const ids = sequentialIds();
  const store = createMemoryStore();
  const keyring = createKekKeyring({ store, kek: kekFromBytes(randomBytes(32)), clock });
  const ledgerOf = (service: ServiceName) => createLedger({ store, keyring, clock, ids, service });
  const runs = ledgerOf('runs');
  const approvals = ledgerOf('approvals');
  await startRun(runs, { runId, now: clock.now().getTime(), maxToolCalls, ...run });
  const portsOf = (): Ports => ({ ledger: ledgerOf('gate'), clock, rulesOf: frozenRules(store) });
  const [one, two] = [portsOf(), portsOf()];
  const request = (
    command: string,
    id = 'toolu_1',
    more: Partial<Parameters<typeof requestPermission>[1]> = {},
  ): Parameters<typeof requestPermission>[1] => ({
    run_id: runId,
    org: 'default',
    generation: 1,
    tool_call_id: id,
    tool: 'Bash',
    input: { command },
    mended: false,
    ...more,
  });
  const settle = (
    id: string,
    decision: 'approved' | 'denied',
    edited?: { input: Record<string, unknown>; digest: string },
    scope: 'once' | 'session' = 'once',
  ) =>
    approvals.decide(runFold, stream, (run) => ({
      result: undefined,
      events: [
        draft(
          'approval.decided',
          {
            approval_id: `apr_${runId}_${id}`,
            tool_call_id: id,
            decision,
            scope,
            decided_by: 'grace',
            ...(edited === undefined ? {} : { edited_digest: edited.digest }),
          },
          { comment: null, edited_input: edited?.input ?? null },
        ),
        draft(
          'tool.decision',
          {
            tool_call_id: id,
            tool: 'Bash',
            verdict: decision === 'approved' ? 'allow' : 'deny',
            source: 'approval',
            input_digest: run.calls.get(id)?.inputDigest ?? digest,
            code: decision,
            ...(edited === undefined ? {} : { edited_digest: edited.digest }),
          },
          { reason: 'by grace', message: 'a person denied this call' },
        ),
      ],
    }));
  const state = async (): Promise<RunState> => (await runs.state(runFold, stream, { fresh: true })).state;
  return { clock, store, one, two, request, settle, state, runs };
}

describe('asking for permission', () => {
  it('allows, and the record says what policy looked at', async () => {
    const { one, request, store } = await world();
    expect(await requestPermission(one, request('ls -la'))).toEqual({ status: 'decided', answer: { decision: 'allow' } });
    const events = await store.read(stream, { after: 3 });
    expect(events.map((event) => event.type)).toEqual(['tool.requested', 'tool.decision']);
    expect(await one.ledger.content(stream, 4, 'projection')).toMatchObject({ tool: 'Bash', shell: { commands: [{ text: 'ls -la' }] } });
    expect(await one.ledger.content(stream, 4, 'rest')).toEqual({ input: { command: 'ls -la' }, summary: 'Bash: ls -la' });
    expect(JSON.stringify(events)).not.toContain('ls -la');
    expect(events[1]?.data).toMatchObject({ rule: { index: 0, line: 4 } });
  });

  it('gives the same answer again, whichever process is asked, with the first message and without another event', async () => {
    const { one, two, request, store } = await world();
    const first = await requestPermission(one, request('curl http://h.example'));
    expect(first).toMatchObject({ answer: { decision: 'deny', code: 'policy_denied', message: expect.stringContaining('no network') } });
    const head = await store.head(stream);
    expect(await requestPermission(one, request('curl http://h.example'))).toEqual(first);
    expect(await requestPermission(two, request('curl http://h.example'))).toEqual(first);
    expect(await store.head(stream)).toEqual(head);
  });

  it('asked twice at once is decided once', async () => {
    const { one, two, request, store } = await world();
    const answers = await Promise.all([one, two, one, two].map((ports) => requestPermission(ports, request('git push'))));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect((await store.read(stream, { after: 3 })).map((event) => event.type)).toEqual(['tool.requested', 'approval.requested']);
  });

  it('parallel calls cannot overshoot the budget', async () => {
    const { one, two, request, state } = await world({ maxToolCalls: 5 });
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, i) => requestPermission(i % 2 ? one : two, request(`echo ${i}`, `c${i}`))),
    );
    const allowed = answers.filter((answer) => answer.status === 'decided' && answer.answer.decision === 'allow');
    expect(allowed).toHaveLength(5);
    const run = await state();
    expect(decisionCounts(run)).toEqual({ allow: 5, deny: 11, ask: 0 });
    expect([...run.exceeded]).toEqual(['tool_calls']);
    expect(callCounts(run).model).toBe(0);
  });

  it('waits for a person, then hands on what the person decided, though the log has not spoken yet', async () => {
    const { one, request, settle } = await world();
    expect(await requestPermission(one, request('git push'))).toMatchObject({ status: 'pending', approval_id: `apr_${runId}_toolu_1` });
    expect(await requestPermission(one, request('git push'))).toMatchObject({ status: 'pending' });
    await settle('toolu_1', 'approved');
    expect(await requestPermission(one, request('git push'))).toEqual({ status: 'decided', answer: { decision: 'allow' } });
    await requestPermission(one, request('git push', 'b'));
    await settle('b', 'denied');
    expect(await requestPermission(one, request('git push', 'b'))).toEqual({
      status: 'decided',
      answer: { decision: 'deny', message: 'a person denied this call', code: 'denied' },
    });
  });

  it('finds a grant for the run by the digest of its key, which only the run’s salt can make; what it covers is content', async () => {
    const { one, two, request, settle, store } = await world();
    await requestPermission(one, request('git push origin main'));
    expect(await requestPermission(one, request('git push origin next', 'b'))).toMatchObject({ status: 'pending' });
    await settle('toolu_1', 'approved', undefined, 'session');
    expect(await requestPermission(two, request('git push origin other', 'c'))).toEqual({
      status: 'decided',
      answer: { decision: 'allow' },
    });
    expect(await requestPermission(two, request('git push --force', 'd'))).toMatchObject({ status: 'pending' });
    const events = await store.read(stream);
    expect(JSON.stringify(events)).not.toMatch(/Bash:git push|origin (main|next|other)|--force/);
    const asked = events.filter(({ type }) => type === 'approval.requested');
    const [first, second, forced] = asked.map(({ data }) => data.scope_digest);
    expect([second === first, forced === first]).toEqual([true, false]);
    expect(first).not.toBe(saltedDigest(Buffer.alloc(0), 'Bash:git push'));
    expect(await one.ledger.content(stream, asked[0]?.seq ?? 0, 'rest')).toMatchObject({ scope_key: 'Bash:git push' });
  });

  it('hands on the input that a person wrote instead', async () => {
    const { one, request, settle } = await world();
    await requestPermission(one, request('git push --all'));
    const input = { command: 'git push origin main' };
    const edit = await evaluateEdit(one, { run_id: runId, org: 'default', tool_call_id: 'toolu_1', input });
    expect(edit).toMatchObject({ verdict: 'ask' });
    await settle('toolu_1', 'approved', { input, digest: edit.edited_digest });
    expect(await requestPermission(one, request('git push --all'))).toEqual({
      status: 'decided',
      answer: { decision: 'allow', updated_input: input },
    });
    expect(await requestPermission(one, request('git push origin main'))).toMatchObject({ answer: { code: 'protocol_violation' } });
  });

  it('an edit that the rules deny is told so, and appends nothing', async () => {
    const { one, request, store } = await world();
    await requestPermission(one, request('git push'));
    const head = await store.head(stream);
    expect(await evaluateEdit(one, { run_id: runId, org: 'default', tool_call_id: 'toolu_1', input: { command: 'curl x' } })).toMatchObject(
      { verdict: 'deny', reason: expect.stringContaining('curl') },
    );
    expect(await store.head(stream)).toEqual(head);
    await expect(evaluateEdit(one, { run_id: runId, org: 'default', tool_call_id: 'nope', input: {} })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('an edit that the harness could not run is denied, whatever it says', async () => {
    const { one, request } = await world({ spec: { harness: { ...scriptedHarness, runs_edits: false } } });
    await requestPermission(one, request('git push'));
    expect(await evaluateEdit(one, { run_id: runId, org: 'default', tool_call_id: 'toolu_1', input: { command: 'ls' } })).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('cannot run an edited call'),
    });
  });

  it('an edit that is no call of its tool is denied, naming the field', async () => {
    const { one, request } = await world();
    await requestPermission(one, request('git push'));
    const edit = (input: Record<string, unknown>) => evaluateEdit(one, { run_id: runId, org: 'default', tool_call_id: 'toolu_1', input });
    expect(await edit({ cmd: 'ls' })).toMatchObject({ verdict: 'deny', reason: '/command: a Bash call needs a command' });
    expect(await edit({ command: 'ls' })).toMatchObject({ verdict: 'allow' });
  });

  it.each([
    ['another generation', { generation: 2 }, 'stale_lease'],
    ['another run', { run_id: RunId.parse('0198b3a0-0000-7000-8000-00000000000f') }, 'not_found'],
    ['another organisation', { org: 'other' }, 'not_found'],
  ])('refuses %s', async (_what, more, code) => {
    const { one, request, store } = await world();
    await expect(requestPermission(one, request('ls', 'a', more))).rejects.toMatchObject({ code });
    expect((await store.head(stream))?.version).toBe(3);
  });

  it('believes a lease that was extended a moment ago', async () => {
    const { one, request, runs, clock } = await world();
    await requestPermission(one, request('ls', 'a'));
    await runs.decide(runFold, stream, () => ({
      result: undefined,
      events: [draft('lease.granted', { generation: 1, valid_until: new Date(clock.now().getTime() + 2_000_000).toISOString() })],
    }));
    clock.advance(950_000);
    const answer = await requestPermission(one, request('ls', 'b'));
    expect(answer).toMatchObject({ answer: { code: 'wall_clock_exceeded' } });
    clock.advance(2_000_000);
    await expect(requestPermission(one, request('ls', 'c'))).rejects.toBeInstanceOf(Problem);
  });

  it('says that the run has ended after its stream is closed, and stores nothing', async () => {
    const { one, request, runs, store } = await world();
    await requestPermission(one, request('ls', 'before'));
    await runs.decide(runFold, stream, () => ({
      closes: true,
      result: undefined,
      events: [
        draft('session.status_changed', { from: 'running', to: 'finalizing', reason: 'runner_result', outcome: 'failed' }),
        draft('session.status_changed', { from: 'finalizing', to: 'failed', reason: 'collected', outcome: 'failed' }),
      ],
    }));
    // This process has not heard of it.
    expect(await requestPermission(one, request('ls'))).toEqual({
      status: 'decided',
      answer: { decision: 'deny', code: 'session_terminal', message: expect.any(String) },
    });
    expect(await requestPermission(one, request('ls', 'x'))).toMatchObject({ answer: { code: 'session_terminal' } });
    expect((await store.head(stream))?.version).toBe(7);
  });
});

describe('what the call may be compared with', () => {
  it('nothing for a tool that is named like a part of every object; it is decided like any other', async () => {
    const { one, request } = await world({ spec: { harness: { ...scriptedHarness, compared_fields: { Bash: ['command'] } } } });
    for (const [n, tool] of ['constructor', 'toString', '__proto__'].entries())
      expect(await requestPermission(one, request('ls', `c${n}`, { tool }))).toMatchObject({
        status: 'decided',
        answer: { decision: 'deny' },
      });
  });

  it('the digests of its fields, where the harness names some; the digest is that of the field alone', async () => {
    const { one, request, store } = await world({
      spec: { harness: { ...scriptedHarness, compared_fields: { Bash: ['command', 'timeout'] } } },
    });
    await requestPermission(one, request('ls', 'a', { input: { command: 'ls', description: 'd' } }));
    await requestPermission(one, request('ls', 'b', { tool: 'Read', input: { file_path: '/workspace/a' } }));
    const keys = await one.ledger.keyring.keysOf(`run-${runId}`);
    const requested = (await store.read(stream, { after: 3 })).filter((event) => event.type === 'tool.requested');
    expect(requested.map((event) => (event.data as { input_fields?: unknown }).input_fields)).toEqual([
      { command: keys.digest('ls') },
      undefined,
    ]);
  });
});

describe('paths behind symlinks', () => {
  const policy = `name: test
tools:
  - { match: [Read, Write], action: allow, paths: { allow: ["/workspace/**"], deny: ["**/.env"] } }
`;
  const spec = { tool_surface: ['Read', 'Write'] };
  const read = { tool: 'Read', input: { file_path: '/workspace/notes' } };

  it('are judged beside the path as written: the stricter of the two has the word', async () => {
    const { one, request } = await world({ policy, spec });
    const ask = (id: string, resolved?: string[], more = {}) =>
      requestPermission(one, request('', id, { ...read, ...(resolved === undefined ? {} : { resolved_paths: resolved }), ...more }));
    expect(await ask('raw')).toMatchObject({ answer: { decision: 'allow' } });
    expect(await ask('same', ['/workspace/docs/notes'])).toMatchObject({ answer: { decision: 'allow' } });
    expect(await ask('denied', ['/workspace/.env'])).toMatchObject({ answer: { decision: 'deny', code: 'policy_denied' } });
    expect(await ask('outside', ['/etc/passwd'])).toMatchObject({ status: 'pending' });
    // Never instead of it.
    expect(await ask('rawdenied', ['/workspace/fine'], { input: { file_path: '/workspace/.env' } })).toMatchObject({
      answer: { decision: 'deny' },
    });
    expect(await one.ledger.content(stream, 4, 'projection')).toMatchObject({ paths: [{ path: '/workspace/notes' }] });
  });

  it('are no part of what makes a retry the same call', async () => {
    const { one, request, store } = await world({ policy, spec });
    const first = await requestPermission(one, request('', 'a', { ...read, resolved_paths: ['/workspace/b'] }));
    const head = await store.head(stream);
    expect(await requestPermission(one, request('', 'a', { ...read, resolved_paths: ['/etc/passwd'] }))).toEqual(first);
    expect(await store.head(stream)).toEqual(head);
  });
});

describe('history rules', () => {
  const history = (rule: string) => `name: test
tools:
  - { match: [Bash], action: allow, shell: { allow: [echo, npm test], ask: [git push], on_no_match: allow }, history: ${rule} }
`;
  const decided = (answers: readonly Awaited<ReturnType<typeof requestPermission>>[], decision: 'allow' | 'deny') =>
    answers.filter((answer) => answer.status === 'decided' && answer.answer.decision === decision).length;

  it('[GATE-5] 20 parallel calls against a count of 5 are 5, whichever process they came to', async () => {
    const { one, two, request, state } = await world({ policy: history('{ count: { max: 5 } }'), maxToolCalls: 100 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => requestPermission(i % 2 ? one : two, request(`echo ${i}`, `c${i}`))),
    );
    expect([decided(answers, 'allow'), decided(answers, 'deny')]).toEqual([5, 15]);
    expect(decisionCounts(await state())).toEqual({ allow: 5, deny: 15, ask: 0 });
  });

  it('[GATE-5] a call that waits for a person holds its place until it is denied', async () => {
    const { one, two, request, settle } = await world({ policy: history('{ count: { max: 1 } }') });
    expect(await requestPermission(one, request('git push', 'a'))).toMatchObject({ status: 'pending' });
    expect(await requestPermission(two, request('echo 1', 'b'))).toMatchObject({ answer: { decision: 'deny', code: 'policy_denied' } });
    await settle('a', 'denied');
    expect(await requestPermission(two, request('echo 1', 'c'))).toMatchObject({ answer: { decision: 'allow' } });
  });

  it('what is required must have been allowed before, and reported as it must', async () => {
    const policy = `name: test
tools:
  - { match: [Read], action: allow, history: { requires: { tool: Bash, command: npm test, ok: true, within_secs: 60 } } }
  - { match: [Bash], action: allow }
`;
    const { one, two, request, runs, clock } = await world({ policy });
    const read = (id: string) => requestPermission(two, request('', id, { tool: 'Read', input: { file_path: '/workspace/a' } }));
    const report = (id: string, ok: boolean) =>
      runs.record(stream, [draft('tool.completed', { tool_call_id: id, tool: 'Bash', ok, reported_by: 'runner' }, { summary: '' })]);
    expect(await read('r1')).toMatchObject({ answer: { decision: 'deny' } });
    await requestPermission(one, request('npm test', 't1'));
    expect(await read('r2')).toMatchObject({ answer: { decision: 'deny' } });
    await report('t1', false);
    expect(await read('r3')).toMatchObject({ answer: { decision: 'deny' } });
    await requestPermission(one, request('npm test', 't2'));
    await report('t2', true);
    // A process that has heard nothing yet decides at the version it appends to, so it reads what it missed.
    expect(await read('r4')).toMatchObject({ answer: { decision: 'allow' } });
    clock.advance(61_000);
    expect(await read('r5')).toMatchObject({ answer: { decision: 'deny' } });
  });

  it('an edit is judged without its own place, and says what it counts for', async () => {
    const { one, request } = await world({ policy: history('{ count: { max: 1 } }') });
    await requestPermission(one, request('git push', 'a'));
    const edit = await evaluateEdit(one, { run_id: runId, org: 'default', tool_call_id: 'a', input: { command: 'echo pushed' } });
    expect(edit).toMatchObject({ verdict: 'allow', history: { matches: ['0.count'], at_version: 5 } });
  });

  it('a policy without history writes nothing of the kind', async () => {
    const { one, request, store } = await world();
    await requestPermission(one, request('ls'));
    expect((await store.read(stream, { after: 3 })).map((event) => 'matches' in (event.data as object))).toEqual([false, false]);
    const edit = await evaluateEdit(one, { run_id: runId, org: 'default', tool_call_id: 'toolu_1', input: { command: 'ls' } });
    expect(edit.history).toBeUndefined();
  });
});

describe('brokered tools, through a frozen spec that has some', () => {
  const policy = `name: test
tools:
  - { match: ["mcp__*"], action: allow }
`;
  const spec = {
    tool_surface: ['Bash', 'mcp__shop__order', 'mcp__shop__bare', 'mcp__shop__odd'],
    tool_schemas: {
      mcp__shop__order: {
        type: 'object',
        properties: { sku: { type: 'string' }, note: { type: 'string', maxLength: 5 } },
        required: ['sku'],
      },
      mcp__shop__odd: { $ref: 'https://h.example/schema.json' },
      mcp__shop__hidden: { type: 'object' },
    },
  };
  const brokered = async (more: Partial<RunningRun> = {}) => {
    const { one, request, store } = await world({ policy, spec: { ...spec, ...more.spec } });
    let id = 0;
    const ask = async (tool: string, input: Record<string, unknown>) => requestPermission(one, request('', `m${++id}`, { tool, input }));
    const decision = async () => (await store.read(stream, { after: 3 })).filter((event) => event.type === 'tool.decision').at(-1)?.data;
    return { ask, decision, one };
  };

  it('are called with what the frozen schema takes; the fault is named by place, never by value', async () => {
    const { ask, decision } = await brokered();
    expect(await ask('mcp__shop__order', { sku: 'A1' })).toEqual({ status: 'decided', answer: { decision: 'allow' } });
    const refused = await ask('mcp__shop__order', { sku: 'A1', note: 'hunter2-hunter2' });
    expect(refused).toMatchObject({ answer: { decision: 'deny', code: 'invalid_input', message: expect.stringContaining('/note') } });
    expect(JSON.stringify(refused)).not.toContain('hunter2');
    expect(await decision()).toMatchObject({ verdict: 'deny', source: 'schema', code: 'invalid_input' });
    expect(await ask('mcp__shop__order', {})).toMatchObject({ answer: { message: expect.stringContaining('/sku is missing') } });
  });

  it('outside of the frozen surface cannot be called, though a schema of theirs is frozen', async () => {
    const { ask, decision } = await brokered();
    expect(await ask('mcp__shop__hidden', {})).toMatchObject({ answer: { decision: 'deny', code: 'tool_not_bound' } });
    expect(await decision()).toMatchObject({ source: 'capability' });
  });

  it('without a schema, or with one that does not compile, cannot be called; their neighbours can', async () => {
    const { ask, decision } = await brokered();
    expect(await ask('mcp__shop__bare', {})).toMatchObject({ answer: { decision: 'deny', code: 'schema_missing' } });
    expect(await ask('mcp__shop__odd', {})).toMatchObject({
      answer: { decision: 'deny', code: 'invalid_input', message: expect.stringContaining('refresh the snapshot') },
    });
    expect(await decision()).toMatchObject({ source: 'schema' });
    expect(await ask('mcp__shop__order', { sku: 'A1' })).toMatchObject({ answer: { decision: 'allow' } });
  });

  it('are not for a run that may only read', async () => {
    const { ask, decision } = await brokered({ spec: { trust_tier: 'read_only' } });
    expect(await ask('mcp__shop__order', { sku: 'A1' })).toMatchObject({ answer: { decision: 'deny', code: 'read_only' } });
    expect(await decision()).toMatchObject({ source: 'trust_tier', original_verdict: 'allow' });
  });

  it('are held to it when a person edits them, too', async () => {
    const { one } = await brokered();
    const asked = {
      run_id: runId,
      org: 'default',
      generation: 1,
      tool_call_id: 'e',
      tool: 'mcp__shop__order',
      input: { sku: 'A1' },
      mended: false,
    } as const;
    await requestPermission(one, asked);
    const edit = (input: Record<string, unknown>) => evaluateEdit(one, { run_id: runId, org: 'default', tool_call_id: 'e', input });
    expect(await edit({ sku: 7 })).toMatchObject({ verdict: 'deny', reason: expect.stringContaining('/sku') });
    expect(await edit({ sku: 'B2' })).toMatchObject({ verdict: 'allow' });
  });
});
