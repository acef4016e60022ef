import type { ToolResult } from './coverage';
import type { Breach, ModelCall } from './dialect';
import { countOr, isDeep, isObject, type Json, parseArguments, textOf } from './json';
import { noUsage, type Usage } from './usage';

/** Items of an answer behind which nothing is executed. */
const passive = new Set(['message', 'reasoning', 'compaction', 'additional_tools']);

/** Tools of a namespace are called by both names. `functions` is the models' own word for tools that have none, and Codex runs them so. */
export const toolNameOf = (name: string, namespace: unknown): string =>
  typeof namespace === 'string' && namespace !== '' && namespace !== 'functions' ? `${namespace}.${name}` : name;

/** The call that an item asks the harness to run; null when it is none, or one that the provider runs itself. */
export function callOf(item: Json): ModelCall | null {
  const toolCallId = textOf(item.call_id);
  switch (item.type) {
    case 'function_call': {
      const rawInput = textOf(item.arguments);
      return { toolCallId, tool: toolNameOf(textOf(item.name), item.namespace), input: parseArguments(rawInput) ?? null, rawInput };
    }
    case 'custom_tool_call': {
      const rawInput = textOf(item.input);
      return { toolCallId, tool: toolNameOf(textOf(item.name), item.namespace), input: rawInput, rawInput, isText: true };
    }
    case 'local_shell_call':
      return { toolCallId: toolCallId || textOf(item.id), tool: 'local_shell', ...whole(item.action) };
    case 'tool_search_call':
      return item.execution === 'client' ? { toolCallId, tool: 'tool_search', ...whole(item.arguments) } : null;
    default:
      return null;
  }
}

const whole = (input: unknown): { input: unknown; rawInput: string } =>
  isDeep(input) ? { input: null, rawInput: '' } : { input: input ?? {}, rawInput: JSON.stringify(input ?? {}) };

/** A breach of one item, as it begins. What is neither text nor a call of the harness was run by the provider, whatever its type is called. */
export function itemBreach(item: Json, dropped: ReadonlySet<string>): Breach | null {
  if (typeof item.type === 'string' && passive.has(item.type)) return null;
  const call = callOf(item);
  if (call === null)
    return { kind: 'provider_executed', toolCallId: textOf(item.call_id) || textOf(item.id), tool: textOf(item.name) || textOf(item.type) };
  const named = { toolCallId: call.toolCallId, tool: call.tool };
  if (named.toolCallId === '' || named.tool === '') return { kind: 'unreadable', ...named };
  return dropped.has(call.tool) ? { kind: 'dropped_tool', ...named } : null;
}

/** Cached and written tokens are parts of the input count here; ours do not overlap. What was thought is part of the output. */
export function responsesUsage(reported: unknown): Usage | null {
  if (!isObject(reported)) return null;
  const input = countOr(reported.input_tokens ?? reported.prompt_tokens, -1);
  const output = countOr(reported.output_tokens ?? reported.completion_tokens, -1);
  if (input === -1 || output === -1) return null;
  const inputDetails = reported.input_tokens_details ?? reported.prompt_tokens_details;
  const outputDetails = reported.output_tokens_details ?? reported.completion_tokens_details;
  const cached = isObject(inputDetails) ? Math.min(input, countOr(inputDetails.cached_tokens, 0)) : 0;
  const written = isObject(inputDetails) ? Math.min(input - cached, countOr(inputDetails.cache_write_tokens, 0)) : 0;
  return {
    ...noUsage,
    inputTokens: input - cached - written,
    outputTokens: output,
    cacheReadTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: isObject(outputDetails) ? Math.min(output, countOr(outputDetails.reasoning_tokens, 0)) : 0,
  };
}

/** Why the answer ended: `completed`, what made it incomplete, or `failed`. */
export function endOf(response: Json): string | null {
  const { incomplete_details: details, status } = response;
  return isObject(details) && typeof details.reason === 'string' ? details.reason : typeof status === 'string' ? status : null;
}

/** Every result in the history, the latest included. There is no mark of an error in this dialect. */
export function resultsIn(input: unknown): ToolResult[] {
  if (!Array.isArray(input)) return [];
  return input.filter(isObject).flatMap((item): ToolResult[] => {
    if (typeof item.type !== 'string' || !item.type.endsWith('_output')) return [];
    const toolCallId = textOf(item.call_id) || (item.type === 'local_shell_call_output' ? textOf(item.id) : '');
    return toolCallId === '' ? [] : [{ toolCallId, isError: false, textStart: textStartOf(item.output) }];
  });
}

function textStartOf(output: unknown): string {
  const first: unknown = Array.isArray(output) ? output[0] : undefined;
  return (typeof output === 'string' ? output : isObject(first) ? textOf(first.text) : '').slice(0, 200);
}
