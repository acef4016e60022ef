import { CreateAgentBody, type EventDraft, Problem, type RecordedEvent } from '@fluidbox/contracts';
import { type AgentState, agentFold, agentView, decideCreateAgent, decideReviseAgent } from './agent';

const context = { by: 'ada', policyExists: true, promptDigest: null };
const agentId = '0198b3a0-0000-7000-8000-000000000001';
const body = (fields: Record<string, unknown> = {}) => CreateAgentBody.parse({ name: 'fixer', ...fields });

function given(...groups: (readonly EventDraft[] | Problem)[]): AgentState {
  let seq = 0;
  return groups
    .flatMap((group) => (group instanceof Problem ? [] : [...group]))
    .reduce<AgentState>((state, draft) => {
      seq += 1;
      return agentFold.evolve(state, {
        ...draft,
        version: 1,
        seq,
        occurredAt: `2026-08-01T00:00:0${seq}.000Z`,
      } as unknown as RecordedEvent);
    }, agentFold.initial());
}
const create = (fields: Record<string, unknown> = {}, more = {}) =>
  decideCreateAgent(given(), body(fields), { ...context, agentId, ...more });
const problemOf = (decided: readonly EventDraft[] | Problem): Problem => {
  if (!(decided instanceof Problem)) throw new Error('expected a refusal');
  return decided;
};

describe('creating an agent', () => {
  it('writes its identity and its first revision, with the default model of the harness', () => {
    const state = given(create({ system_prompt: 'be brief' }, { promptDigest: 'sha256:1' }));
    expect(state).toMatchObject({
      status: 'known',
      id: agentId,
      revision: { number: 1, model: 'claude-haiku-4-5', policy: 'default', prompt: { digest: 'sha256:1', seq: 2 } },
    });
  });

  it('refuses a name that is taken, also with the same body', () => {
    const again = decideCreateAgent(given(create()), body(), { ...context, agentId });
    expect(problemOf(again).code).toBe('conflict');
  });

  it.each([
    [{ harness: 'claude' }, {}, '/harness'],
    [{ model: 'gpt-5' }, {}, '/model'],
    [{ policy: 'nowhere' }, { policyExists: false }, '/policy'],
  ])('refuses %j and names the field', (fields, more, pointer) => {
    const refused = problemOf(create(fields, more));
    expect([refused.status, refused.errors[0]?.pointer]).toEqual([422, pointer]);
  });
});

describe('revising an agent', () => {
  const prompted = () => create({ system_prompt: 'be brief', budgets: { max_tool_calls: 5 } }, { promptDigest: 'sha256:1' });

  it('inherits what it omits', () => {
    const state = given(prompted(), decideReviseAgent(given(prompted()), 'fixer', { description: 'fixes' }, context));
    expect(state).toMatchObject({
      revision: { number: 2, description: 'fixes', prompt: { digest: 'sha256:1', seq: 2 }, budgets: { max_tool_calls: 5 } },
    });
  });

  it('clears what is null', () => {
    const state = given(prompted(), decideReviseAgent(given(prompted()), 'fixer', { system_prompt: null, budgets: null }, context));
    expect(state).toMatchObject({ revision: { number: 2, prompt: null, budgets: null } });
  });

  it('takes the default model of another harness instead of inheriting a foreign one', () => {
    const state = given(create(), decideReviseAgent(given(create()), 'fixer', { harness: 'scripted' }, context));
    expect(state).toMatchObject({ revision: { harness: 'scripted', model: 'none' } });
  });

  it('adds nothing when nothing changes', () => {
    expect(decideReviseAgent(given(prompted()), 'fixer', { policy: 'default' }, context)).toEqual([]);
  });

  it('refuses an unknown agent', () => {
    expect(problemOf(decideReviseAgent(given(), 'fixer', {}, context)).code).toBe('not_found');
  });

  it('shows budgets as a person writes them', () => {
    const state = given(create({ budgets: { max_cost_usd: 0.25 } }));
    if (state.status === 'absent') throw new Error('expected an agent');
    expect(agentView(state).budgets).toEqual({ max_cost_usd: 0.25, max_tool_calls: null, max_tokens: null, max_wall_clock_secs: null });
  });
});
