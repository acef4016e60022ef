import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import {
  call,
  codexSpec,
  ending,
  type Facade,
  opening,
  type Provider,
  specOf,
  sse,
  startFacade,
  startProvider,
  streams,
  words,
} from './testing/facade-fixture';

let provider: Provider;
let facade: Facade;
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

beforeEach(async () => {
  provider = await startProvider();
});
afterEach(async () => {
  await facade.stop();
  await provider.close();
});
const refuses = (status: number, headers: Record<string, string> = {}): void =>
  provider.answers(
    (_request, _body, response) =>
      void response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end('{"type":"error","error":{"type":"overloaded_error","message":"of the provider","code":"x"}}'),
  );

describe('the Anthropic SDK, with a run token for a key', () => {
  const client = async (change: Parameters<typeof startFacade>[1] = {}, maxRetries = 0): Promise<Anthropic> => {
    facade = await startFacade(provider.url, change);
    return new Anthropic({ apiKey: await facade.tokenOf(), baseURL: facade.url, maxRetries });
  };
  const ask: Anthropic.MessageCreateParamsNonStreaming = {
    model: 'claude-haiku-4-5',
    max_tokens: 1_000,
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is it?' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
        ],
      },
    ],
    tools: [{ name: 'Bash', input_schema: { type: 'object' } }],
  };

  it('[MODEL-3] streams text and tools, and counts what they cost', async () => {
    const anthropic = await client();
    const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
    provider.answers(
      streams([opening(60), block, words('北京'), { type: 'content_block_stop', index: 0 }, ...call('toolu_1', 'Bash', 1), ...ending(400)]),
    );
    const seen: string[] = [];
    const message = await anthropic.messages
      .stream(ask)
      .on('text', (text) => seen.push(text))
      .finalMessage();
    expect(seen).toEqual(['北京']);
    expect(message).toMatchObject({
      stop_reason: 'tool_use',
      usage: { output_tokens: 400 },
      content: [{ text: '北京' }, { type: 'tool_use', id: 'toolu_1', input: { command: 'ls' } }],
    });
    expect(provider.seen[0]?.body.messages).toEqual(ask.messages);
    expect(await facade.types()).toEqual(['budget.reserved', 'budget.settled', 'model.response', 'model.tool_call']);
  });

  it('gets an answer in one piece, and counts tokens', async () => {
    const anthropic = await client();
    const answer = {
      id: 'm',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 1 },
    };
    provider.answers(
      (request, _body, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json', 'request-id': 'req_7' })
          .end(JSON.stringify(request.url === '/v1/messages' ? answer : { input_tokens: 9 })),
    );
    const message = await anthropic.messages.create(ask);
    expect([message.content[0], message._request_id]).toEqual([{ type: 'text', text: 'hi' }, 'req_7']);
    const { max_tokens: _max, ...count } = ask;
    expect(await anthropic.messages.countTokens(count)).toMatchObject({ input_tokens: 9 });
  });

  it.each([
    [400, Anthropic.BadRequestError],
    [403, Anthropic.PermissionDeniedError],
    [429, Anthropic.RateLimitError],
    [500, Anthropic.InternalServerError],
    [529, Anthropic.InternalServerError],
  ])('throws its own class for a %i of the provider', async (status, expected) => {
    const anthropic = await client();
    refuses(status);
    await expect(anthropic.messages.create(ask)).rejects.toThrow(expected);
    await expect(anthropic.messages.stream(ask).finalMessage()).rejects.toThrow(expected);
  });

  it('throws its own class for what the facade refuses', async () => {
    const anthropic = await client();
    await expect(anthropic.messages.create({ ...ask, model: 'claude-opus-4-8' })).rejects.toThrow(Anthropic.UnprocessableEntityError);
    const stranger = new Anthropic({ apiKey: 'no token', baseURL: facade.url, maxRetries: 0 });
    await expect(stranger.messages.create(ask)).rejects.toThrow(Anthropic.AuthenticationError);
  });

  it('[MODEL-3] tries an overloaded provider again, and a spent budget never', async () => {
    const anthropic = await client({ spec: specOf({ budgets: { max_tokens: 60 } }) }, 3);
    refuses(500, { 'retry-after-ms': '1' });
    await expect(anthropic.messages.create(ask)).rejects.toThrow(Anthropic.InternalServerError);
    expect(provider.seen).toHaveLength(4);
    provider.answers(streams([opening(60), ...ending(1_000)]));
    await anthropic.messages.stream(ask).done();
    expect(provider.seen).toHaveLength(5);
    const refused = await anthropic.messages.create(ask).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Anthropic.RateLimitError);
    expect(String(refused)).toContain('budget_exhausted');
    expect(provider.seen).toHaveLength(5);
  });
});

describe('the OpenAI SDK, with a run token for a key', () => {
  const client = async (change: Parameters<typeof codexSpec>[0] = {}, maxRetries = 0): Promise<OpenAI> => {
    facade = await startFacade(provider.url, { spec: codexSpec(change) });
    return new OpenAI({ apiKey: await facade.tokenOf(), baseURL: `${facade.url}v1`, maxRetries });
  };
  const ask = {
    model: 'gpt-5.5',
    max_output_tokens: 1_000,
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'what is it?' },
          { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'auto' },
        ],
      },
    ],
    tools: [{ type: 'function', name: 'exec_command', parameters: {}, strict: false }],
  } satisfies OpenAI.Responses.ResponseCreateParamsNonStreaming;
  const text = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: '北京', annotations: [] }],
  };
  const shell = {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'call_1',
    name: 'exec_command',
    arguments: '{"cmd":"ls"}',
    status: 'completed',
  };
  const response = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [text, shell],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  };
  const events = [
    { type: 'response.created', sequence_number: 0, response: { ...response, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...text, content: [] } },
    {
      type: 'response.content_part.added',
      sequence_number: 2,
      output_index: 0,
      content_index: 0,
      item_id: 'msg_1',
      part: { type: 'output_text', text: '', annotations: [] },
    },
    { type: 'response.output_text.delta', sequence_number: 3, output_index: 0, content_index: 0, item_id: 'msg_1', delta: '北京' },
    { type: 'response.output_item.done', sequence_number: 4, output_index: 0, item: text },
    { type: 'response.output_item.added', sequence_number: 5, output_index: 1, item: { ...shell, arguments: '' } },
    { type: 'response.function_call_arguments.delta', sequence_number: 6, output_index: 1, item_id: 'fc_1', delta: shell.arguments },
    { type: 'response.output_item.done', sequence_number: 7, output_index: 1, item: shell },
    { type: 'response.completed', sequence_number: 8, response },
  ];
  const answersStream = (): void =>
    provider.answers((_request, _body, out) => void out.writeHead(200, { 'content-type': 'text/event-stream' }).end(sse(events)));

  it('[MODEL-3] streams text and tools, and counts what they cost', async () => {
    const openai = await client();
    answersStream();
    const stream = openai.responses.stream(ask);
    const seen: string[] = [];
    stream.on('response.output_text.delta', ({ delta }) => void seen.push(delta));
    const final = await stream.finalResponse();
    expect(seen).toEqual(['北京']);
    expect(final.output).toMatchObject([{ type: 'message' }, { type: 'function_call', call_id: 'call_1', arguments: shell.arguments }]);
    expect(provider.seen[0]?.body.input).toEqual(ask.input);
    expect(await facade.types()).toEqual(['budget.reserved', 'budget.settled', 'model.response', 'model.tool_call']);
  });

  it('gets an answer in one piece', async () => {
    const openai = await client();
    provider.answers(
      (_request, _body, out) =>
        void out.writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'req_7' }).end(JSON.stringify(response)),
    );
    const answer = await openai.responses.create(ask);
    expect([answer.output_text, answer._request_id]).toEqual(['北京', 'req_7']);
  });

  it.each([
    [400, OpenAI.BadRequestError],
    [403, OpenAI.PermissionDeniedError],
    [429, OpenAI.RateLimitError],
    [500, OpenAI.InternalServerError],
    [529, OpenAI.InternalServerError],
  ])('throws its own class for a %i of the provider', async (status, expected) => {
    const openai = await client();
    refuses(status);
    await expect(openai.responses.create(ask)).rejects.toThrow(expected);
  });

  it('throws its own class for what the facade refuses', async () => {
    const openai = await client();
    await expect(openai.responses.create({ ...ask, model: 'gpt-6-sol' })).rejects.toThrow(OpenAI.UnprocessableEntityError);
    await expect(openai.responses.create({ ...ask, previous_response_id: 'resp_0' })).rejects.toThrow('previous_response_id');
    const stranger = new OpenAI({ apiKey: 'no token', baseURL: `${facade.url}v1`, maxRetries: 0 });
    await expect(stranger.responses.create(ask)).rejects.toThrow(OpenAI.AuthenticationError);
    await expect(openai.models.list()).rejects.toThrow(OpenAI.NotFoundError);
  });

  it('[MODEL-3] tries an overloaded provider again, and a spent budget never', async () => {
    const openai = await client({ budgets: { max_tokens: 10 } }, 3);
    refuses(500, { 'retry-after-ms': '1' });
    await expect(openai.responses.create(ask)).rejects.toThrow(OpenAI.InternalServerError);
    expect(provider.seen).toHaveLength(4);
    answersStream();
    await openai.responses.stream(ask).finalResponse();
    expect(provider.seen).toHaveLength(5);
    const refused = await openai.responses.create(ask).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(OpenAI.RateLimitError);
    expect(refused).toMatchObject({ code: 'budget_exhausted' });
    expect(provider.seen).toHaveLength(5);
  });
});
