import { setTimeout as delay } from 'node:timers/promises';
import { type SystemStack, startSystemStack } from './support/stack';
import { typesOf } from './support/wire-run';

describe('budgets with the real Claude Agent SDK', () => {
  let stack: SystemStack;

  beforeAll(async () => {
    // Every turn reads and costs something, for ever: only a budget ends this run.
    const turn = {
      tools: [{ name: 'Bash', input: { command: 'ls', description: 'x' } }],
      usage: { input_tokens: 20_000, output_tokens: 2_000 },
    };
    stack = await startSystemStack({ script: () => turn, environment: { FLUIDBOX_UPSTREAM_PRIVATE_HOSTS: '127.0.0.1' } });
    await stack.admin.createAgent({ name: 'spender', policy: 'default' });
  });
  afterAll(() => stack.stop());

  it('[BUDGET-1] stops the run before it overspends, and says so', async () => {
    const { session } = await stack.admin.createSession({ agent: 'spender', task: 'go', budgets: { max_cost_usd: 0.1 } });
    for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;
    const events = await stack.admin.allEvents(session.id);
    const ended = await stack.admin.session(session.id);
    expect(ended.outcome).toBe('budget_exceeded');
    expect(typesOf(events, 'budget.exceeded')).toHaveLength(1);
    // 30,000 micro-USD a turn: three fit, and a fourth may have been admitted as the sole claimant of the rest.
    expect(ended.usage.cost_micro_usd).toBeGreaterThanOrEqual(60_000);
    expect(ended.usage.cost_micro_usd).toBeLessThanOrEqual(130_000);
    const refused = typesOf(events, 'budget.exceeded')[0]?.seq ?? 0;
    expect(typesOf(events, 'budget.reserved').filter((event) => event.seq > refused)).toEqual([]);
    const open = new Set(typesOf(events, 'budget.reserved').map((event) => event.data.reservation_id));
    for (const type of ['budget.settled', 'budget.released'])
      for (const event of typesOf(events, type)) open.delete(event.data.reservation_id);
    expect(open.size).toBe(0);
  });

  it('[BUDGET-4] limits of an agent end every run of it, and nobody else’s; only an admin sets them', async () => {
    await stack.admin.createAgent({ name: 'poor', policy: 'default' });
    const finished = async (agent: string, budgets: Record<string, number>) => {
      const { session } = await stack.admin.createSession({ agent, task: 'go', budgets });
      for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;
      return { session: await stack.admin.session(session.id), events: await stack.admin.allEvents(session.id) };
    };
    await stack.admin.setBudget('agent:poor', { period: 'month', max_cost_usd: 0.05 });
    const { session, events } = await finished('poor', { max_tool_calls: 5 });
    expect(session.outcome).toBe('budget_exceeded');
    const month = session.created_at.slice(0, 7);
    expect(typesOf(events, 'budget.exceeded').map(({ data }) => data.account)).toEqual([{ scope: 'agent:poor', period: month }]);
    expect(typesOf(events, 'budget.warned').map(({ data }) => data.account)).toEqual([{ scope: 'agent:poor', period: month }]);
    const { data } = await stack.admin.budgets();
    expect(data.find(({ scope, period }) => scope === 'agent:poor' && period === month)).toEqual({
      scope: 'agent:poor',
      period: month,
      limit_micro_usd: 50_000,
      spent_micro_usd: session.usage.cost_micro_usd,
      reserved_micro_usd: 0,
      state: 'exhausted',
    });
    // The next one does not reach the model at all.
    expect((await finished('poor', { max_tool_calls: 5 })).session.usage.model_requests).toBe(0);
    const other = await finished('spender', { max_tool_calls: 1 });
    expect(typesOf(other.events, 'budget.exceeded').map((event) => event.data.budget)).toEqual(['tool_calls']);
    await expect(stack.admin.setBudget('agent:nobody', { period: 'total', max_cost_usd: 1 })).rejects.toMatchObject({ status: 404 });
    await expect(stack.admin.setBudget('team', { period: 'total', max_cost_usd: 1 })).rejects.toMatchObject({ status: 422 });
  });

  it('[MODEL-5] [API-4] a run asks the upstreams of its organisation, the next where one is dead; only an admin sets them', async () => {
    const dialect = 'anthropic_messages';
    const body = { base_url: stack.model.url, key: 'sk-key-of-the-organisation' };
    for (const role of ['member', 'approver'] as const) {
      const other = stack.client((await stack.admin.createToken({ name: role, role })).token);
      await expect(other.upstreams(dialect)).rejects.toMatchObject({ status: 403 });
      await expect(other.setUpstream(dialect, 'main', body)).rejects.toMatchObject({ status: 403 });
      await expect(other.removeUpstream(dialect, 'main')).rejects.toMatchObject({ status: 403 });
    }
    await expect(stack.admin.setUpstream(dialect, 'main', { ...body, base_url: 'https://10.0.0.1' })).rejects.toMatchObject({
      status: 422,
    });
    await expect(stack.admin.setUpstream(dialect, 'main', { ...body, key: 'short' })).rejects.toMatchObject({ status: 422 });
    // Nothing listens on port 1.
    await stack.admin.setUpstream(dialect, 'dead', { ...body, base_url: 'http://127.0.0.1:1' });
    const { data } = await stack.admin.setUpstream(dialect, 'main', body);
    expect(data.map(({ position, name }) => [position, name])).toEqual([
      [1, 'dead'],
      [2, 'main'],
    ]);
    expect(JSON.stringify(await stack.admin.upstreams(dialect))).not.toContain(body.key);
    // Until then the facade may believe that there are none.
    await delay(4_000);
    const { session } = await stack.admin.createSession({ agent: 'spender', task: 'go', budgets: { max_tool_calls: 1 } });
    for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;
    const responses = typesOf(await stack.admin.allEvents(session.id), 'model.response').map((event) => event.data);
    expect(responses.length).toBeGreaterThan(0);
    for (const response of responses)
      expect(response).toMatchObject({ upstream: 'main', attempts: [{ upstream: 'dead', outcome: 'unreachable' }] });
    for (const name of ['dead', 'main']) await stack.admin.removeUpstream(dialect, name);
    await expect(stack.admin.removeUpstream(dialect, 'main')).rejects.toMatchObject({ status: 404 });
    expect((await stack.admin.upstreams(dialect)).data).toEqual([]);
    await delay(4_000);
    expect(stack.output()).not.toContain(body.key);
  });

  it('[BUDGET-1] leaves a run within its budget alone', async () => {
    const { session } = await stack.admin.createSession({ agent: 'spender', task: 'go', budgets: { max_tool_calls: 2 } });
    for await (const event of stack.admin.watch(session.id)) if (event.type === 'run.result') break;
    const events = await stack.admin.allEvents(session.id);
    expect(typesOf(events, 'tool.decision').filter((event) => event.data.verdict === 'allow')).toHaveLength(2);
    expect(typesOf(events, 'budget.exceeded').map((event) => event.data.budget)).toEqual(['tool_calls']);
  });
});
