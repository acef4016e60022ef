import { staleLeaseBody, wrongAudienceBody } from '@fluidbox/contracts';
import { anthropicMessages } from './anthropic-messages';
import { outputTokensDefault } from './estimate';
import { refusals } from './refusal';
import { noUsage } from './usage';

const rules = { model: 'claude-haiku-4-5', offers: (name: string) => ['Bash', 'Read'].includes(name) };
const body = (change: Record<string, unknown> = {}) => ({
  model: 'claude-haiku-4-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hi' }],
  ...change,
});
const screen = (value: unknown) => anthropicMessages.screen(value, 'generate', rules);
const sent = (value: unknown): Record<string, unknown> => {
  const screened = screen(value);
  if (!screened.ok) throw new Error(screened.refusal.message);
  return JSON.parse(screened.request.body.toString()) as Record<string, unknown>;
};
const user = (content: unknown) => ({ role: 'user', content });
const tool = (name: string, more: Record<string, unknown> = {}) => ({ name, input_schema: { type: 'object' }, ...more });

describe('screening a Messages request', () => {
  it('passes a good one on as it is, unknown members included', () => {
    const request = body({
      stream: true,
      tools: [tool('Bash')],
      tool_choice: { type: 'auto' },
      thinking: { type: 'enabled', budget_tokens: 1024 },
    });
    expect(sent(request)).toEqual(request);
  });

  it.each([
    ['another model', { model: 'claude-opus-4-8' }, 'model'],
    ['no model', { model: undefined }, 'model'],
    ['a server-executed tool', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }, 'tools/0/type'],
    ['a tool without a name', { tools: [{ input_schema: {} }] }, 'tools/0/name'],
    ['tools of another type', { tools: {} }, 'tools'],
    ['remote MCP servers', { mcp_servers: [{ url: 'https://x' }] }, 'mcp_servers'],
    ['a code container', { container: 'c1' }, 'container'],
    ['a maximum that is no integer', { max_tokens: 1.5 }, 'max_tokens'],
    ['a maximum beyond reason', { max_tokens: 1e9 }, 'max_tokens'],
    ['a dearer speed', { speed: 'fast' }, 'speed'],
    ['a dearer place', { inference_geo: 'us' }, 'inference_geo'],
    ['a dearer tier', { service_tier: 'priority' }, 'service_tier'],
    ['a stream flag of another type', { stream: 'yes' }, 'stream'],
    ['messages of another type', { messages: 'hi' }, 'messages'],
    ['an image of an address', { messages: [user([{ type: 'image', source: { type: 'url', url: 'https://x' } }])] }, 'messages/0'],
    ['a stored document', { messages: [user([]), user([{ type: 'document', source: { type: 'file', file_id: 'f' } }])] }, 'messages/1'],
    [
      'an image of an address in a result',
      { messages: [user([{ type: 'tool_result', content: [{ type: 'image', source: { type: 'url' } }] }])] },
      'messages/0',
    ],
  ])('refuses %s with 422 and names the member', (_name, change, member) => {
    const screened = screen(body(change));
    expect(screened).toMatchObject({ ok: false, refusal: { status: 422 } });
    if (!screened.ok) expect(screened.refusal.message.startsWith(`${member}:`)).toBe(true);
  });

  it('passes an image that carries its bytes', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const request = body({ messages: [user([image, { type: 'tool_result', tool_use_id: 't', content: [image] }])] });
    expect(sent(request)).toEqual(request);
  });

  it('sends the maximum it counted when none was named, and asks for the standard price as it was asked', () => {
    expect(sent(body({ max_tokens: undefined })).max_tokens).toBe(outputTokensDefault);
    expect(sent(body({ max_tokens: null })).max_tokens).toBe(outputTokensDefault);
    expect(sent(body({ service_tier: 'auto', speed: null }))).toMatchObject({ service_tier: 'auto', speed: null, max_tokens: 100 });
  });

  it('can be limited: the maximum, and what is thought within it', () => {
    const limited = (change: Record<string, unknown>, outputTokens = 5_000) =>
      JSON.parse(anthropicMessages.withOutputMax(Buffer.from(JSON.stringify(body(change))), outputTokens).toString()) as object;
    expect(limited({ max_tokens: 64_000 })).toEqual(body({ max_tokens: 5_000 }));
    const thinks = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens } });
    expect(limited(thinks(2_000))).toEqual(body({ max_tokens: 5_000, ...thinks(2_000) }));
    expect(limited(thinks(60_000))).toEqual(body({ max_tokens: 5_000, ...thinks(3_976) }));
  });

  it('forwards betas, but for those that change the price', () => {
    const forwarded = (beta: string) => anthropicMessages.forwardedHeaders({ 'anthropic-beta': beta })['anthropic-beta'];
    expect(forwarded('a-2025, context-1m-2025-08-07 ,b-2026,fast-mode-2026-02-01')).toBe('a-2025,b-2026');
    expect(forwarded('context-1m-2025-08-07')).toBeUndefined();
  });

  it('writes the body anew, so the upstream sees what was checked', () => {
    const smuggled = JSON.parse('{"model":"claude-opus-4-8","model":"claude-haiku-4-5","max_tokens":1,"messages":[]}') as unknown;
    const screened = screen(smuggled);
    expect(screened.ok && screened.request.body.toString()).toBe('{"model":"claude-haiku-4-5","max_tokens":1,"messages":[]}');
    expect(screen(JSON.parse('{"model":"claude-haiku-4-5","model":"claude-opus-4-8","messages":[]}')).ok).toBe(false);
  });

  it('drops tools outside the frozen surface and keeps the others in order', () => {
    const screened = screen(body({ tools: [tool('Read'), tool('WebFetch'), tool('Bash', { type: 'custom' })] }));
    expect(screened.ok && [...screened.request.droppedTools]).toEqual(['WebFetch']);
    expect(sent(body({ tools: [tool('Read'), tool('WebFetch'), tool('Bash', { type: 'custom' })] })).tools).toEqual([
      tool('Read'),
      tool('Bash', { type: 'custom' }),
    ]);
    const none = sent(body({ tools: [tool('WebFetch')], tool_choice: { type: 'any' } }));
    expect('tools' in none || 'tool_choice' in none).toBe(false);
  });

  it('finds every tool result with its flag and the beginning of its text', () => {
    const messages = [
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'plain' }] },
      { role: 'assistant', content: 'x' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'y' },
          {
            type: 'tool_result',
            tool_use_id: 'b',
            is_error: true,
            content: [{ type: 'text', text: '<tool_use_error>no</tool_use_error>' }],
          },
          { type: 'tool_result', tool_use_id: 'c' },
        ],
      },
    ];
    const screened = screen(body({ messages }));
    expect(screened.ok && screened.request.toolResults).toEqual([
      { toolCallId: 'a', isError: false, textStart: 'plain' },
      { toolCallId: 'b', isError: true, textStart: '<tool_use_error>no</tool_use_error>' },
      { toolCallId: 'c', isError: false, textStart: '' },
    ]);
  });
});

describe('an answer that was not streamed', () => {
  const screened = screen(body());
  const request = screened.ok ? screened.request : undefined;
  const answer = {
    type: 'message',
    content: [
      { type: 'text', text: 'a' },
      { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'ls' } },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 7, cache_creation_input_tokens: 20_000, cache_read_input_tokens: 1_000, output_tokens: 300 },
  };

  it('gives usage and calls', () => {
    expect(request && anthropicMessages.readAnswer(answer, request)).toEqual({
      usage: { ...noUsage, inputTokens: 7, outputTokens: 300, cacheReadTokens: 1_000, cacheWriteTokens: 20_000 },
      stopReason: 'tool_use',
      calls: [{ toolCallId: 'toolu_1', tool: 'Bash', input: { command: 'ls' }, rawInput: '{"command":"ls"}' }],
      breach: null,
    });
  });

  it('is nothing without usage, and a breach with a provider-executed call', () => {
    expect(request && anthropicMessages.readAnswer({ ...answer, usage: undefined }, request)).toBeNull();
    expect(
      request &&
        anthropicMessages.readAnswer({ ...answer, content: [{ type: 'server_tool_use', id: 's', name: 'web_search' }] }, request)?.breach
          ?.kind,
    ).toBe('provider_executed');
  });
});

describe('errors', () => {
  it('have the shape of the dialect, but for the two exact bodies', () => {
    expect(JSON.parse(anthropicMessages.errorBody(refusals.budgetExhausted('tokens')))).toMatchObject({
      type: 'error',
      error: { type: 'rate_limit_error', code: 'budget_exhausted' },
    });
    expect(anthropicMessages.errorBody(refusals.wrongAudience())).toBe(wrongAudienceBody);
    expect(anthropicMessages.errorBody(refusals.staleLease())).toBe(staleLeaseBody);
  });
});
