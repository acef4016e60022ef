import { type ScriptedModel, type ScriptedModelOptions, startScriptedModel } from './server';

let model: ScriptedModel | undefined;
afterEach(async () => {
  await model?.close();
  model = undefined;
});

async function start(script: ScriptedModelOptions['script']): Promise<ScriptedModel> {
  model = await startScriptedModel({ script });
  return model;
}

const tools = [{ name: 'Bash', input_schema: { type: 'object' } }];
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });

function post(body: unknown, headers: Record<string, string> = { 'x-api-key': 'any' }, path = '/v1/messages'): Promise<Response> {
  return fetch(`${model?.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

const request = (messages: unknown[], more: object = {}) => ({ model: 'claude-haiku-4-5', max_tokens: 100, tools, messages, ...more });

interface WireEvent {
  readonly type: string;
  readonly index?: number;
  readonly delta?: { readonly partial_json?: string; readonly text?: string; readonly stop_reason?: string };
  readonly message?: { readonly usage: Record<string, number> };
  readonly usage?: Record<string, number>;
  readonly content_block?: { readonly id?: string; readonly input?: unknown };
}

async function events(response: Response): Promise<WireEvent[]> {
  const text = await response.text();
  return text
    .split('\n\n')
    .filter((part) => part !== '')
    .map((part) => {
      const [name, data] = part.split('\n');
      const event = JSON.parse(data?.slice('data: '.length) ?? '') as WireEvent;
      expect(name).toBe(`event: ${event.type}`);
      return event;
    });
}

describe('the scripted model', () => {
  const command = 'printf "ünïcode and a long argument that needs several chunks" | wc -c';
  const script = {
    steps: [
      { text: 'I will look at it first.', tools: [{ name: 'Bash', input: { command } }] },
      { when: { resultContains: 'not ok' }, text: 'It failed.' },
      { text: 'It worked.' },
    ],
  };

  it('streams a tool call in the order and shape of the provider', async () => {
    await start(script);
    const all = await events(await post(request([user('go')], { stream: true })));
    expect(all.map((event) => event.type).filter((type) => type !== 'content_block_delta')).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_stop',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    const json = all.map((event) => event.delta?.partial_json).filter((part) => part !== undefined);
    expect(json.length).toBeGreaterThan(2);
    expect(JSON.parse(json.join(''))).toEqual({ command });
    expect(all.at(-2)?.delta?.stop_reason).toBe('tool_use');
    expect(all[0]?.message?.usage.output_tokens).toBe(1);
    expect(all.at(-2)?.usage?.output_tokens).toBeGreaterThan(1);
    const ids = all.map((event) => event.content_block?.id).filter((id) => id !== undefined);
    expect(ids).toEqual(model?.emittedToolCalls().map(({ id }) => id));
    expect(ids[0]).toMatch(/^toolu_01[A-Za-z0-9]{20,}$/);
  });

  it('answers a repeated request alike, with a new call id', async () => {
    await start(script);
    await (await post(request([user('go')]))).json();
    await (await post(request([user('go')]))).json();
    const [first, second] = model?.emittedToolCalls() ?? [];
    expect(first?.input).toEqual(second?.input);
    expect(first?.id).not.toBe(second?.id);
  });

  it.each([
    ['3 ok', 'It worked.'],
    ['3 not ok', 'It failed.'],
  ])('chooses by the last tool result: %s', async (result, text) => {
    await start(script);
    const messages = [
      user('go'),
      assistant([{ type: 'tool_use', id: 't', name: 'Bash', input: {} }]),
      user([{ type: 'tool_result', tool_use_id: 't', content: result }]),
    ];
    const body = (await (await post(request(messages))).json()) as { content: { text: string }[]; stop_reason: string };
    expect(body.content[0]?.text).toBe(text);
    expect(body.stop_reason).toBe('end_turn');
  });

  it('tells conversations apart by their first message', async () => {
    await start({ conversations: [{ match: 'SUB', steps: [{ text: 'sub' }] }, { steps: [{ text: 'main' }] }] });
    const answers = await Promise.all(
      ['SUB do it', 'do it'].map(async (prompt) => (await (await post(request([user(prompt)]))).json()) as { content: { text: string }[] }),
    );
    expect(answers.map((answer) => answer.content[0]?.text)).toEqual(['sub', 'main']);
  });

  it('reads what it was sent before from the cache when the request asks for caching', async () => {
    await start(script);
    const system = [{ type: 'text', text: 'x'.repeat(4000), cache_control: { type: 'ephemeral' } }];
    const usage = async (messages: unknown[]) =>
      ((await (await post(request(messages, { system }))).json()) as { usage: Record<string, number> }).usage;
    const first = await usage([user('go')]);
    const second = await usage([user('go'), assistant('a'), user('more')]);
    expect(first.cache_read_input_tokens).toBe(0);
    expect(first.cache_creation_input_tokens).toBeGreaterThan(1000);
    expect(second.cache_read_input_tokens).toBeGreaterThan(1000);
  });

  it('fails as often as the script says, then answers', async () => {
    await start({ steps: [{ error: { status: 529, times: 1 }, text: 'at last' }] });
    const first = await post(request([user('go')]));
    expect(first.status).toBe(529);
    expect(await first.json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
    expect((await post(request([user('go')]))).status).toBe(200);
  });

  it('refuses what the provider refuses', async () => {
    await start(script);
    expect((await post(request([user('go')]), {})).status).toBe(401);
    expect((await post({ model: 'm', max_tokens: 1, messages: 'no' })).status).toBe(400);
    expect((await post(request([user('go')], { max_tokens: undefined }))).status).toBe(400);
    expect((await post(request([user('go')]), undefined, '/v1/complete')).status).toBe(404);
  });

  it('counts tokens', async () => {
    await start(script);
    const body = (await (await post({ model: 'm', messages: [user('go')] }, undefined, '/v1/messages/count_tokens')).json()) as {
      input_tokens: number;
    };
    expect(body.input_tokens).toBeGreaterThan(5);
  });

  it('cuts a stream in the middle when told to', async () => {
    await start({ steps: [{ text: 'x'.repeat(200), hang: 'cut' }] });
    await expect(post(request([user('go')], { stream: true })).then((response) => response.text())).rejects.toThrow();
  });
});

describe('the scripted model on the Responses wire', () => {
  const patch = '*** Begin Patch\n*** Add File: a\n+a\n*** End Patch';
  const script = {
    conversations: [
      {
        match: 'the task',
        wire: 'responses' as const,
        steps: [
          {
            text: 'Looking.',
            tools: [
              { name: 'exec_command', input: { cmd: 'ls -la' } },
              { name: 'apply_patch', input: patch },
            ],
          },
          { when: { resultContains: 'rejected' }, text: 'It was refused.' },
          { text: 'It worked.' },
        ],
      },
      { steps: [{ error: { status: 400, message: 'only the task' } }] },
    ],
  };
  const message = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
  const ask = (input: unknown, more: object = {}) =>
    post(
      { model: 'gpt-5.5', input, tools: [{ type: 'function', name: 'exec_command' }], ...more },
      { authorization: 'Bearer any' },
      '/v1/responses',
    );
  const calls = [
    { type: 'function_call', call_id: 'a', name: 'exec_command', arguments: '{}' },
    { type: 'custom_tool_call', call_id: 'b', name: 'apply_patch', input: patch },
  ];

  it('streams items in the order and shape of the provider', async () => {
    await start(script);
    const all = (await events(await ask([message('environment'), message('do the task')], { stream: true }))) as unknown as {
      type: string;
      sequence_number: number;
      delta?: string;
      item?: Record<string, unknown>;
      response?: { output: unknown[]; usage: { input_tokens: number } | null };
    }[];
    expect(all.map((event) => event.sequence_number)).toEqual(all.map((_, at) => at));
    expect(all.map((event) => event.type).filter((type) => !type.endsWith('.delta'))).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.custom_tool_call_input.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const done = all.filter((event) => event.type === 'response.output_item.done').map((event) => event.item);
    expect(done.slice(1)).toMatchObject([
      { type: 'function_call', name: 'exec_command', arguments: '{"cmd":"ls -la"}' },
      { type: 'custom_tool_call', name: 'apply_patch', input: patch },
    ]);
    expect(done.slice(1).map((item) => item?.call_id)).toEqual(model?.emittedToolCalls().map(({ id }) => id));
    const typed = all.filter((event) => event.type === 'response.custom_tool_call_input.delta').map((event) => event.delta);
    expect(typed.join('')).toBe(patch);
    expect(all.at(-1)?.response?.output).toEqual(done);
    expect(all.at(-1)?.response?.usage?.input_tokens).toBeGreaterThan(10);
    expect(all[0]?.response?.usage).toBeNull();
  });

  it.each([
    ['exec rejected by user', 'It was refused.'],
    ['fine', 'It worked.'],
  ])('chooses by the last results: %s', async (output, text) => {
    await start(script);
    const results = [
      { type: 'function_call_output', call_id: 'a', output },
      { type: 'custom_tool_call_output', call_id: 'b', output: 'ok' },
    ];
    const answer = (await (await ask([message('the task'), ...calls, ...results, message('a word between')])).json()) as {
      output: { content: { text: string }[] }[];
      usage: { input_tokens_details: { cached_tokens: number } };
    };
    expect(answer.output[0]?.content[0]?.text).toBe(text);
    expect(answer.usage.input_tokens_details.cached_tokens).toBeGreaterThan(0);
  });

  it('takes a conversation of the other wire for none of its own, and refuses as the provider does', async () => {
    await start(script);
    const refused = await ask('something else');
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { type: 'invalid_request_error', message: 'only the task' } });
    expect((await post(request([user('the task')]))).status).toBe(400);
    expect((await post({ model: 'm', input: 'the task' }, {}, '/v1/responses')).status).toBe(401);
    expect((await ask([])).status).toBe(400);
  });
});
