import { staleLeaseBody, wrongAudienceBody } from '@fluidbox/contracts';
import type { ScreenRules } from './dialect';
import { outputTokensDefault } from './estimate';
import { openaiResponses } from './openai-responses';
import { refusals } from './refusal';

const rules: ScreenRules = { model: 'gpt-5.5', offers: (name) => ['exec_command', 'apply_patch', 'clock.curr_time'].includes(name) };
const fn = (name: string) => ({ type: 'function', name, parameters: { type: 'object' } });
const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] };
const body = (change: Record<string, unknown> = {}) => ({ model: 'gpt-5.5', input: [user], stream: true, store: false, ...change });
const screen = (value: unknown) => openaiResponses.screen(value, 'generate', rules);
const screened = (value: unknown) => {
  const result = screen(value);
  if (!result.ok) throw new Error(result.refusal.message);
  return { ...result.request, sent: JSON.parse(result.request.body.toString()) as Record<string, unknown> };
};

describe('screening a Responses request', () => {
  it('passes on what Codex sends, without what it says of its installation', () => {
    const codex = {
      tools: [fn('exec_command'), { type: 'custom', name: 'apply_patch', format: { type: 'grammar' } }],
      tool_choice: 'auto',
      parallel_tool_calls: true,
      reasoning: { effort: 'medium' },
      include: ['reasoning.encrypted_content'],
      prompt_cache_key: 'thread',
      text: { verbosity: 'low' },
    };
    const { sent, droppedTools } = screened(body({ ...codex, client_metadata: { 'x-codex-installation-id': 'i' } }));
    expect(sent).toEqual({ ...body(codex), max_output_tokens: outputTokensDefault, service_tier: 'default' });
    expect(droppedTools.size).toBe(0);
  });

  it.each([
    ['another model', { model: 'gpt-6-sol' }, 'model'],
    ['no model', { model: undefined }, 'model'],
    ['a response kept at the provider', { previous_response_id: 'resp_1' }, 'previous_response_id'],
    ['a conversation kept at the provider', { conversation: 'conv_1' }, 'conversation'],
    ['a prompt kept at the provider', { prompt: { id: 'pmpt_1' } }, 'prompt'],
    ['an answer in the background', { background: true }, 'background'],
    ['an item kept at the provider', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input/0'],
    ['a feature that nobody judged', { moderation: { model: 'm' } }, 'moderation'],
    ['a dearer tier', { service_tier: 'priority' }, 'service_tier'],
    ['a stream flag of another type', { stream: 'yes' }, 'stream'],
    ['a maximum beyond reason', { max_output_tokens: 1e9 }, 'max_output_tokens'],
    ['a maximum that is no integer', { max_output_tokens: '5' }, 'max_output_tokens'],
    ['no input', { input: undefined }, 'input'],
    ['an input that is no object', { input: ['x'] }, 'input/0'],
    ['tools of another type', { tools: {} }, 'tools'],
    ['a tool without a name', { tools: [{ type: 'function' }] }, 'tools/0/name'],
    ['a tool without a type', { tools: [{ name: 'x' }] }, 'tools/0'],
    [
      'an image that the provider would fetch',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'https://x/y' }] }] },
      'input/0',
    ],
    ['a stored file', { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] }, 'input/0'],
    [
      'a fetched picture of a screen',
      { input: [{ type: 'function_call_output', call_id: 'c', output: { type: 'computer_screenshot', image_url: 'https://x' } }] },
      'input/0',
    ],
    ...[
      { type: 'mcp_approval_response', approval_request_id: 'a', approve: true },
      { type: 'mcp_call', id: 'm', server_label: 's', name: 'n', arguments: '{}' },
      { type: 'code_interpreter_call', id: 'c', container_id: 'cntr_1' },
      { type: 'computer_call_output', call_id: 'c', output: {} },
      { type: 'image_generation_call', id: 'ig_1' },
      { type: 'web_search_call', id: 'ws_1' },
      { type: 'file_search_call', id: 'fs_1' },
      { type: 'shell_call_output', call_id: 'c', output: [] },
      { type: 'function_call_output ', call_id: 'c', output: 'x' },
      { type: 7 },
    ].map((item): [string, Record<string, unknown>, string] => [`an item of the type ${item.type}`, { input: [user, item] }, 'input/1']),
    [
      'a fetched file in a result',
      { input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_file', file_url: 'https://x' }] }] },
      'input/0',
    ],
  ])('refuses %s with 422 and names the member', (_name, change, member) => {
    const result = screen(body(change));
    expect(result).toMatchObject({ ok: false, refusal: { status: 422 } });
    if (!result.ok) expect(result.refusal.message.startsWith(`${member}:`)).toBe(true);
  });

  it('says why a request must carry everything', () => {
    for (const member of ['previous_response_id', 'conversation', 'prompt'])
      expect(screen(body({ [member]: 'x' }))).toMatchObject({ refusal: { message: expect.stringContaining('keeps no state') } });
  });

  it('refuses a body that is no object', () => {
    for (const value of [null, [], 'x', 3]) expect(screen(value)).toMatchObject({ ok: false });
  });

  it('admits the harmless twins: no state, an image in the request, the standard tier', () => {
    const image = { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] };
    const { sent } = screened(
      body({ previous_response_id: null, background: false, conversation: null, service_tier: 'auto', input: [image] }),
    );
    expect(sent).toEqual({
      model: 'gpt-5.5',
      input: [image],
      stream: true,
      store: false,
      service_tier: 'default',
      max_output_tokens: outputTokensDefault,
    });
    expect(screened(body({ input: 'hi' })).sent.input).toBe('hi');
  });

  it('never lets the provider keep anything', () => {
    for (const store of [true, undefined, null, 'yes']) expect(screened(body({ store })).sent.store).toBe(false);
  });

  it('drops what may not be offered, wherever it stands, and remembers it', () => {
    const { sent, droppedTools } = screened(
      body({
        tools: [
          fn('exec_command'),
          fn('spawn_agent'),
          { type: 'web_search' },
          { type: 'image_generation' },
          { type: 'mcp', server_label: 's', server_url: 'https://x' },
          { type: 'tool_search', execution: 'client' },
          { type: 'namespace', name: 'clock', tools: [fn('curr_time'), fn('sleep')] },
          { type: 'namespace', name: 'multi_agent', tools: [fn('spawn_agent')] },
        ],
        input: [{ type: 'additional_tools', role: 'developer', tools: [fn('exec'), fn('exec_command')] }, user],
      }),
    );
    expect(sent.tools).toEqual([fn('exec_command'), { type: 'namespace', name: 'clock', tools: [fn('curr_time')] }]);
    expect(sent.input).toEqual([{ type: 'additional_tools', role: 'developer', tools: [fn('exec_command')] }, user]);
    expect([...droppedTools]).toEqual([
      'spawn_agent',
      'web_search',
      'image_generation',
      'mcp',
      'tool_search',
      'clock.sleep',
      'multi_agent.spawn_agent',
      'exec',
    ]);
  });

  it.each([
    ['goes with the tool it names', { type: 'function', name: 'spawn_agent' }, undefined],
    ['goes when it requires one of none', 'required', undefined],
    ['stays when it fits', 'auto', 'auto'],
  ])('a choice among tools %s', (_name, choice, expected) => {
    expect(screened(body({ tools: [fn('spawn_agent')], tool_choice: choice })).sent.tool_choice).toEqual(expected);
    expect(screened(body({ tools: [fn('exec_command')], tool_choice: choice })).sent.tool_choice).toEqual(choice);
  });

  it('gives every result of the history', () => {
    const output = (type: string, more: Record<string, unknown>) => ({ type, ...more });
    const { toolResults } = screened(
      body({
        input: [
          user,
          output('function_call_output', { call_id: 'c1', output: 'unsupported call: x' }),
          output('custom_tool_call_output', { call_id: 'c2', output: [{ type: 'input_text', text: 'Exit code: 0' }] }),
          output('local_shell_call_output', { id: 'c3', output: '{}' }),
          output('function_call_output', { output: 'of nothing' }),
        ],
      }),
    );
    expect(toolResults).toEqual([
      { toolCallId: 'c1', isError: false, textStart: 'unsupported call: x' },
      { toolCallId: 'c2', isError: false, textStart: 'Exit code: 0' },
      { toolCallId: 'c3', isError: false, textStart: '{}' },
    ]);
    expect(screened(body({ input: 'hi' })).toolResults).toEqual([]);
  });

  it('can be limited', () => {
    const { body: bytes } = screened(body());
    expect(JSON.parse(openaiResponses.withOutputMax(bytes, 500).toString())).toEqual({
      ...body(),
      max_output_tokens: 500,
      service_tier: 'default',
    });
  });
});

describe('what the wire around it says', () => {
  it('forwards nothing that a harness says of itself, and identifies the deployment by its key alone', () => {
    expect(
      openaiResponses.forwardedHeaders({
        'session-id': 's',
        'x-codex-turn-metadata': '{}',
        'openai-beta': 'x',
        authorization: 'Bearer run',
      }),
    ).toEqual({});
    expect(openaiResponses.provider.credentialHeaders('k')).toEqual({ authorization: 'Bearer k' });
  });

  it('writes refusals as this provider does, and those that runners recognise byte by byte', () => {
    expect(JSON.parse(openaiResponses.errorBody(refusals.budgetExhausted('tokens')))).toMatchObject({
      error: { code: 'budget_exhausted', type: 'insufficient_quota', param: null },
    });
    expect(openaiResponses.errorBody(refusals.wrongAudience())).toBe(wrongAudienceBody);
    expect(openaiResponses.errorBody(refusals.staleLease())).toBe(staleLeaseBody);
  });
});
