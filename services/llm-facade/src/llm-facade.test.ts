import { Problem, staleLeaseBody, wrongAudienceBody } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import { coverageOf, runFold } from '@fluidbox/run-stream';
import { startScriptedModel, until } from '@fluidbox/testing';
import { listBudgets, setBudget } from './app/budgets';
import { sweepReservations } from './app/sweep-reservations';
import {
  call,
  ending,
  type Facade,
  opening,
  type Provider,
  providerKey,
  specOf,
  sse,
  startFacade,
  startProvider,
  streams,
  words,
} from './testing/facade-fixture';

const tools = [{ name: 'Bash', input_schema: { type: 'object' } }];
const ask = (change: Record<string, unknown> = {}) => ({
  model: 'claude-haiku-4-5',
  max_tokens: 4_000,
  stream: true,
  tools,
  messages: [{ role: 'user', content: 'hi' }],
  ...change,
});
const resultOf = (id: string, change: Record<string, unknown> = {}) =>
  ask({ messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok', ...change }] }] });

let provider: Provider;
let facade: Facade;
const start = async (...args: Parameters<typeof startFacade> extends [unknown, ...infer Rest] ? Rest : never): Promise<Facade> => {
  facade = await startFacade(provider.url, ...args);
  return facade;
};
beforeEach(async () => {
  provider = await startProvider();
});
afterEach(async () => {
  await facade.stop();
  await provider.close();
});

describe('a model request', () => {
  it('[MODEL-4] passes through byte by byte, metered, with the credential of the deployment and not of the run', async () => {
    await start();
    const answer = [opening(), words('北京'), ...call('toolu_1'), ...ending(400)];
    provider.answers(streams(answer));
    const response = await facade.post(ask(), {
      headers: { 'anthropic-beta': 'x-2026', 'anthropic-version': '2023-06-01', 'x-claude-code-agent-id': 'agent-7', cookie: 'c=1' },
    });
    expect(await response.text()).toBe(sse(answer));
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'request-id': 'req_1',
      'anthropic-ratelimit-requests-remaining': '7',
    });
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(provider.seen[0]).toMatchObject({
      path: '/v1/messages',
      headers: { 'x-api-key': providerKey, 'anthropic-beta': 'x-2026' },
      body: { model: 'claude-haiku-4-5' },
    });
    expect(provider.seen[0]?.headers).not.toHaveProperty('authorization');
    expect(provider.seen[0]?.headers).not.toHaveProperty('cookie');
    expect(await facade.events()).toMatchObject([
      { type: 'budget.reserved' },
      { type: 'budget.settled', data: { tokens: 460, cost_micro_usd: 60 + 4_000, basis: 'usage' } },
      {
        type: 'model.response',
        data: { input_tokens: 60, output_tokens: 400, stop_reason: 'tool_use', estimated: false, agent_id: 'agent-7' },
      },
      { type: 'model.tool_call', actor: 'model', data: { tool_call_id: 'toolu_1', tool: 'Bash' } },
    ]);
  });

  it('is not buffered, and its last event waits for the ledger', async () => {
    await start();
    let goOn = (): void => undefined;
    const waited = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    provider.answers(async (_request, _body, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(sse([opening(), words('first')]));
      await waited;
      response.end(sse([...call('toolu_1'), ...ending()]));
    });
    const response = await facade.post(ask());
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let first = '';
    while (!first.includes('first')) first += Buffer.from((await reader.read()).value ?? []).toString();
    expect(await facade.types()).toEqual(['budget.reserved']);
    goOn();
    let rest = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      rest += Buffer.from(part.value).toString();
      // Whenever the end is visible to the runner, the call is already in the ledger.
      if (rest.includes('message_stop"}')) expect(await facade.types()).toContain('model.tool_call');
    }
    expect(first + rest).toBe(sse([opening(), words('first'), ...call('toolu_1'), ...ending()]));
  });

  it('never ends for the runner when it cannot be booked', async () => {
    let calls = 0;
    const failing = (ledger: Ledger): Ledger => ({
      ...ledger,
      decide: (...args) => (calls++ === 0 ? ledger.decide(...args) : Promise.reject(new Problem('unavailable', 'the database is away'))),
    });
    await start({ ledger: failing });
    provider.answers(streams([opening(), ...call('toolu_1'), ...ending()]));
    const response = await facade.post(ask());
    let received = '';
    await expect(
      (async () => {
        for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) received += Buffer.from(chunk).toString();
      })(),
    ).rejects.toThrow();
    expect(received).not.toContain('message_stop"}');
    expect(await facade.types()).toEqual(['budget.reserved']);
  });

  describe.each([
    ['streamed', true],
    ['in one piece', false],
  ])('that is answered %s', (_name, stream) => {
    const content = (calls: boolean) => [
      { type: 'text', text: 'hi' },
      ...(calls ? [{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'ls' } }] : []),
    ];
    const answers = (calls: boolean): void =>
      provider.answers(
        stream
          ? streams([opening(), words('hi'), ...(calls ? call('toolu_1', 'Bash', 1) : []), ...ending()])
          : (_request, _body, response) =>
              void response.writeHead(200, { 'content-type': 'application/json' }).end(
                JSON.stringify({
                  type: 'message',
                  content: content(calls),
                  stop_reason: 'end_turn',
                  usage: { input_tokens: 60, output_tokens: 400 },
                }),
              ),
      );
    /** The ledger takes the reservation; what is booked then waits until the test says what becomes of it. */
    const startStuck = async () => {
      let letGo: (died?: Error) => void = () => undefined;
      const stuck = new Promise<void>((resolve, reject) => {
        letGo = (died) => (died === undefined ? resolve() : reject(died));
      });
      let decisions = 0;
      await start({
        ledger: (ledger) => ({
          ...ledger,
          decide: (...args) => (decisions++ === 0 ? ledger.decide(...args) : stuck.then(() => ledger.decide(...args))),
        }),
      });
      return { letGo, isStuck: () => decisions > 1 };
    };
    const waited = async <T>(promise: Promise<T>): Promise<T | 'waits'> =>
      Promise.race([promise, new Promise<'waits'>((resolve) => setTimeout(() => resolve('waits'), 150))]);

    it('[COVERAGE-3] ends before it is booked when it calls nothing; a crash in between charges it in full and makes the coverage unknown', async () => {
      const { letGo } = await startStuck();
      answers(false);
      expect(await (await facade.post(ask({ stream }))).text()).toContain(stream ? 'message_stop"}' : 'end_turn');
      // Until it is booked the reservation holds what it may have cost.
      expect(await facade.types()).toEqual(['budget.reserved']);
      letGo(new Error('this facade died'));
      await facade.idle();
      expect(facade.problems).toEqual([expect.stringContaining('could not be booked')]);
      facade.clock.advance(31 * 60_000);
      expect(await sweepReservations({ ...facade.ports, ledger: facade.otherLedger })).toBe(1);
      const [reserved, settled] = await facade.events();
      expect(settled).toMatchObject({ type: 'budget.settled', data: { basis: 'pessimistic', lost: true, tokens: reserved?.data.tokens } });
      expect(await coverage()).toBe('unknown');
    });

    it('and calls nothing is booked by its usage although it ended before', async () => {
      const { letGo } = await startStuck();
      answers(false);
      await (await facade.post(ask({ stream }))).text();
      letGo();
      await facade.idle();
      expect(await facade.events()).toMatchObject([
        { type: 'budget.reserved' },
        { type: 'budget.settled', data: { tokens: 460, basis: 'usage' } },
        { type: 'model.response' },
      ]);
      expect(await coverage()).toBe('full');
      expect(facade.problems).toEqual([]);
    });

    it('does not end before it is booked when it calls a tool: the gate may be asked at once', async () => {
      const { letGo, isStuck } = await startStuck();
      answers(true);
      const received = facade.post(ask({ stream })).then((response) => response.text());
      await until(isStuck);
      expect(await waited(received)).toBe('waits');
      expect(await facade.types()).toEqual(['budget.reserved']);
      letGo();
      expect(await received).toContain('toolu_1');
      expect(await facade.types()).toContain('model.tool_call');
    });
  });

  it('books what was seen when the runner hangs up, and gives up the provider (H-LM-03)', async () => {
    await start();
    provider.answers((_request, _body, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(sse([opening(60), ...Array.from({ length: 5 }, () => words('some words of an answer'))]));
    });
    const hangUp = new AbortController();
    const response = await facade.post(ask(), { signal: hangUp.signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    for (let text = ''; text.split('some words').length < 6; ) text += Buffer.from((await reader.read()).value ?? []).toString();
    hangUp.abort();
    await provider.seen[0]?.closed;
    await until(async () => (await facade.types()).includes('model.response'));
    const [, settled, answered] = await facade.events();
    expect(settled).toMatchObject({ data: { basis: 'estimated' } });
    expect(answered).toMatchObject({ data: { input_tokens: 60, estimated: true } });
    expect(Number(answered?.data.output_tokens)).toBeGreaterThan(20);
  });

  it('in one piece is charged in full when the runner hangs up before it came, a streamed one for what was sent', async () => {
    await start();
    const hangUpAt = async (stream: boolean, answered: number) => {
      const hangUp = new AbortController();
      const asked = new Promise<void>((resolve) => provider.answers(() => resolve()));
      const response = facade.post(ask({ stream, max_tokens: 2_000 }), { signal: hangUp.signal });
      await asked;
      hangUp.abort();
      await expect(response).rejects.toThrow();
      await until(async () => (await facade.types()).filter((type) => type === 'budget.settled').length === answered);
    };
    await hangUpAt(false, 1);
    await hangUpAt(true, 2);
    const events = await facade.events();
    const reserved = events.filter(({ type }) => type === 'budget.reserved').map(({ data }) => data.tokens);
    const settled = events.filter(({ type }) => type === 'budget.settled').map(({ data }) => ({ tokens: data.tokens, basis: data.basis }));
    expect(settled[0]).toEqual({ tokens: reserved[0], basis: 'pessimistic' });
    expect(settled[1]).toMatchObject({ basis: 'estimated' });
    expect(Number(settled[1]?.tokens)).toBeLessThan(2_000);
  });

  it('is cut for the runner when the provider breaks off, and what was seen is booked', async () => {
    await start();
    provider.answers((_request, _body, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(sse([opening(), words('half'), ...call('toolu_1')]), () => response.destroy());
    });
    await expect(facade.post(ask()).then((response) => response.text())).rejects.toThrow();
    await facade.idle();
    expect(await facade.events()).toMatchObject([
      { type: 'budget.reserved' },
      { type: 'budget.settled', data: { basis: 'estimated' } },
      { type: 'model.response' },
      { type: 'model.tool_call' },
    ]);
  });

  it('that is not streamed is metered just the same (H-LM-02)', async () => {
    await start();
    const usage = { input_tokens: 7, cache_creation_input_tokens: 20_000, cache_read_input_tokens: 1_000, output_tokens: 300 };
    const answer = {
      type: 'message',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'Task', input: {} }],
      stop_reason: 'tool_use',
      usage,
    };
    provider.answers(
      (_request, _body, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer)),
    );
    expect(await (await facade.post(ask({ stream: false }))).json()).toEqual(answer);
    expect(await facade.events()).toMatchObject([
      { type: 'budget.reserved' },
      { type: 'budget.settled', data: { tokens: 21_307, cost_micro_usd: 7 + 25_000 + 100 + 3_000 } },
      { type: 'model.response' },
      { type: 'model.tool_call', data: { tool: 'Agent' } },
    ]);
  });

  it('that only counts tokens reserves and books nothing', async () => {
    await start();
    provider.answers(
      (_request, _body, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"input_tokens":9}'),
    );
    const response = await facade.post(ask({ max_tokens: undefined, stream: undefined }), { path: 'v1/messages/count_tokens?beta=true' });
    expect(await response.json()).toEqual({ input_tokens: 9 });
    expect(provider.seen[0]?.path).toBe('/v1/messages/count_tokens');
    expect(await facade.types()).toEqual([]);
    expect((await facade.post(ask({ model: 'other' }), { path: 'v1/messages/count_tokens' })).status).toBe(422);
  });
});

describe('what is refused', () => {
  beforeEach(async () => {
    await start();
    provider.answers(streams([opening(), words('x'), ...ending(5, 'end_turn')]));
  });
  const withToken = async (token: string) => facade.post(ask(), { headers: { 'x-api-key': token } });

  it('checks signature, audience, generation, lease and activity, in this order', async () => {
    expect((await facade.post(ask())).status).toBe(200);
    const none = await facade.post(ask(), { headers: { 'x-api-key': '' } });
    expect([none.status, ((await none.json()) as { type: string }).type]).toEqual([401, 'error']);
    expect((await withToken(`${await facade.tokenOf({ audience: 'tool' })}x`)).status).toBe(401);
    const audience = await withToken(await facade.tokenOf({ audience: 'tool', generation: 9 }));
    expect([audience.status, await audience.text()]).toEqual([403, wrongAudienceBody]);
    facade.clock.advance(16 * 60_000);
    const stale = await withToken(await facade.tokenOf({ generation: 9 }));
    expect([stale.status, await stale.text()]).toEqual([409, staleLeaseBody]);
    await facade.cancel();
    expect((await facade.post(ask())).status).toBe(401);
    await facade.grant(1, '2026-11-29T21:00:00.000Z');
    const cancelled = await facade.post(ask());
    expect([cancelled.status, await cancelled.json()]).toMatchObject([
      403,
      { error: { type: 'permission_error', message: 'session is not active' } },
    ]);
    expect(provider.seen).toHaveLength(1);
  });

  it('takes the token as a bearer too, and a renewed lease at once', async () => {
    facade.clock.advance(16 * 60_000);
    await facade.grant(1, '2026-11-29T20:30:00.000Z');
    const response = await facade.post(ask(), { headers: { 'x-api-key': await facade.tokenOf() } });
    expect(response.status).toBe(200);
    const bearer = await fetch(`${facade.url}v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await facade.tokenOf()}` },
      body: JSON.stringify(ask()),
    });
    expect(bearer.status).toBe(200);
  });

  it.each([
    ['a path of the provider that is not ours', 'v1/files', 'POST', 404],
    ['a path with dots', 'v1/messages/../files', 'POST', 404],
    ['a method that asks nothing', 'v1/messages', 'GET', 404],
  ])('answers %s in the dialect', async (_name, path, method, status) => {
    const response = await facade.post(ask(), { path, method });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } });
    expect(provider.seen).toHaveLength(0);
  });

  it.each([
    ['no JSON', '{', 422],
    ['a list', '[]', 422],
    ['another model', JSON.stringify(ask({ model: 'claude-opus-4-8' })), 422],
    ['another model under the right one', `{"model":"claude-haiku-4-5",${JSON.stringify(ask({ model: 'claude-opus-4-8' })).slice(1)}`, 422],
    ['a body over the limit', JSON.stringify(ask({ system: 'x'.repeat(2_000_000) })), 413],
  ])('answers %s, and nothing is sent or stored', async (_name, body, status) => {
    const response = await facade.post(body);
    expect(response.status).toBe(status);
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(provider.seen).toHaveLength(0);
    expect(await facade.types()).toEqual([]);
  });

  it('answers a body over the limit that never said its length', async () => {
    const body = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 20; i++) controller.enqueue(new Uint8Array(100_000));
        controller.close();
      },
    });
    const response = await fetch(`${facade.url}v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': await facade.tokenOf() },
      body,
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(413);
  });
});

describe('what the provider refuses', () => {
  beforeEach(() => start());
  const refuses = (status: number, headers: Record<string, string> = {}): void =>
    provider.answers(
      (_request, _body, response) =>
        void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('{"type":"error","error":{"type":"x"}}'),
    );

  it('passes its own 429 unchanged and gives the reservation back', async () => {
    refuses(429, { 'retry-after': '9' });
    const response = await facade.post(ask());
    expect([response.status, response.headers.get('retry-after'), await response.text()]).toEqual([
      429,
      '9',
      '{"type":"error","error":{"type":"x"}}',
    ]);
    expect(await facade.events()).toMatchObject([
      { type: 'budget.reserved' },
      { type: 'budget.released', data: { cause: 'refused_upstream' } },
    ]);
  });

  it('does not pass its 401: the runner would take its own token for bad', async () => {
    refuses(401);
    expect((await facade.post(ask())).status).toBe(502);
  });

  it('gives the reservation back when it cannot be reached', async () => {
    await facade.stop();
    facade = await startFacade('http://127.0.0.1:9');
    const response = await facade.post(ask());
    expect([response.status, response.headers.get('retry-after')]).toEqual([502, '2']);
    expect(await facade.events()).toMatchObject([{ type: 'budget.reserved' }, { type: 'budget.released', data: { cause: 'not_sent' } }]);
  });

  it('charges in full what may have been read before the connection died', async () => {
    provider.answers((_request, _body, response) => void response.destroy());
    expect((await facade.post(ask())).status).toBe(502);
    const [reserved, settled] = await facade.events();
    expect(settled).toMatchObject({
      type: 'budget.settled',
      data: { basis: 'pessimistic', tokens: reserved?.data.tokens },
    });
  });

  it.each([
    ['an answer of another kind', 'text/html', '<p>hi</p>'],
    ['a body without usage', 'application/json', '{"content":[]}'],
  ])('does not pass on %s', async (_name, contentType, body) => {
    provider.answers((_request, _body, response) => void response.writeHead(200, { 'content-type': contentType }).end(body));
    expect((await facade.post(ask())).status).toBe(502);
    expect(await facade.types()).toEqual(['budget.reserved', 'budget.settled']);
  });

  it('says what is missing when the deployment has no key', async () => {
    await facade.stop();
    facade = await startFacade(null);
    const response = await facade.post(ask());
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { message: expect.stringContaining('FLUIDBOX_ANTHROPIC_KEY_FILE') } },
    ]);
  });
});

describe('limits that many runs share', () => {
  const limit = (scope: string, usd: number | null) =>
    setBudget(facade.ports, {
      principal: { name: 'ada', role: 'admin', org: 'default' },
      scope,
      body: { period: 'month', max_cost_usd: usd },
    });

  it('[BUDGET-4] end a run with a 429 that names the account, and the gate hears of it from its stream', async () => {
    await start();
    await limit('agent:fixer', 0);
    const response = await facade.post(ask());
    expect([response.status, response.headers.get('x-should-retry'), response.headers.get('retry-after')]).toEqual([429, 'false', null]);
    expect(await response.json()).toMatchObject({
      error: { code: 'budget_exhausted', message: expect.stringContaining('agent:fixer (2026-11)') },
    });
    expect(await facade.events()).toMatchObject([
      {
        type: 'budget.exceeded',
        data: { budget: 'cost_micro_usd', limit: 0, spent: 0, account: { scope: 'agent:fixer', period: '2026-11' } },
      },
    ]);
    expect(provider.seen).toHaveLength(0);
    await limit('agent:fixer', null);
    expect((await facade.post(ask())).status).toBe(429);
  });

  it('[BUDGET-4] are warned of in the run whose answer passes 80 %, and hold what is under way', async () => {
    await start();
    // An answer of 400 tokens costs 4,060; one may cost 40,000 and more.
    await limit('org', 0.005);
    provider.answers(streams([opening(), words('hi'), ...ending()]));
    await (await facade.post(ask())).text();
    await facade.idle();
    expect((await facade.events()).at(-1)).toMatchObject({
      type: 'budget.warned',
      data: { limit: 5_000, spent: 4_060, account: { scope: 'org', period: '2026-11' } },
    });
    expect(await listBudgets(facade.ports, { org: 'default' as never })).toContainEqual({
      scope: 'org',
      period: '2026-11',
      limit_micro_usd: 5_000,
      spent_micro_usd: 4_060,
      reserved_micro_usd: 0,
      state: 'warned',
    });
  });

  it('refuse a model without a price, as the budget of a run does', async () => {
    await start({ spec: specOf({ priced: false, budgets: { max_cost_micro_usd: null } }) });
    await limit('org', 1);
    expect((await facade.post(ask())).status).toBe(422);
    await limit('org', null);
    provider.answers(streams([opening(), words('hi'), ...ending()]));
    expect((await facade.post(ask())).status).toBe(200);
  });

  it('hear what a request really cost when its run has ended meanwhile', async () => {
    await start();
    let finish: () => void = () => undefined;
    provider.answers((_request, _body, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(sse([opening()]));
      finish = () => response.end(sse([words('hi'), ...ending()]));
    });
    const pending = facade.post(ask()).then((response) => response.text().catch(() => ''));
    await until(async () => (await facade.types()).length === 1 && provider.seen.length === 1);
    await facade.endRun();
    finish();
    await pending;
    await facade.idle();
    const [account] = await listBudgets(facade.ports, { org: 'default' as never });
    expect(account).toMatchObject({ spent_micro_usd: 4_060, reserved_micro_usd: 0 });
    expect((await facade.types()).slice(-2)).toEqual(['budget.settled', 'session.status_changed']);
    expect(facade.problems).toHaveLength(1);
  });
});

describe('a model that gets nowhere', () => {
  it('[GUARD-1] is warned of, then ended: answers whose calls never reach the gate', async () => {
    await start({ spec: specOf({ guards: { idle_model_calls: 5 } }) });
    for (let n = 1; n <= 5; n += 1) {
      provider.answers(streams([opening(), ...call(`toolu_${n}`), ...ending()]));
      const refused = { is_error: true, content: '<tool_use_error>no such tool</tool_use_error>' };
      expect((await facade.post(n === 1 ? ask() : resultOf(`toolu_${n - 1}`, refused))).status).toBe(200);
      await facade.idle();
    }
    expect((await facade.types()).filter((type) => type === 'guard.warned')).toHaveLength(1);
    const ended = await facade.post(ask());
    expect([ended.status, await ended.json()]).toMatchObject([403, { error: { message: expect.stringContaining('guard_tripped') } }]);
    expect((await facade.events()).at(-1)).toMatchObject({
      type: 'guard.tripped',
      data: { guard: 'idle_model_calls', count: 5, limit: 5 },
    });
    expect(provider.seen).toHaveLength(5);
  });

  it('[GUARD-1] leaves a model alone whose calls are decided, and one that only talks', async () => {
    await start({ spec: specOf({ guards: { idle_model_calls: 2 } }) });
    for (let n = 1; n <= 4; n += 1) {
      provider.answers(streams([opening(), ...call(`toolu_${n}`), ...ending()]));
      await (await facade.post(n === 1 ? ask() : resultOf(`toolu_${n - 1}`))).text();
      await facade.gateDecides(`toolu_${n}`);
    }
    provider.answers(streams([opening(), words('done'), ...ending(5, 'end_turn')]));
    for (let n = 0; n < 4; n += 1) expect((await facade.post(ask())).status).toBe(200);
    expect((await facade.types()).filter((type) => type.startsWith('guard.'))).toEqual([]);
  });
});

const coverage = async () => coverageOf((await facade.ports.ledger.state(runFold, facade.stream, { fresh: true })).state);

describe('budgets', () => {
  it('let one of ten parallel requests through and refuse nine as transient (H-LM-04)', async () => {
    await start({ spec: specOf({ budgets: { max_tokens: null, max_cost_micro_usd: 50_000 } }), settings: { reservationWaitMs: 300 } });
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    provider.answers(async (_request, _body, response) => {
      await held;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(sse([opening(0), ...ending(1_000)]));
    });
    let refused = 0;
    const pending = Array.from({ length: 10 }, async () => {
      const response = await facade.post(ask({ tools: [] }));
      if (response.status === 503) refused += 1;
      return response;
    });
    // Nine waits end before the provider may answer the one.
    await until(() => refused === 9);
    answer();
    const responses = await Promise.all(pending);
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array<number>(9).fill(503)]);
    expect(provider.seen).toHaveLength(1);
    const one = responses.find(({ status }) => status === 503);
    expect([one?.headers.get('retry-after'), one?.headers.get('x-should-retry'), await one?.json()]).toMatchObject([
      '2',
      'true',
      { error: { code: 'budget_reserved' } },
    ]);
    await responses.find(({ status }) => status === 200)?.text();
    expect((await facade.events()).at(1)).toMatchObject({ type: 'budget.settled', data: { cost_micro_usd: 10_000 } });
    const next = await facade.post(ask({ tools: [] }));
    expect(next.status).toBe(200);
    await next.text();
  });

  it('give a request that is alone with too little what is left, and not what it asked for', async () => {
    await start({ spec: specOf({ budgets: { max_cost_micro_usd: 100_000, max_tokens: null } }) });
    provider.answers(streams([opening(10), ...ending(1_000, 'end_turn')]));
    const maximum = async (max_tokens: number) => {
      await (await facade.post(ask({ max_tokens }))).text();
      return Number(provider.seen.at(-1)?.body.max_tokens);
    };
    expect(await maximum(5_000)).toBe(5_000);
    const limited = await maximum(64_000);
    expect(limited).toBeGreaterThan(8_000);
    // About 90,000 micro-USD were left, at 10 a token.
    expect(limited).toBeLessThan(9_000);
  });

  it('admit who waits as soon as room is made', async () => {
    await start({ spec: specOf({ budgets: { max_tokens: 5_000, max_cost_micro_usd: null } }) });
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    provider.answers(async (_request, _body, response) => {
      if (provider.seen.length === 1) await held;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(sse([opening(1), ...ending(10)]));
    });
    const first = facade.post(ask());
    await until(() => provider.seen.length === 1);
    const second = facade.post(ask());
    answer();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
  });

  it('end with a 429 that no SDK repeats, and one event', async () => {
    await start({ spec: specOf({ budgets: { max_tokens: 400 } }) });
    provider.answers(streams([opening(100), ...ending(300)]));
    await (await facade.post(ask())).text();
    expect((await facade.events()).at(-1)).toMatchObject({ type: 'budget.warned', data: { budget: 'tokens', limit: 400, spent: 400 } });
    for (let i = 0; i < 2; i++) {
      const response = await facade.post(ask());
      expect([response.status, response.headers.get('x-should-retry'), response.headers.get('retry-after')]).toEqual([429, 'false', null]);
      expect(await response.json()).toMatchObject({ type: 'error', error: { code: 'budget_exhausted' } });
    }
    expect((await facade.types()).filter((type) => type === 'budget.exceeded')).toHaveLength(1);
    expect(provider.seen).toHaveLength(1);
  });

  it('refuse a model without a price when a cost budget binds, and only then', async () => {
    await start({ spec: specOf({ priced: false }) });
    provider.answers(streams([opening(), ...ending()]));
    const refused = await facade.post(ask());
    expect([refused.status, await refused.json()]).toMatchObject([422, { error: { code: 'unknown_model_price' } }]);
    await facade.stop();
    await start({ spec: specOf({ priced: false, budgets: { max_cost_micro_usd: null } }) });
    expect((await facade.post(ask())).status).toBe(200);
  });

  it('[COVERAGE-3] are given back what a dead facade held, after its time; its answer makes the coverage unknown', async () => {
    await start();
    provider.answers(() => undefined);
    const hangUp = new AbortController();
    const lost = facade.post(ask(), { signal: hangUp.signal }).catch(() => null);
    await until(async () => (await facade.types()).length === 1);
    facade.clock.advance(29 * 60_000);
    expect(await sweepReservations(facade.ports)).toBe(0);
    facade.clock.advance(2 * 60_000);
    expect(await sweepReservations(facade.ports)).toBe(1);
    expect((await facade.events()).at(-1)).toMatchObject({ type: 'budget.settled', data: { basis: 'pessimistic', lost: true } });
    expect(await coverage()).toBe('unknown');
    hangUp.abort();
    await lost;
    await facade.idle();
    // It was only slow: what its answer asked for is known after all.
    expect(await coverage()).toBe('full');
    expect((await facade.types()).filter((type) => type === 'budget.settled')).toHaveLength(1);
  });
});

describe('coverage', () => {
  const emit = async (id: string): Promise<void> => {
    provider.answers(streams([opening(), ...call(id), ...ending()]));
    await (await facade.post(ask())).text();
    provider.answers(streams([opening(), words('done'), ...ending(5, 'end_turn')]));
  };

  it('lets a decided call through although the facade had not heard of the decision', async () => {
    await start();
    await emit('toolu_1');
    await facade.gateDecides('toolu_1');
    expect((await facade.post(resultOf('toolu_1'))).status).toBe(200);
    expect(await facade.types()).not.toContain('coverage.gap');
  });

  it('[COVERAGE-1] ends model access when a call came back that nobody decided', async () => {
    await start();
    await emit('toolu_1');
    const response = await facade.post(resultOf('toolu_1'));
    expect([response.status, await response.json()]).toMatchObject([
      403,
      { error: { type: 'permission_error', message: expect.stringContaining('toolu_1') } },
    ]);
    expect((await facade.events()).at(-1)).toMatchObject({ type: 'coverage.gap', data: { tool_call_id: 'toolu_1', class: 'uncovered' } });
    expect((await facade.post(ask())).status).toBe(403);
    expect(provider.seen).toHaveLength(1);
  });

  it('[COVERAGE-1] ends model access when the gate was asked about another input than the model wrote', async () => {
    await start();
    await emit('toolu_1');
    await facade.gateDecides('toolu_1', 'allow', { command: 'ls -la' });
    expect((await facade.post(resultOf('toolu_1'))).status).toBe(403);
    expect((await facade.events()).at(-1)).toMatchObject({ type: 'coverage.gap', data: { tool_call_id: 'toolu_1', class: 'uncovered' } });
    expect((await facade.post(ask())).status).toBe(403);
  });

  it('[COVERAGE-1] compares a path that no harness would change, and leaves one alone that it makes absolute', async () => {
    const write = async (id: string, written: string, judged: string): Promise<number> => {
      const input = { type: 'input_json_delta', partial_json: JSON.stringify({ command: 'ls', path: written }) };
      provider.answers(
        streams([opening(), ...call(id).map((event) => (event.delta === undefined ? event : { ...event, delta: input })), ...ending()]),
      );
      await (await facade.post(ask())).text();
      await facade.gateDecides(id, 'allow', { command: 'ls', path: judged });
      provider.answers(streams([opening(), words('done'), ...ending(5, 'end_turn')]));
      return (await facade.post(resultOf(id))).status;
    };
    await start({ spec: { ...specOf(), harness: { ...specOf().harness, compared_fields: { Bash: ['command', 'path'] } } } });
    expect(await write('toolu_1', '/workspace/a', '/workspace/a')).toBe(200);
    expect(await write('toolu_2', 'a', '/workspace/a')).toBe(200);
    expect(await write('toolu_3', '/workspace/a', '/workspace/.git/hooks/a')).toBe(403);
  });

  it('leaves a harness alone that fills in what is not compared', async () => {
    await start();
    await emit('toolu_1');
    await facade.gateDecides('toolu_1', 'allow', { command: 'ls', timeout: 120_000 });
    expect((await facade.post(resultOf('toolu_1'))).status).toBe(200);
  });

  it('ends model access when the provider gives another call an id that it used before', async () => {
    await start();
    await emit('toolu_1');
    await facade.gateDecides('toolu_1');
    const other = [
      call('toolu_1')[0],
      { ...call('toolu_1')[1], delta: { type: 'input_json_delta', partial_json: '{"command":"rm x"}' } },
      call('toolu_1')[2],
    ];
    provider.answers(streams([opening(), ...(other as Record<string, unknown>[]), ...ending()]));
    await (await facade.post(resultOf('toolu_1'))).text();
    expect((await facade.events()).slice(-2)).toMatchObject([
      { type: 'model.tool_call' },
      { type: 'coverage.gap', data: { class: 'uncovered' } },
    ]);
    expect((await facade.post(ask())).status).toBe(403);
  });

  it('[COVERAGE-2] closes what the harness refused by itself, and goes on', async () => {
    await start();
    await emit('toolu_1');
    const refused = { is_error: true, content: '<tool_use_error>unknown tool</tool_use_error>' };
    expect((await facade.post(resultOf('toolu_1', refused))).status).toBe(200);
    expect(await facade.types()).toContain('model.tool_call_closed');
  });

  it('only records a gap when the policy says report', async () => {
    await start({ spec: specOf({ coverage: 'report' }) });
    await emit('toolu_1');
    expect((await facade.post(resultOf('toolu_1'))).status).toBe(200);
    expect(await facade.events()).toContainEqual(
      expect.objectContaining({ type: 'coverage.gap', data: expect.objectContaining({ report_only: true }) }),
    );
  });

  it('drops tools outside the frozen surface; a call to one never reaches the runner', async () => {
    await start();
    provider.answers(streams([opening(), words('look'), ...call('toolu_1', 'WebFetch'), ...ending()]));
    const offered = [...tools, { name: 'WebFetch', input_schema: {} }];
    const response = await facade.post(ask({ tools: offered }));
    let received = '';
    await (async () => {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) received += Buffer.from(chunk).toString();
    })().catch(() => undefined);
    await facade.idle();
    expect(provider.seen[0]?.body.tools).toEqual(tools);
    expect(received).not.toContain('toolu_1');
    expect(await facade.events()).toMatchObject([
      { type: 'budget.reserved' },
      { type: 'budget.settled' },
      { type: 'model.response' },
      { type: 'model.tool_call', data: { tool: 'WebFetch' } },
      { type: 'coverage.gap', data: { tool_call_id: 'toolu_1', tool: 'WebFetch', class: 'uncovered' } },
    ]);
    expect((await facade.post(ask())).status).toBe(403);
  });

  it('ends model access when the provider ran something itself', async () => {
    await start();
    provider.answers(
      (_request, _body, response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            content: [{ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search' }],
            usage: { input_tokens: 1, output_tokens: 1 },
          }),
        ),
    );
    expect((await facade.post(ask({ stream: false }))).status).toBe(403);
    expect((await facade.events()).at(-1)).toMatchObject({ type: 'coverage.gap', data: { class: 'provider_executed' } });
  });
});

describe('with the scripted model', () => {
  it('holds a conversation whose calls are all covered', async () => {
    const model = await startScriptedModel({
      script: { steps: [{ text: 'look', tools: [{ name: 'Bash', input: { command: 'ls' } }] }, { text: 'done' }] },
    });
    try {
      facade = await startFacade(model.url);
      const first = await (await facade.post(ask())).text();
      const [emitted] = model.emittedToolCalls();
      if (emitted === undefined) throw new Error('the model called no tool');
      expect(first).toContain(emitted.id);
      await facade.gateDecides(emitted.id);
      const messages = [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: emitted.id, name: 'Bash', input: emitted.input }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: emitted.id, content: 'file' }] },
      ];
      expect(await (await facade.post(ask({ messages }))).text()).toContain('done');
      expect((await facade.types()).filter((type) => type === 'model.response')).toHaveLength(2);
    } finally {
      await model.close();
    }
  });
});
