import { wrongAudienceBody } from '@fluidbox/contracts';
import { codexSpec, type Facade, type Provider, providerKey, specOf, sse, startFacade, startProvider } from './testing/facade-fixture';

const tool = { type: 'function', name: 'exec_command', parameters: { type: 'object' } };
const ask = (change: Record<string, unknown> = {}) => ({
  model: 'gpt-5.5',
  input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
  tools: [tool],
  stream: true,
  max_output_tokens: 4_000,
  ...change,
});
const shell = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'exec_command', arguments: '{"cmd":"ls"}' };
const usage = { input_tokens: 100, input_tokens_details: { cached_tokens: 40 }, output_tokens: 20 };
const answer = (item: Record<string, unknown> = shell) => [
  { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', usage: null } },
  { type: 'response.output_item.added', output_index: 0, item: { ...item, arguments: '' } },
  { type: 'response.output_item.done', output_index: 0, item },
  { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output: [item], usage } },
];
const resultOf = (id: string, output = 'ok') => ask({ input: [{ type: 'function_call_output', call_id: id, output }] });

let provider: Provider;
let facade: Facade;
const post = (body: unknown, headers: Record<string, string> = {}) => facade.post(body, { path: 'v1/responses', headers });
const streams = (events: Record<string, unknown>[]): void =>
  provider.answers(
    (_request, _body, response) =>
      void response
        .writeHead(200, {
          'content-type': 'text/event-stream',
          'x-request-id': 'req_1',
          'x-ratelimit-remaining-tokens': '7',
          'openai-organization': 'acme',
        })
        .end(sse(events)),
  );

beforeEach(async () => {
  provider = await startProvider();
  facade = await startFacade(provider.url, { spec: codexSpec() });
  streams(answer());
});
afterEach(async () => {
  await facade.stop();
  await provider.close();
});

describe('the OpenAI Responses dialect', () => {
  it('passes an answer byte by byte, with the credential of the deployment and not of the run', async () => {
    const response = await post(ask({ client_metadata: { 'x-codex-installation-id': 'i' } }), {
      authorization: `Bearer ${await facade.tokenOf()}`,
      'session-id': 's',
      'x-codex-turn-metadata': '{}',
      'openai-beta': 'b',
    });
    expect(await response.text()).toBe(sse(answer()));
    expect(Object.fromEntries(response.headers)).toMatchObject({ 'x-request-id': 'req_1', 'x-ratelimit-remaining-tokens': '7' });
    expect(response.headers.get('openai-organization')).toBeNull();
    expect(provider.seen[0]).toMatchObject({
      path: '/v1/responses',
      headers: { authorization: `Bearer ${providerKey}` },
      body: { store: false, max_output_tokens: 4_000 },
    });
    expect(provider.seen[0]?.body).not.toHaveProperty('client_metadata');
    for (const header of ['session-id', 'x-codex-turn-metadata', 'openai-beta', 'x-api-key'])
      expect(provider.seen[0]?.headers).not.toHaveProperty(header);
    expect(await facade.events()).toMatchObject([
      { type: 'budget.reserved' },
      { type: 'budget.settled', data: { tokens: 120, cost_micro_usd: 60 + 4 + 200, basis: 'usage' } },
      {
        type: 'model.response',
        data: { input_tokens: 60, cache_read_tokens: 40, output_tokens: 20, stop_reason: 'completed', estimated: false },
      },
      { type: 'model.tool_call', data: { tool_call_id: 'call_1', tool: 'Bash' } },
    ]);
  });

  it('meters an answer in one piece just the same', async () => {
    const whole = { id: 'resp_1', status: 'completed', output: [shell], usage };
    provider.answers(
      (_request, _body, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole)),
    );
    expect(await (await post(ask({ stream: false }))).json()).toEqual(whole);
    expect(await facade.events()).toMatchObject([
      { type: 'budget.reserved' },
      { type: 'budget.settled', data: { tokens: 120, basis: 'usage' } },
      { type: 'model.response' },
      { type: 'model.tool_call' },
    ]);
  });

  it('takes a decided call back and ends at one that nobody decided', async () => {
    await (await post(ask())).text();
    await facade.gateDecides('call_1');
    expect((await post(resultOf('call_1'))).status).toBe(200);
    streams(answer({ ...shell, call_id: 'call_2' }));
    await (await post(ask())).text();
    const refused = await post(resultOf('call_2'));
    expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: 'run_not_active', type: 'permission_error' } }]);
    expect(await facade.types()).toContain('coverage.gap');
  });

  it('closes a call that the harness refused by itself in words', async () => {
    await (await post(ask())).text();
    expect((await post(resultOf('call_1', 'unsupported call: exec_command'))).status).toBe(200);
    expect(await facade.types()).toContain('model.tool_call_closed');
  });

  it('takes the namespace `functions` for none, as the program does', async () => {
    streams(answer({ ...shell, namespace: 'functions' }));
    await (await post(ask())).text();
    await facade.gateDecides('call_1');
    expect((await post(resultOf('call_1'))).status).toBe(200);
  });

  it.each([
    ['a patch as arguments', { ...shell, name: 'apply_patch' }, 'arguments:apply_patch'],
    ['a command as text', { ...shell, type: 'custom_tool_call', name: 'exec_command', input: 'ls' }, 'text:exec_command'],
  ])('[COVERAGE-2] %s never runs: the word for it closes the call, and no decision about the tool does', async (_what, item, tool) => {
    streams(answer(item));
    await (await post(ask())).text();
    expect((await post(resultOf('call_1', 'aborted'))).status).toBe(200);
    expect((await facade.events()).filter(({ type }) => type === 'model.tool_call_closed')).toMatchObject([
      { data: { tool, class: 'rejected_by_harness' } },
    ]);
    streams(answer({ ...item, call_id: 'call_2' }));
    await (await post(ask())).text();
    await facade.gateDecides('call_2');
    expect((await post(resultOf('call_2', 'done'))).status).toBe(403);
  });

  it.each([
    ['aborted'],
    ['aborted by user after 3.0s'],
    ['Chunk ID: 1\nOutput:\nunsupported call: x'],
    ['exec_command failed: rejected by user'],
  ])('[COVERAGE-1] an ordinary call is not closed by %j', async (said) => {
    await (await post(ask())).text();
    expect((await post(resultOf('call_1', said))).status).toBe(403);
  });

  it('drops a tool of no surface, and ends model access at a call to it', async () => {
    streams(answer({ ...shell, name: 'exec' }));
    const body = ask({ input: [{ type: 'additional_tools', role: 'developer', tools: [{ ...tool, name: 'exec' }] }] });
    await expect(post(body).then((response) => response.text())).rejects.toThrow();
    expect(provider.seen[0]?.body.input).toEqual([{ type: 'additional_tools', role: 'developer', tools: [] }]);
    await facade.idle();
    expect((await facade.events()).at(-1)).toMatchObject({ type: 'coverage.gap', data: { tool: 'exec' } });
    streams(answer());
    expect((await post(ask())).status).toBe(403);
  });

  it.each([
    ['another path of the provider', 'v1/responses/resp_1', 404],
    ['its models', 'v1/models', 404],
    ['the compaction endpoint', 'v1/responses/compact', 404],
    ['the other dialect', 'v1/messages', 404],
  ])('refuses %s', async (_name, path, status) => {
    const response = await facade.post(ask(), { path });
    expect(response.status).toBe(status);
    expect(provider.seen).toHaveLength(0);
  });

  it.each([
    ['another model under the right one', `{"model":"gpt-5.5",${JSON.stringify(ask({ model: 'gpt-6-sol' })).slice(1)}`, {}, 422],
    ['what is kept at the provider', JSON.stringify(ask({ previous_response_id: 'resp_0' })), {}, 422],
    ['a compressed body', JSON.stringify(ask()), { 'content-encoding': 'zstd' }, 415],
    ['a tool token', JSON.stringify(ask()), { 'x-api-key': 'tool' }, 403],
  ])('answers %s in its own shape, and nothing is sent or stored', async (_name, body, headers, status) => {
    const token = 'x-api-key' in headers ? { 'x-api-key': await facade.tokenOf({ audience: 'tool' }) } : {};
    const response = await post(body, { ...headers, ...token });
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([status, 'false']);
    const text = await response.text();
    if (status === 403) expect(text).toBe(wrongAudienceBody);
    else expect(JSON.parse(text)).toMatchObject({ error: { type: 'invalid_request_error', param: null } });
    expect(provider.seen).toHaveLength(0);
    expect(await facade.types()).toEqual([]);
  });

  it('sends the last of two members of one name only when it is the admitted one', async () => {
    const twice = `{"model":"gpt-6-sol","store":true,${JSON.stringify(ask()).slice(1)}`;
    expect((await post(twice)).status).toBe(200);
    expect(provider.seen[0]?.body).toMatchObject({ model: 'gpt-5.5', store: false });
  });

  it('is not spoken to a run of the other harness, nor without a key', async () => {
    await facade.stop();
    facade = await startFacade(provider.url, { spec: specOf() });
    expect((await post(ask())).status).toBe(404);
    await facade.stop();
    facade = await startFacade(null, { spec: codexSpec() });
    const response = await post(ask());
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('FLUIDBOX_OPENAI_KEY_FILE')]);
  });
});
