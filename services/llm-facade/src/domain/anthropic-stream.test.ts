import fc from 'fast-check';
import { AnthropicEvents } from './anthropic-stream';
import type { MeterSign } from './dialect';
import { SseMeter } from './sse-meter';
import { costMicroUsd, noUsage } from './usage';

const event = (data: Record<string, unknown>, lineEnd = '\n'): string =>
  `event: ${String(data.type)}${lineEnd}data: ${JSON.stringify(data)}${lineEnd}${lineEnd}`;
const start = (usage: Record<string, unknown>) => ({
  type: 'message_start',
  message: { id: 'msg_1', role: 'assistant', content: [], usage },
});
const text = (value: string) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: value } });
const toolStart = (index: number, id: string, name: string, type = 'tool_use') => ({
  type: 'content_block_start',
  index,
  content_block: { type, id, name, input: {} },
});
const json = (index: number, part: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json: part },
});
const stop = (index: number) => ({ type: 'content_block_stop', index });
const delta = (usage: Record<string, unknown>, reason = 'tool_use') => ({ type: 'message_delta', delta: { stop_reason: reason }, usage });
const messageStop = { type: 'message_stop' };

const whole = [
  start({ input_tokens: 31, output_tokens: 2, cache_read_input_tokens: 5, cache_creation_input_tokens: 7 }),
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  text('北京 "output_tokens": 999 data: x\n'),
  stop(0),
  toolStart(1, 'toolu_1', 'Bash'),
  json(1, ''),
  json(1, '{"command":"echo 北'),
  json(1, '京"}'),
  stop(1),
  toolStart(2, 'toolu_2', 'Read'),
  stop(2),
  delta({ output_tokens: 18 }),
  messageStop,
];
const bytesOf = (events: readonly Record<string, unknown>[], lineEnd = '\n'): Buffer =>
  Buffer.from(events.map((data) => event(data, lineEnd)).join(''));

function meter(chunks: readonly Buffer[], { dropped = [] as string[], stopsAtBreach = true } = {}) {
  const scanner = new SseMeter(new AnthropicEvents(new Set(dropped), stopsAtBreach));
  const signs: MeterSign[] = chunks.map((chunk) => scanner.push(chunk));
  return { signs, result: scanner.result() };
}
const expected = {
  usage: { ...noUsage, inputTokens: 31, outputTokens: 18, cacheReadTokens: 5, cacheWriteTokens: 7 },
  stopReason: 'tool_use',
  final: true,
  breach: null,
  calls: [
    { toolCallId: 'toolu_1', tool: 'Bash', input: { command: 'echo 北京' }, rawInput: '{"command":"echo 北京"}' },
    { toolCallId: 'toolu_2', tool: 'Read', input: {}, rawInput: '{}' },
  ],
};

describe('metering a stream', () => {
  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('reads usage and calls with %s, cut at every byte', (_name, lineEnd) => {
    const bytes = bytesOf(whole, lineEnd);
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(meter([bytes.subarray(0, cut), bytes.subarray(cut)]).result).toEqual(expected);
    }
  });

  it('[MODEL-4] reads the same however the bytes are cut, and says where the last event begins', () => {
    const bytes = bytesOf(whole);
    const lastEvent = bytes.lastIndexOf('data: {"type":"message_stop"}');
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 80 }), (sizes) => {
        const chunks: Buffer[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        const { signs, result } = meter(chunks);
        expect(result).toEqual(expected);
        const finished = signs.findIndex((sign) => sign.kind === 'finished');
        const sign = signs[finished];
        const forwarded =
          chunks.slice(0, finished).reduce((sum, chunk) => sum + chunk.length, 0) +
          (sign?.kind === 'finished' ? sign.finishedAt : Number.NaN);
        // Never past the line that ends the message: its last byte is still held.
        expect(forwarded).toBeLessThan(lastEvent + 'data: {"type":"message_stop"}\n'.length);
        expect(signs.filter(({ kind }) => kind === 'finished')).toHaveLength(1);
      }),
    );
  });

  it('takes the last value of each field and keeps what is absent (H-LM-01)', () => {
    const { result } = meter([
      bytesOf([start({ input_tokens: 31, output_tokens: 2 }), text('a'), text('b'), delta({ output_tokens: 18 }, 'end_turn'), messageStop]),
    ]);
    expect(result.usage).toEqual({ ...noUsage, inputTokens: 31, outputTokens: 18 });
    expect(costMicroUsd({ input: 3_000_000, output: 15_000_000, cache_read: 0, cache_write: 0 }, result.usage)).toBe(363);
  });

  it('prices the three input counts once each (H-LM-02)', () => {
    const usage = { ...noUsage, inputTokens: 7, cacheWriteTokens: 20_000, cacheReadTokens: 1_000, outputTokens: 300 };
    expect(costMicroUsd({ input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 }, usage)).toBe(79_821);
    expect(
      costMicroUsd({ input: 25_000_000, output: 0, cache_read: 0, cache_write: 0 }, { ...usage, inputTokens: 9_007_199_254_740_991 }),
    ).toBeGreaterThan(2e17);
    expect(costMicroUsd({ input: 1, output: 0, cache_read: 0, cache_write: 0 }, { ...usage, inputTokens: 1 })).toBe(1);
  });

  it('estimates the output of a stream that was cut (H-LM-03)', () => {
    const { result } = meter([
      bytesOf([start({ input_tokens: 60, output_tokens: 1 }), ...Array.from({ length: 5 }, () => text('some words of an answer'))]),
    ]);
    expect(result).toMatchObject({ final: false, usage: { inputTokens: 60 } });
    expect(result.usage.outputTokens).toBeGreaterThanOrEqual(5 * Math.ceil('some words of an answer'.length / 4));
    expect(result.usage.outputTokens).toBeLessThan(100);
  });

  it('counts the text of a cut stream once, however its events are cut', () => {
    const pieces = ['a', 'some words', 'längere Wörter', 'x'.repeat(700)].flatMap((value) => [text(value), text(value)]);
    const bytes = bytesOf([start({ input_tokens: 60, output_tokens: 1 }), ...pieces]);
    const whole = meter([bytes]).result.usage.outputTokens;
    expect(whole).toBeGreaterThan(2 * Math.ceil(700 / 3));
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(meter([bytes.subarray(0, cut), bytes.subarray(cut)]).result.usage.outputTokens).toBe(whole);
    expect(meter(Array.from(bytes, (byte) => Buffer.of(byte))).result.usage.outputTokens).toBe(whole);
  });

  it('sees what stands between and behind pieces of text', () => {
    const words = event(text('words'));
    const call = bytesOf([toolStart(1, 'toolu_1', 'Bash'), stop(1)]).toString();
    const ofCalls = (stream: string) => meter([Buffer.from(stream)]).result.calls.map(({ toolCallId }) => toolCallId);
    expect(ofCalls(words + words)).toEqual([]);
    expect(ofCalls(words + call + words)).toEqual(['toolu_1']);
    // Without the line that ends the event, and in an event that is named as text.
    expect(ofCalls(`${words.trimEnd()}\n${call}`)).toEqual(['toolu_1']);
    expect(ofCalls(`${words}event: content_block_delta\n${call.slice(call.indexOf('data:'))}${words}`)).toEqual(['toolu_1']);
    // Several lines of one event are one text for a client: here no JSON, so it must not pass.
    expect(meter([Buffer.from(`${words}data: {\n\n`)]).signs).toEqual([{ kind: 'stop' }]);
    expect(meter([Buffer.from(`${words.trimEnd()}\ndata: {\n\n`)]).signs).toEqual([{ kind: 'stop' }]);
  });

  it('names a call whose end was never seen: who hangs up behind its last argument knows it all', () => {
    const cut = [start({ input_tokens: 60 }), toolStart(0, 'toolu_1', 'Bash'), json(0, '{"command":"ls"}')];
    expect(meter([bytesOf(cut)]).result.calls).toEqual([
      { toolCallId: 'toolu_1', tool: 'Bash', input: { command: 'ls' }, rawInput: '{"command":"ls"}' },
    ]);
    expect(meter([bytesOf([...cut, stop(0)])]).result.calls).toMatchObject([{ toolCallId: 'toolu_1', input: { command: 'ls' } }]);
  });

  it('stops at a call to a dropped tool as it begins, and lets the allowed twin pass', () => {
    const head = bytesOf([start({ input_tokens: 1, output_tokens: 1 })]);
    const call = bytesOf([toolStart(0, 'toolu_9', 'WebFetch')]);
    const denied = meter([head, call, bytesOf([stop(0), delta({ output_tokens: 3 }), messageStop])], { dropped: ['WebFetch'] });
    expect(denied.signs.map(({ kind }) => kind)).toEqual(['more', 'stop', 'stop']);
    expect(denied.result.breach).toEqual({ kind: 'dropped_tool', toolCallId: 'toolu_9', tool: 'WebFetch' });
    const allowed = meter([head, call, bytesOf([stop(0), delta({ output_tokens: 3 }), messageStop])], { dropped: ['WebSearch'] });
    expect(allowed.signs.map(({ kind }) => kind)).toEqual(['more', 'more', 'finished']);
  });

  it('goes on behind a breach when the policy only reports, and still names it', () => {
    const { signs, result } = meter([bytesOf([toolStart(0, 'toolu_9', 'WebFetch'), stop(0), delta({ output_tokens: 3 }), messageStop])], {
      dropped: ['WebFetch'],
      stopsAtBreach: false,
    });
    expect(signs.map(({ kind }) => kind)).toEqual(['finished']);
    expect(result.breach?.tool).toBe('WebFetch');
    expect(result.calls.map(({ toolCallId }) => toolCallId)).toEqual(['toolu_9']);
  });

  it.each([
    ['the provider ran a tool', [toolStart(0, 'srvtoolu_1', 'web_search', 'server_tool_use')], 'provider_executed'],
    ['a connector ran a tool', [toolStart(0, 'mcptoolu_1', 'x', 'mcp_tool_use')], 'provider_executed'],
    [
      'a call without a name',
      [{ type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'toolu_1' } }],
      'unreadable',
    ],
    ['a call behind the end of the message', [messageStop, toolStart(0, 'toolu_1', 'Bash')], 'unreadable'],
  ])('stops when %s', (_name, events, kind) => {
    const { signs, result } = meter([bytesOf(events)]);
    expect(signs.map((sign) => sign.kind)).toEqual(['stop']);
    expect(result.breach?.kind).toBe(kind);
  });

  it('stops at a line that is no JSON or has no end, also when the policy only reports', () => {
    expect(meter([Buffer.from('data: {"type":\n\n')], { stopsAtBreach: false }).signs).toEqual([{ kind: 'stop' }]);
    expect(meter(Array.from({ length: 9 }, () => Buffer.alloc(1024 * 1024, 120))).signs.at(-1)).toEqual({ kind: 'stop' });
    expect(meter([Buffer.from(': comment\n\ndata: "text"\nid: 1\n')]).signs).toEqual([{ kind: 'more' }]);
  });

  it.each(['\n', '\r\n', '\r'])('joins the data lines of one event, as clients do (line end %j)', (lineEnd) => {
    const split = JSON.stringify(delta({ output_tokens: 18 })).replace(',', `,${lineEnd}data: `);
    const bytes = Buffer.from(`data: ${split}${lineEnd}${lineEnd}`);
    for (let cut = 0; cut <= bytes.length; cut++)
      expect(meter([bytesOf([start({ input_tokens: 31 })], lineEnd), bytes.subarray(0, cut), bytes.subarray(cut)]).result).toMatchObject({
        final: true,
        usage: { outputTokens: 18 },
      });
    // The same pieces in two events are garbage.
    const apart = Buffer.from(`data: ${split.replace(lineEnd, lineEnd + lineEnd)}${lineEnd}${lineEnd}`);
    expect(meter([apart]).signs).toEqual([{ kind: 'stop' }]);
  });

  it('ends with an error of the provider, and counts what was seen before it', () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const { signs, result } = meter([bytesOf([start({ input_tokens: 60, output_tokens: 1 }), text('some words'), error])]);
    expect(signs).toMatchObject([{ kind: 'finished' }]);
    expect(result).toMatchObject({ final: false, usage: { inputTokens: 60 } });
    expect(result.usage.outputTokens).toBeGreaterThan(1);
  });

  it('reads on over bytes that are no UTF-8', () => {
    const broken = bytesOf([start({ input_tokens: 31 }), text('XX'), ...whole.slice(4)]);
    broken.fill(0xff, broken.indexOf('XX'), broken.indexOf('XX') + 2);
    expect(meter([broken]).result).toMatchObject({ final: true, usage: { outputTokens: 18 }, breach: null });
  });

  it('takes the writes that are kept for an hour for a part of all writes, at their own price', () => {
    const usage = {
      input_tokens: 7,
      cache_creation_input_tokens: 20_000,
      cache_creation: { ephemeral_5m_input_tokens: 5_000, ephemeral_1h_input_tokens: 15_000 },
      output_tokens: 0,
    };
    const { result } = meter([bytesOf([start(usage), delta({ output_tokens: 0 }), messageStop])]);
    expect(result.usage).toEqual({ ...noUsage, inputTokens: 7, cacheWriteTokens: 20_000, cacheWrite1hTokens: 15_000 });
    const price = { input: 3_000_000, output: 0, cache_read: 0, cache_write: 3_750_000 };
    expect(costMicroUsd({ ...price, cache_write_1h: 6_000_000 }, result.usage)).toBe(21 + 18_750 + 90_000);
    expect(costMicroUsd(price, result.usage)).toBe(21 + 75_000);
  });

  it('does not take half a line at the end of a cut stream for garbage', () => {
    const bytes = bytesOf(whole);
    for (const cut of [30, 200, 400]) expect(meter([bytes.subarray(0, cut)]).result.breach).toBeNull();
  });
});
