import type { EventView } from '@fluidbox/contracts';
import { until } from '@fluidbox/testing';
import type { SystemStack } from './support/stack';
import { runWire, startWireStack, typesOf, type WireStep } from './support/wire-run';

const command = 'touch run-by-the-runner';
const permission = '/internal/sessions/{id}/permission';

const policy = (more: string) => `
name: open
${more}
tools:
  - match: [Bash]
    action: allow
`;

/** A harness in whose place the runner stands, in the dialect of its model. */
interface Place {
  readonly harness: 'claude-agent-sdk' | 'codex';
  readonly path: string;
  /** A request with what came before, or with one result. */
  readonly body: (of?: string, result?: { text: string; isError: boolean }) => object;
  readonly refusal: { text: string; isError: boolean };
}

const claude: Place = {
  harness: 'claude-agent-sdk',
  path: '/internal/llm/v1/messages',
  body: (of, { text, isError } = { text: 'done', isError: false }) => ({
    model: 'claude-haiku-4-5',
    max_tokens: 1_000,
    tools: [{ name: 'Bash', input_schema: { type: 'object' } }],
    messages: [
      { role: 'user', content: 'go' },
      ...(of === undefined
        ? []
        : [
            { role: 'assistant', content: [{ type: 'tool_use', id: `{call of ${of}}`, name: 'Bash', input: { command } }] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: `{call of ${of}}`, content: text, is_error: isError }] },
          ]),
    ],
  }),
  refusal: { text: '<tool_use_error>Error: No such tool available: Bash</tool_use_error>', isError: true },
};
const codex: Place = {
  harness: 'codex',
  path: '/internal/llm/v1/responses',
  body: (of, { text } = { text: 'done', isError: false }) => ({
    model: 'gpt-5.5',
    max_output_tokens: 1_000,
    tools: [{ type: 'function', name: 'exec_command', parameters: { type: 'object' } }],
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] },
      ...(of === undefined
        ? []
        : [
            { type: 'function_call', call_id: `{call of ${of}}`, name: 'exec_command', arguments: JSON.stringify({ cmd: command }) },
            { type: 'function_call_output', call_id: `{call of ${of}}`, output: text },
          ]),
    ],
  }),
  refusal: { text: 'unsupported call: exec_command', isError: false },
};

const askGate = (of: string, input: object): WireStep => ({
  name: 'gate',
  as: 'tool',
  path: permission,
  body: { tool_call_id: `{call of ${of}}`, tool: 'Bash', input },
});
/** A runner in the place of a harness that does as it likes: it has the tokens, the sockets and the model. */
describe.each([claude, codex])(
  'a runner in the place of $harness that runs what the gate did not decide',
  ({ harness, path, body, refusal }) => {
    let stack: SystemStack;
    /** What the model is asked: the first turn, or the one that brings back the result of the call in `of`. */
    const ask = (name: string, of?: string, result?: Place['refusal']): WireStep => ({
      name,
      as: 'llm',
      socket: 'llm',
      path,
      body: body(of, result),
    });

    beforeAll(async () => {
      const callsOnce = (request: { messages: readonly { role: string }[] }) =>
        request.messages.length === 1 ? { tools: [{ name: 'Bash', input: { command } }] } : { text: 'done' };
      stack = await startWireStack({}, callsOnce, ({ input }) =>
        input.length === 1 ? { tools: [{ name: 'exec_command', input: { cmd: command } }] } : { text: 'done' },
      );
      await stack.admin.importPolicy('asking', {
        source: policy('').replace('name: open', 'name: asking').replace('action: allow', 'action: ask'),
      });
      await stack.admin.createAgent({ name: 'asking', harness, policy: 'asking' });
      for (const [name, more] of [
        ['open', ''],
        ['report', 'coverage: report'],
        ['strict', 'coverage: strict'],
      ] as const) {
        await stack.admin.importPolicy(name, { source: policy(more).replace('name: open', `name: ${name}`) });
        await stack.admin.createAgent({ name, harness, policy: name });
      }
    });
    afterAll(() => stack.stop());

    const calls = (events: readonly EventView[]) => {
      const { model, ...classes } = (events.at(-1)?.data.calls ?? {}) as Record<string, number>;
      // Each call in one class.
      expect(Object.values(classes).reduce((sum, count) => sum + count, 0)).toBe(model);
      return Object.fromEntries(Object.entries(classes).filter(([, count]) => count > 0));
    };
    const run = async (agent: string, steps: readonly WireStep[]) => {
      const { answers, events } = await runWire(stack.admin, agent, { steps });
      return { answers, events, ended: events.at(-1)?.data, calls: calls(events) };
    };

    it('[COVERAGE-1] without asking loses its model with the next request, and the run fails', async () => {
      const { answers, events, ended, calls } = await run('open', [ask('one'), ask('two', 'one'), ask('three')]);
      expect([answers.one?.status, answers.two?.status, answers.three?.status]).toEqual([200, 403, 403]);
      expect(ended).toMatchObject({ outcome: 'failed', reason: 'coverage_gap', coverage: 'partial' });
      expect(calls).toEqual({ uncovered: 1 });
      expect(typesOf(events, 'tool.requested')).toEqual([]);
    });

    it('[COVERAGE-1] after asking about something harmless loses it just the same', async () => {
      const { answers, ended, calls } = await run('open', [ask('one'), askGate('one', { command: 'ls' }), ask('two', 'one')]);
      expect([answers.gate?.text, answers.two?.status]).toEqual(['{"decision":"allow"}', 403]);
      expect(ended).toMatchObject({ outcome: 'failed', reason: 'coverage_gap', coverage: 'partial' });
      expect(calls).toEqual({ uncovered: 1 });
    });

    it('[COVERAGE-2] keeps it when it asked about what the model wrote, whatever the harness added', async () => {
      const input = { command, timeout: 120_000, run_in_background: false };
      const { answers, ended, calls } = await run('open', [ask('one'), askGate('one', input), ask('two', 'one')]);
      expect([answers.gate?.text, answers.two?.status]).toEqual(['{"decision":"allow"}', 200]);
      expect(ended).toMatchObject({ outcome: 'completed', coverage: 'full' });
      expect(calls).toEqual({ decided: 1 });
    });

    it('[COVERAGE-1] is only told of where the policy says so', async () => {
      const { answers, ended } = await run('report', [ask('one'), ask('two', 'one')]);
      expect(answers.two?.status).toBe(200);
      expect(ended).toMatchObject({ outcome: 'completed', coverage: 'partial' });
    });

    it('[COVERAGE-1] and calls it refused cannot be told from a harness that did; it is counted, and under strict it ends the run', async () => {
      const told = await run('open', [ask('one'), ask('two', 'one', refusal)]);
      expect([told.answers.two?.status, told.ended?.coverage, told.calls]).toEqual([200, 'full', { rejected_by_harness: 1 }]);
      const strict = await run('strict', [ask('one'), ask('two', 'one', refusal)]);
      expect([strict.answers.two?.status, strict.ended?.reason, strict.calls]).toEqual([403, 'coverage_gap', { rejected_by_harness: 1 }]);
    });

    it('[COVERAGE-2] keeps it when a person made another input of its call: what was asked for is compared, not what was approved', async () => {
      const decide = async (id: string): Promise<void> => {
        const approval = await until(async () => (await stack.admin.approvals()).data.find(({ run_id }) => run_id === id));
        const edit = stack.admin.decide(approval.id, { decision: 'edit', input: { command: 'echo instead' } });
        if (harness !== 'codex') return void (await edit);
        // It runs what its model wrote or nothing, so nobody may make another call of it.
        await expect(edit).rejects.toThrow(/edit/);
        await stack.admin.decide(approval.id, { decision: 'approve' });
      };
      let decided: Promise<void> | undefined;
      const { answers, events } = await runWire(
        stack.admin,
        'asking',
        { steps: [ask('one'), askGate('one', { command }), ask('two', 'one')] },
        {
          onStarted: (id) => {
            decided = decide(id);
          },
        },
      );
      await decided;
      expect([answers.gate?.text?.includes('echo instead'), answers.two?.status]).toEqual([harness !== 'codex', 200]);
      expect(events.at(-1)?.data).toMatchObject({ outcome: 'completed', coverage: 'full' });
      expect(calls(events)).toEqual({ decided: 1 });
    });

    it('[COVERAGE-2] that never brings a call back leaves it open: unknown, not full', async () => {
      const { ended, calls } = await run('open', [ask('one')]);
      expect(ended).toMatchObject({ outcome: 'completed', coverage: 'unknown' });
      expect(calls).toEqual({ unknown: 1 });
    });
  },
);
