import type { Breach } from './dialect';
import { countOr, isObject, type Json } from './json';
import type { Usage } from './usage';

/** Block types that the provider ran itself: `server_tool_use`, `mcp_tool_use`. */
const isProviderExecuted = (type: unknown): boolean => typeof type === 'string' && type.endsWith('_tool_use');

/** A breach of one content block, as it begins. */
export function breachOf(block: Json, dropped: ReadonlySet<string>): Breach | null {
  const named = { toolCallId: typeof block.id === 'string' ? block.id : '', tool: typeof block.name === 'string' ? block.name : '' };
  if (isProviderExecuted(block.type)) return { kind: 'provider_executed', ...named };
  if (block.type !== 'tool_use') return null;
  if (named.toolCallId === '' || named.tool === '') return { kind: 'unreadable', ...named };
  return dropped.has(named.tool) ? { kind: 'dropped_tool', ...named } : null;
}

/** The last value of a field wins; a field that is absent, null or no count keeps its earlier value. */
export function mergeUsage(usage: Usage, reported: unknown): Usage {
  if (!isObject(reported)) return usage;
  const written = isObject(reported.cache_creation) ? reported.cache_creation.ephemeral_1h_input_tokens : undefined;
  const cacheWriteTokens = countOr(reported.cache_creation_input_tokens, usage.cacheWriteTokens);
  return {
    ...usage,
    inputTokens: countOr(reported.input_tokens, usage.inputTokens),
    outputTokens: countOr(reported.output_tokens, usage.outputTokens),
    cacheReadTokens: countOr(reported.cache_read_input_tokens, usage.cacheReadTokens),
    cacheWriteTokens,
    // A part of the writes: never more than all of them.
    cacheWrite1hTokens: Math.min(countOr(written, usage.cacheWrite1hTokens), cacheWriteTokens),
  };
}
