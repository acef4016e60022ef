import type { ModelStep } from '@fluidbox/testing/model';
import { type SystemStack, startSystemStack } from './support/stack';
import { typesOf } from './support/wire-run';

const policy = (guards: string) => `
name: guarded
guards: ${guards}
defaults: { tool_action: deny }
tools:
  - match: [Bash]
    action: allow
    shell: { allow: [ls, echo], on_no_match: deny }
`;

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'x' } });
/** What a model does in its `turn`-th answer that gets nowhere, and in one that gets on. */
const stuck: Readonly<Record<string, (turn: number) => ModelStep>> = {
  'the same call': () => ({ tools: [bash('ls')] }),
  'denied calls': (turn) => ({ tools: [bash(`curl ${turn}`)] }),
  'calls of no tool': () => ({ tools: [{ name: 'NoSuchTool', input: {} }] }),
  'four things': (turn) => (turn < 4 ? { tools: [bash(`echo ${turn}`)] } : { text: 'done' }),
};

describe('guards with the real Claude Agent SDK', () => {
  let stack: SystemStack;

  beforeAll(async () => {
    stack = await startSystemStack({
      script: (request) => {
        if ((request.tools ?? []).length === 0) return { text: 'ok' };
        const task = Object.keys(stuck).find((name) => JSON.stringify(request.messages[0]).includes(`do ${name}`));
        const turn = request.messages.filter(({ role }) => role === 'assistant').length;
        return stuck[task ?? '']?.(turn) ?? { text: 'done' };
      },
    });
    await stack.admin.importPolicy('guarded', { source: policy('{ same_call: 4, denials: 4, idle_model_calls: 4 }') });
    await stack.admin.createAgent({ name: 'guarded', policy: 'guarded' });
  });
  afterAll(() => stack.stop());

  const run = async (task: string) => {
    const { session } = await stack.admin.createSession({ agent: 'guarded', task: `do ${task}` });
    for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;
    const events = await stack.admin.allEvents(session.id);
    return {
      events,
      ended: events.at(-1)?.data,
      said: (type: string) => typesOf(events, type).map(({ data }) => [data.guard, data.limit]),
    };
  };

  it.each([
    ['the same call', 'same_call'],
    ['denied calls', 'denials'],
    ['calls of no tool', 'idle_model_calls'],
  ])('[GUARD-1] end a run that does nothing but %s, and say which', async (task, guard) => {
    const { ended, said } = await run(task);
    expect(said('guard.tripped')).toEqual([[guard, 4]]);
    expect(ended).toMatchObject({ outcome: 'failed', reason: 'guard_tripped' });
  });

  it('[GUARD-1] leave a run alone that gets on', async () => {
    const { ended, said } = await run('four things');
    expect([said('guard.tripped'), said('guard.warned')]).toEqual([[], []]);
    expect(ended).toMatchObject({ outcome: 'completed', coverage: 'full' });
  });
});
