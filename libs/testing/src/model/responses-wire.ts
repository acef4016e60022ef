import type { ModelStep, ResponsesRequest } from './script';
import { chunksOf, type EmittedToolCall, inputTokensOf, randomId, type StreamEvent } from './wire';

type OutputItem =
  | { readonly type: 'message'; readonly id: string; readonly text: string }
  | {
      readonly type: 'function_call' | 'custom_tool_call';
      readonly id: string;
      readonly name: string;
      readonly call_id: string;
      readonly input: string;
    };

/** An answer on the wire of the OpenAI Responses API. */
export interface ResponsesAnswer {
  readonly id: string;
  readonly request: ResponsesRequest;
  readonly items: readonly OutputItem[];
  readonly calls: readonly EmittedToolCall[];
  readonly usage: { readonly input: number; readonly cached: number; readonly output: number };
}

export function responsesAnswer(request: ResponsesRequest, step: ModelStep): ResponsesAnswer {
  const calls = (step.tools ?? []).map(({ name, input }): EmittedToolCall => ({ id: randomId('call'), name, input }));
  const items: OutputItem[] = [
    ...(step.text === undefined ? [] : [{ type: 'message' as const, id: randomId('msg'), text: step.text }]),
    ...calls.map(
      ({ id, name, input }): OutputItem =>
        typeof input === 'string'
          ? { type: 'custom_tool_call', id: randomId('ctc'), call_id: id, name, input }
          : { type: 'function_call', id: randomId('fc'), call_id: id, name, input: JSON.stringify(input) },
    ),
  ];
  return { id: randomId('resp'), request, items, calls, usage: usageOf(request, items, step) };
}

/** What earlier requests of the conversation sent is read from the cache, which this provider keeps by itself. */
function usageOf(request: ResponsesRequest, items: readonly OutputItem[], step: ModelStep): ResponsesAnswer['usage'] {
  const { input, tools, instructions } = request;
  const total = step.usage?.input_tokens ?? inputTokensOf({ input, tools, instructions });
  const lastByModel = input.findLastIndex(({ type, role }) => role === 'assistant' || type.endsWith('_call'));
  const seen = lastByModel === -1 ? 0 : inputTokensOf({ input: input.slice(0, lastByModel), tools, instructions });
  return {
    input: total,
    cached: step.usage?.input_tokens === undefined ? Math.min(seen, total) : 0,
    output: step.usage?.output_tokens ?? items.reduce((sum, item) => sum + Math.ceil(JSON.stringify(item).length / 4), 3),
  };
}

const wireItem = (item: OutputItem, status: 'in_progress' | 'completed'): Record<string, unknown> => {
  const isDone = status === 'completed';
  const { id, type } = item;
  switch (type) {
    case 'message':
      return { id, type, status, role: 'assistant', content: isDone ? [{ type: 'output_text', text: item.text, annotations: [] }] : [] };
    case 'function_call':
      return { id, type, status, name: item.name, call_id: item.call_id, arguments: isDone ? item.input : '' };
    case 'custom_tool_call':
      return { id, type, status, name: item.name, call_id: item.call_id, input: isDone ? item.input : '' };
  }
};

export function wireResponse(answer: ResponsesAnswer, status: 'in_progress' | 'completed' = 'completed'): Record<string, unknown> {
  const { id, request, items, usage } = answer;
  const isDone = status === 'completed';
  return {
    id,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    model: request.model,
    output: isDone ? items.map((item) => wireItem(item, 'completed')) : [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    service_tier: isDone ? 'default' : 'auto',
    store: request.store ?? true,
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    truncation: 'disabled',
    usage: isDone
      ? {
          input_tokens: usage.input,
          input_tokens_details: { cached_tokens: usage.cached },
          output_tokens: usage.output,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: usage.input + usage.output,
        }
      : null,
    metadata: {},
  };
}

function itemEvents(item: OutputItem, output_index: number): StreamEvent[] {
  const place = { item_id: item.id, output_index };
  return [
    { type: 'response.output_item.added', data: { output_index, item: wireItem(item, 'in_progress') } },
    ...contentEvents(item, place),
    { type: 'response.output_item.done', data: { output_index, item: wireItem(item, 'completed') } },
  ];
}

function contentEvents(item: OutputItem, place: Record<string, unknown>): StreamEvent[] {
  if (item.type === 'message') {
    const part = { ...place, content_index: 0 };
    return [
      { type: 'response.content_part.added', data: { ...part, part: { type: 'output_text', text: '', annotations: [] } } },
      ...chunksOf(item.text, 24).map((delta) => ({ type: 'response.output_text.delta', data: { ...part, delta, logprobs: [] } })),
      { type: 'response.output_text.done', data: { ...part, text: item.text, logprobs: [] } },
      { type: 'response.content_part.done', data: { ...part, part: { type: 'output_text', text: item.text, annotations: [] } } },
    ];
  }
  const [name, whole] =
    item.type === 'function_call' ? ['response.function_call_arguments', 'arguments'] : ['response.custom_tool_call_input', 'input'];
  return [
    ...chunksOf(item.input, 17).map((delta) => ({ type: `${name}.delta`, data: { ...place, delta } })),
    { type: `${name}.done`, data: { ...place, [whole]: item.input } },
  ];
}

/** The events of one streamed answer, in the provider's order. */
export function responseEvents(answer: ResponsesAnswer): StreamEvent[] {
  const opening = { response: wireResponse(answer, 'in_progress') };
  const events: StreamEvent[] = [
    { type: 'response.created', data: opening },
    { type: 'response.in_progress', data: opening },
    ...answer.items.flatMap(itemEvents),
    { type: 'response.completed', data: { response: wireResponse(answer) } },
  ];
  return events.map(({ type, data }, sequence_number) => ({ type, data: { sequence_number, ...data } }));
}

export function responsesError(status: number, message: string): Record<string, unknown> {
  const type = status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_exceeded' : 'invalid_request_error';
  return { error: { message, type, param: null, code: null } };
}
