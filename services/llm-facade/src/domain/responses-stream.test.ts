import fc from 'fast-check';
import type { MeterSign, ScreenedRequest } from './dialect';
import { openaiResponses } from './openai-responses';
import { noUsage } from './usage';

type Event = Record<string, unknown>;
const sse = (events: readonly Event[], lineEnd = '\n'): Buffer =>
  Buffer.from(events.map((data) => `event: ${String(data.type)}${lineEnd}data: ${JSON.stringify(data)}${lineEnd}${lineEnd}`).join(''));
const text = (delta: string): Event => ({
  type: 'response.output_text.delta',
  item_id: 'msg_1',
  output_index: 0,
  content_index: 0,
  delta,
  obfuscation: 'x'.repeat(200),
});
const shell = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'exec_command', arguments: '{"cmd":"echo 北京"}' };
const patch = { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_2', name: 'apply_patch', input: '*** Begin Patch' };
const added = (index: number, item: Event): Event => ({ type: 'response.output_item.added', output_index: index, item });
const done = (index: number, item: Event): Event => ({ type: 'response.output_item.done', output_index: index, item });
const args = (index: number, delta: string): Event => ({ type: 'response.function_call_arguments.delta', output_index: index, delta });
const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 12 },
  total_tokens: 120,
};
const completed = (change: Event = {}): Event => ({
  type: 'response.completed',
  response: { status: 'completed', output: [shell, patch], usage, ...change },
});
const whole = [
  { type: 'response.created', response: { status: 'in_progress', usage: null, output: [] } },
  added(0, { type: 'message', role: 'assistant' }),
  text('北京 "type":"response.completed"'),
  text('\\" and "delta":"more'),
  added(1, { ...shell, arguments: '' }),
  args(1, '{"cmd":'),
  args(1, '"echo 北京"}'),
  done(1, shell),
  added(2, { ...patch, input: '' }),
  done(2, patch),
  completed(),
];
const calls = [
  { toolCallId: 'call_1', tool: 'exec_command', input: { cmd: 'echo 北京' }, rawInput: shell.arguments },
  { toolCallId: 'call_2', tool: 'apply_patch', input: patch.input, rawInput: patch.input, isText: true },
];
const expected = {
  usage: { ...noUsage, inputTokens: 10, cacheReadTokens: 60, cacheWriteTokens: 30, outputTokens: 20, reasoningTokens: 12 },
  stopReason: 'completed',
  calls,
  breach: null,
  final: true,
};
const requestWith = (dropped: readonly string[] = []): ScreenedRequest => ({
  body: Buffer.alloc(0),
  stream: true,
  outputTokensMax: 100,
  cachesForAnHour: false,
  droppedTools: new Set(dropped),
  toolResults: [],
});
function meter(chunks: readonly Buffer[], { dropped = [] as string[], stopsAtBreach = true } = {}) {
  const reader = openaiResponses.streamMeter(requestWith(dropped), { stopsAtBreach });
  const signs: MeterSign[] = chunks.map((chunk) => reader.push(chunk));
  return { signs, result: reader.result() };
}

describe('metering a Responses stream', () => {
  it.each(['\n', '\r\n', '\r'])('reads usage and calls cut at every byte, line end %j (H-LM-05)', (lineEnd) => {
    const bytes = sse(whole, lineEnd);
    for (let cut = 0; cut <= bytes.length; cut++) expect(meter([bytes.subarray(0, cut), bytes.subarray(cut)]).result).toEqual(expected);
  });

  it('[MODEL-4] reads the same however the bytes are cut, and holds the last event', () => {
    const bytes = sse(whole);
    const lastData = bytes.lastIndexOf('data: {"type":"response.completed"');
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 60 }), (sizes) => {
        const chunks: Buffer[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        const { signs, result } = meter(chunks);
        expect(result).toEqual(expected);
        const finished = signs.findIndex(({ kind }) => kind === 'finished');
        const sign = signs[finished];
        const sent =
          chunks.slice(0, finished).reduce((sum, { length }) => sum + length, 0) +
          (sign?.kind === 'finished' ? sign.finishedAt : Number.NaN);
        expect(sent).toBeLessThan(bytes.length - 1);
        expect(sent).toBeGreaterThanOrEqual(Math.min(lastData, sent));
        expect(signs.filter(({ kind }) => kind === 'finished')).toHaveLength(1);
      }),
    );
  });

  it.each([
    [
      'incomplete',
      {
        type: 'response.incomplete',
        response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [], usage },
      },
      'max_output_tokens',
    ],
    ['failed', { type: 'response.failed', response: { status: 'failed', error: { code: 'server_error' }, output: [], usage } }, 'failed'],
  ])('counts an answer that ended %s', (_name, last, stopReason) => {
    expect(meter([sse([text('x'), last])]).result).toMatchObject({ final: true, stopReason, usage: expected.usage });
  });

  it.each([
    ['no usage', completed({ usage: null })],
    ['an error', { type: 'error', code: 'server_error', message: 'x' }],
  ])('estimates the output of an answer that ended with %s, from its text alone', (_name, last) => {
    const { signs, result } = meter([sse([text('some words of an answer'), text('and "more"'), last])]);
    expect(signs).toMatchObject([{ kind: 'finished' }]);
    expect(result.final).toBe(false);
    expect(result.usage.outputTokens).toBeGreaterThanOrEqual(8);
    expect(result.usage.outputTokens).toBeLessThan(20);
  });

  it('names a call whose end was never seen, and one that only the last event names', () => {
    expect(meter([sse(whole.slice(0, 6))]).result.calls).toEqual([
      { toolCallId: 'call_1', tool: 'exec_command', input: null, rawInput: '{"cmd":' },
    ]);
    expect(meter([sse([completed()])]).result.calls).toEqual(calls);
  });

  it('names both of two calls under one id', () => {
    const other = { ...shell, arguments: '{"cmd":"rm -rf /"}' };
    expect(
      meter([sse([done(0, shell), done(1, other), completed({ output: [shell, other] })])]).result.calls.map(({ rawInput }) => rawInput),
    ).toEqual([shell.arguments, other.arguments]);
  });

  it('names a call of a namespace, of the local shell and of a search for tools', () => {
    const items = [
      { type: 'function_call', call_id: 'c1', name: 'curr_time', namespace: 'clock', arguments: '' },
      { type: 'local_shell_call', id: 'ls_1', action: { command: ['ls'] } },
      { type: 'tool_search_call', execution: 'client', call_id: 'c3', arguments: { query: 'x' } },
    ];
    const { signs, result } = meter([sse(items.map((item, i) => done(i, item)))]);
    expect(signs).toEqual([{ kind: 'more' }]);
    expect(result.calls.map(({ toolCallId, tool }) => [toolCallId, tool])).toEqual([
      ['c1', 'clock.curr_time'],
      ['ls_1', 'local_shell'],
      ['c3', 'tool_search'],
    ]);
  });

  it('stops at a call to a dropped tool as it begins, and lets the allowed twin pass', () => {
    const events = [sse([text('x')]), sse([added(1, shell)]), sse([done(1, shell), completed()])];
    const denied = meter(events, { dropped: ['exec_command'] });
    expect(denied.signs.map(({ kind }) => kind)).toEqual(['more', 'stop', 'stop']);
    expect(denied.result.breach).toEqual({ kind: 'dropped_tool', toolCallId: 'call_1', tool: 'exec_command' });
    expect(meter(events, { dropped: ['exec'] }).signs.map(({ kind }) => kind)).toEqual(['more', 'more', 'finished']);
    const reported = meter(events, { dropped: ['exec_command'], stopsAtBreach: false });
    expect(reported.signs.map(({ kind }) => kind)).toEqual(['more', 'more', 'finished']);
    expect(reported.result).toMatchObject({
      breach: { tool: 'exec_command' },
      calls: [{ toolCallId: 'call_1' }, { toolCallId: 'call_2' }],
    });
  });

  it.each([
    ['the provider searched', added(0, { type: 'web_search_call', id: 'ws_1' }), 'provider_executed'],
    ['the provider ran code', added(0, { type: 'code_interpreter_call', id: 'ci_1' }), 'provider_executed'],
    ['a program of the model ran at the provider', added(0, { type: 'program', id: 'p_1' }), 'provider_executed'],
    ['something ran that nobody knows', added(0, { type: 'teleport_call', id: 't_1' }), 'provider_executed'],
    ['a dropped call is named by the last event alone', completed({ output: [{ ...shell, name: 'exec' }] }), 'dropped_tool'],
    ['a call has no name', added(0, { type: 'function_call', call_id: 'c', name: '' }), 'unreadable'],
    ['a call has no id', done(0, { type: 'custom_tool_call', name: 'apply_patch', input: '' }), 'unreadable'],
  ])('stops when %s', (_name, event, kind) => {
    const { signs, result } = meter([sse([event])], { dropped: ['exec'] });
    expect(signs.map((sign) => sign.kind)).toEqual(['stop']);
    expect(result.breach?.kind).toBe(kind);
  });

  it('stops at a call behind the end of the answer, which only the runner would see', () => {
    expect(meter([sse([completed(), done(3, { ...shell, call_id: 'call_9' })])], { stopsAtBreach: false }).signs).toEqual([
      { kind: 'stop' },
    ]);
  });

  it('knows the end that some gateways write', () => {
    expect(meter([Buffer.concat([sse(whole), Buffer.from('data: [DONE]\n\n')])]).result).toEqual(expected);
  });
});

describe('an answer in one piece', () => {
  it('gives usage and calls', () => {
    const { final: _final, ...answer } = expected;
    expect(openaiResponses.readAnswer({ status: 'completed', output: [shell, patch], usage }, requestWith())).toEqual(answer);
  });

  it('names a breach, and is nothing without output or usage', () => {
    expect(openaiResponses.readAnswer({ output: [shell], usage }, requestWith(['exec_command']))?.breach?.kind).toBe('dropped_tool');
    for (const body of [null, {}, { output: [] }, { output: [], usage: { input_tokens: 1 } }, { output: [3], usage }])
      expect(openaiResponses.readAnswer(body, requestWith())).toBeNull();
  });

  it('counts no token twice, whatever the provider says of its parts', () => {
    const tokens = fc.nat(1_000);
    fc.assert(
      fc.property(tokens, tokens, tokens, tokens, (input_tokens, cached_tokens, cache_write_tokens, output_tokens) => {
        const answer = openaiResponses.readAnswer(
          { output: [], usage: { input_tokens, output_tokens, input_tokens_details: { cached_tokens, cache_write_tokens } } },
          requestWith(),
        );
        const read = answer?.usage ?? noUsage;
        expect(read.inputTokens + read.cacheReadTokens + read.cacheWriteTokens).toBe(input_tokens);
        expect(Math.min(read.inputTokens, read.cacheReadTokens, read.cacheWriteTokens)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
