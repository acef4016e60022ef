import { processesOfRun } from './support/recovery/processes-of-run';
import type { SystemStack } from './support/stack';
import { runWire, startWireStack, typesOf } from './support/wire-run';

const permission = '/internal/sessions/{id}/permission';
const events = '/internal/sessions/{id}/events';
const other = '00000000-0000-4000-8000-000000000000';
const bash = (id: string, command: string) => ({ tool_call_id: id, tool: 'Bash', input: { command } });

describe('the runner plane against whoever speaks to it', () => {
  let stack: SystemStack;

  beforeAll(async () => {
    stack = await startWireStack({ FLUIDBOX_HEARTBEAT_SILENCE_SECS: '8' });
  });
  afterAll(() => stack.stop());

  it('[RUNNER-1] refuses a token of another audience with the exact body, and admits the right one', async () => {
    const { answers } = await runWire(stack.admin, 'wire', {
      steps: [
        {
          name: 'tool at events',
          as: 'tool',
          path: events,
          body: { body: { type: 'agent.message', data: { role: 'assistant', text: 'x' } } },
        },
        { name: 'control at permission', as: 'control', path: permission, body: bash('c1', 'ls') },
        { name: 'tool at llm', as: 'tool', path: '/internal/llm/v1/messages', socket: 'llm', body: { model: 'none', messages: [] } },
        { name: 'llm at permission', as: 'llm', path: permission, body: bash('c1', 'ls') },
        { name: 'llm at workspace', as: 'llm', method: 'GET', path: '/internal/sessions/{id}/workspace' },
        { name: 'right', as: 'tool', path: permission, body: bash('c1', 'ls') },
        { name: 'no token', path: permission, body: bash('c2', 'ls') },
        { name: 'garbage token', as: 'not-a-token', path: permission, body: bash('c3', 'ls') },
      ],
    });
    const wrong = { status: 403, text: '{"error":"wrong_audience"}' };
    for (const name of ['tool at events', 'control at permission', 'tool at llm', 'llm at permission', 'llm at workspace'])
      expect({ name, ...answers[name] }).toEqual({ name, ...wrong });
    expect(answers.right).toEqual({ status: 200, text: '{"decision":"allow"}' });
    expect(answers['no token']?.status).toBe(401);
    expect(answers['garbage token']?.status).toBe(401);
  });

  it('[RUNNER-2] cannot forge events, reach another run, or choose its outcome', async () => {
    const forged = (type: string, data: Record<string, unknown>) => ({
      as: 'control',
      path: events,
      body: { actor: 'human', body: { type, data } },
    });
    const {
      answers,
      events: recorded,
      id,
    } = await runWire(stack.admin, 'wire', {
      steps: [
        { name: 'approval.decided', ...forged('approval.decided', { approval_id: 'apr_x', decision: 'approved' }) },
        { name: 'tool.decision', ...forged('tool.decision', { tool_call_id: 'c1', verdict: 'allow' }) },
        { name: 'budget.settled', ...forged('budget.settled', {}) },
        { name: 'session.status_changed', ...forged('session.status_changed', { to: 'completed' }) },
        { name: 'tool.requested', ...forged('tool.requested', { tool_call_id: 'c1' }) },
        { name: 'other run', as: 'tool', path: permission.replace('{id}', other), body: bash('c1', 'ls') },
        { name: 'own cancelled', as: 'control', path: '/internal/sessions/{id}/result', body: { outcome: 'cancelled' } },
        { name: 'own budget', as: 'control', path: '/internal/sessions/{id}/result', body: { outcome: 'budget_exceeded' } },
        {
          name: 'honest message',
          as: 'control',
          path: events,
          body: { body: { type: 'agent.message', data: { role: 'assistant', text: 'hello' } } },
        },
      ],
    });
    for (const type of ['approval.decided', 'tool.decision', 'budget.settled', 'session.status_changed'])
      expect({ type, status: answers[type]?.status }).toEqual({ type, status: 422 });
    expect(JSON.parse(answers['tool.requested']?.text ?? '')).toEqual({ seq: null, dropped: 'tool.requested' });
    expect(answers['other run']?.status).toBe(404);
    expect(answers['own cancelled']?.status).toBe(422);
    expect(answers['own budget']?.status).toBe(422);
    expect(answers['honest message']?.status).toBe(200);
    for (const type of ['approval.decided', 'tool.decision', 'budget.settled', 'tool.requested'])
      expect(typesOf(recorded, type)).toEqual([]);
    expect(typesOf(recorded, 'agent.message')).toHaveLength(1);
    expect((await stack.admin.session(id)).outcome).toBe('completed');
  });

  it('[GATE-3] [GATE-4] gives a retry the same answer, and a reused id with other input a violation', async () => {
    const { answers, events: recorded } = await runWire(stack.admin, 'wire', {
      steps: [
        { name: 'first', as: 'tool', path: permission, body: bash('c1', 'ls') },
        { name: 'retry', as: 'tool', path: permission, body: bash('c1', 'ls') },
        { name: 'other input', as: 'tool', path: permission, body: bash('c1', 'ls -la') },
        { name: 'other input again', as: 'tool', path: permission, body: bash('c1', 'ls -la') },
        { name: 'first again', as: 'tool', path: permission, body: bash('c1', 'ls') },
        { name: 'bad id', as: 'tool', path: permission, body: bash('no spaces', 'ls') },
      ],
    });
    expect(answers.retry).toEqual(answers.first);
    expect(answers['first again']).toEqual(answers.first);
    expect(JSON.parse(answers['other input']?.text ?? '')).toMatchObject({ decision: 'deny' });
    expect(answers['other input again']).toEqual(answers['other input']);
    expect(answers['bad id']?.status).toBe(422);
    expect(typesOf(recorded, 'tool.requested')).toHaveLength(2);
    expect(typesOf(recorded, 'tool.decision').map((event) => event.data.source)).toEqual(['policy', 'protocol_violation']);
  });

  it('[BUDGET-2] cannot be overshot by parallel calls', async () => {
    const parallel = Array.from({ length: 12 }, (_, index) => ({
      as: 'tool',
      path: permission,
      body: bash(`c${index}`, `ls dir${index}`),
    }));
    const {
      answers,
      events: recorded,
      id,
    } = await runWire(stack.admin, 'wire', { steps: [{ name: 'burst', parallel }] }, { budgets: { max_tool_calls: 5 } });
    const allowed = (answers.burst ?? []).filter((answer) => answer.text?.includes('"allow"'));
    expect(allowed).toHaveLength(5);
    expect(typesOf(recorded, 'tool.decision').filter((event) => event.data.verdict === 'allow')).toHaveLength(5);
    expect(typesOf(recorded, 'budget.exceeded')).toHaveLength(1);
    expect((await stack.admin.session(id)).outcome).toBe('budget_exceeded');
  });

  it('H-DB-01 · a NUL in what an agent says or asks stops nothing: a sign stands in its place, and the next event has the next number', async () => {
    const says = (text: string) => ({
      as: 'control',
      path: events,
      body: { body: { type: 'agent.message', data: { role: 'assistant', text } } },
    });
    const { answers, events: recorded } = await runWire(stack.admin, 'wire', {
      steps: [
        { name: 'in a text', ...says('a\u0000b') },
        { name: 'six visible characters', ...says('a\\u0000b') },
        {
          name: 'in a key',
          as: 'tool',
          path: permission,
          body: { tool_call_id: 'c1', tool: 'Bash', input: { command: 'curl x', 'k\u0000': 1 } },
        },
        { name: 'an ordinary one', ...says('c') },
      ],
    });
    expect(Object.values(answers).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(typesOf(recorded, 'agent.message').map(({ content }) => content?.text)).toEqual(['a\u2400b', 'a\\u0000b', 'c']);
    expect(typesOf(recorded, 'tool.requested')[0]?.content?.input).toEqual({ command: 'curl x', 'k\u2400': 1 });
    expect(recorded.map(({ seq }) => seq)).toEqual(recorded.map((_, i) => i + 1));
  });

  it('[RUNNER-3] takes one result and acknowledges a second without effect', async () => {
    const result = (outcome: string) => ({ as: 'control', path: '/internal/sessions/{id}/result', body: { outcome } });
    const { answers, id } = await runWire(stack.admin, 'wire', {
      steps: [
        { name: 'first', ...result('failed') },
        { name: 'second', ...result('completed') },
      ],
      end: 'exit',
    });
    expect(answers.first?.status).toBe(200);
    expect(answers.second?.status ?? 200).toBe(200);
    expect((await stack.admin.session(id)).outcome).toBe('failed');
  });

  it('[API-1] names the field of bad input and stores nothing', async () => {
    const { answers, events: recorded } = await runWire(
      stack.admin,
      'wire',
      {
        steps: [
          { name: 'unknown key', as: 'tool', path: permission, body: { ...bash('c1', 'ls'), extra: 1 } },
          { name: 'wrong type', as: 'tool', path: permission, body: { tool_call_id: 7, tool: 'Bash', input: {} } },
          { name: 'proto', as: 'tool', path: permission, body: '{"tool_call_id":"c1","tool":"Bash","input":{},"__proto__":{"x":1}}' },
          { name: 'not json', as: 'tool', path: permission, body: '{"tool_call_id":' },
          { name: 'array', as: 'tool', path: permission, body: '[]' },
          { name: 'too big', as: 'tool', path: permission, body: bash('c1', 'ls'), padding: 2_200_000 },
          { name: 'nul in input is mended', as: 'tool', path: permission, body: bash('c9', 'ls \u0000') },
        ],
      },
      { autonomous: true },
    );
    for (const name of ['unknown key', 'wrong type', 'array'])
      expect({ name, status: answers[name]?.status }).toEqual({ name, status: 422 });
    expect(answers['unknown key']?.text).toContain('extra');
    expect(answers['wrong type']?.text).toContain('tool_call_id');
    expect(answers.proto).toMatchObject({ status: 422, text: expect.stringContaining('__proto__') });
    expect(answers['not json']?.status).toBe(400);
    // The refusal goes out while the body still comes in, so a client may see the cut connection first.
    expect([413, undefined]).toContain(answers['too big']?.status);
    expect(JSON.parse(answers['nul in input is mended']?.text ?? '{}').decision).not.toBe('allow');
    expect(typesOf(recorded, 'tool.requested').map((event) => event.data.tool_call_id)).toEqual(['c9']);
  });

  it('[RUNNER-4] ends a silent runner, and leaves one that beats alone', async () => {
    const longerThanSilence = { steps: [{ sleepMs: 10_000 }] };
    const [silent, beating] = await Promise.all([
      runWire(stack.admin, 'wire', { ...longerThanSilence, end: 'silence' }),
      runWire(stack.admin, 'wire', longerThanSilence),
    ]);
    expect(silent.events.at(-1)?.data).toMatchObject({ outcome: 'failed', reason: 'heartbeat_lost' });
    expect(typesOf(silent.events, 'sandbox.exited').map(({ data }) => data.cause)).toEqual(['stopped']);
    expect(processesOfRun(stack.home, silent.id)).toEqual([]);
    expect(beating.events.at(-1)?.data).toMatchObject({ outcome: 'completed' });
  });
});
