import { randomBytes } from 'node:crypto';
import type { MessagesRequest, ModelStep } from './script';
import { assistantTurns } from './script';

export interface EmittedToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>> | string;
}

type Block = { readonly type: 'text'; readonly text: string } | ({ readonly type: 'tool_use' } & EmittedToolCall);

export interface Usage {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly output_tokens: number;
}

export interface ModelAnswer {
  readonly id: string;
  readonly model: string;
  readonly blocks: readonly Block[];
  readonly stopReason: 'tool_use' | 'end_turn';
  readonly usage: Usage;
}

export interface StreamEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export const randomId = (prefix: string): string => `${prefix}_01${randomBytes(16).toString('base64url').replace(/[-_]/g, 'x')}`;

/** About what the provider counts: a token for every 3.6 bytes of request, one for every 4 characters of answer. */
export const inputTokensOf = (value: unknown): number => Math.ceil(Buffer.byteLength(JSON.stringify(value) ?? '') / 3.6);
const outputTokensOf = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, block) => sum + Math.ceil(JSON.stringify(block).length / 4), 3);

export function countTokens(request: MessagesRequest): number {
  const { messages, tools, system } = request;
  return inputTokensOf({ messages, tools, system });
}

/** With cache markers, what the previous turn sent is read from the cache and the rest is written to it, as the provider does. */
function usageOf(request: MessagesRequest, blocks: readonly Block[], step: ModelStep): Usage {
  const all = step.usage?.input_tokens ?? countTokens(request);
  const output_tokens = step.usage?.output_tokens ?? outputTokensOf(blocks);
  const cached = step.usage?.input_tokens === undefined && JSON.stringify(request).includes('"cache_control"');
  if (!cached) return { input_tokens: all, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens };
  const fresh = Math.min(all, 4);
  const lastUser = request.messages.findLastIndex((message) => message.role === 'assistant');
  const read =
    assistantTurns(request) === 0 ? 0 : Math.max(0, countTokens({ ...request, messages: request.messages.slice(0, lastUser) }) - fresh);
  return {
    input_tokens: fresh,
    cache_creation_input_tokens: Math.max(0, all - fresh - read),
    cache_read_input_tokens: Math.min(read, all - fresh),
    output_tokens,
  };
}

export function answerFor(request: MessagesRequest, step: ModelStep): ModelAnswer {
  const blocks: Block[] = [
    ...(step.text === undefined ? [] : [{ type: 'text' as const, text: step.text }]),
    ...(step.tools ?? []).map(({ name, input }) => ({ type: 'tool_use' as const, id: randomId('toolu'), name, input })),
  ];
  const stopReason = (step.tools ?? []).length > 0 ? 'tool_use' : 'end_turn';
  return { id: randomId('msg'), model: request.model, blocks, stopReason, usage: usageOf(request, blocks, step) };
}

function wireUsage(usage: Usage, outputTokens: number): Record<string, unknown> {
  return {
    ...usage,
    output_tokens: outputTokens,
    cache_creation: { ephemeral_5m_input_tokens: usage.cache_creation_input_tokens, ephemeral_1h_input_tokens: 0 },
    service_tier: 'standard',
  };
}

export function wireMessage({ id, model, blocks, stopReason, usage }: ModelAnswer): Record<string, unknown> {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: blocks,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: wireUsage(usage, usage.output_tokens),
  };
}

export function chunksOf(text: string, size: number): string[] {
  const chunks: string[] = [];
  for (let at = 0; at < text.length; at += size) chunks.push(text.slice(at, at + size));
  return chunks;
}

function blockEvents(block: Block, index: number): StreamEvent[] {
  const start = block.type === 'text' ? { type: 'text', text: '' } : { type: 'tool_use', id: block.id, name: block.name, input: {} };
  const deltas =
    block.type === 'text'
      ? chunksOf(block.text, 24).map((text) => ({ type: 'text_delta', text }))
      : ['', ...chunksOf(JSON.stringify(block.input), 17)].map((partial_json) => ({ type: 'input_json_delta', partial_json }));
  return [
    { type: 'content_block_start', data: { index, content_block: start } },
    ...(index === 0 ? [{ type: 'ping', data: {} }] : []),
    ...deltas.map((delta) => ({ type: 'content_block_delta', data: { index, delta } })),
    { type: 'content_block_stop', data: { index } },
  ];
}

/** The events of one streamed answer, in the provider's order. Usage in message_delta is cumulative. */
export function streamEvents(answer: ModelAnswer): StreamEvent[] {
  const opening = { ...wireMessage(answer), content: [], stop_reason: null, usage: wireUsage(answer.usage, 1) };
  return [
    { type: 'message_start', data: { message: opening } },
    ...answer.blocks.flatMap(blockEvents),
    { type: 'message_delta', data: { delta: { stop_reason: answer.stopReason, stop_sequence: null }, usage: { ...answer.usage } } },
    { type: 'message_stop', data: {} },
  ];
}

export const encodeEvent = ({ type, data }: StreamEvent): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

const errorTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

export function wireError(status: number, message: string): Record<string, unknown> {
  return { type: 'error', error: { type: errorTypes[status] ?? 'api_error', message }, request_id: randomId('req') };
}
