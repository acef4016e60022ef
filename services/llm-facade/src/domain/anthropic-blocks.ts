import type { Breach } from './dialect';
import type { Usage } from './usage';

type Json = Readonly<Record<string, unknown>>;
export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

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
  const count = (value: unknown, earlier: number): number =>
    typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : earlier;
  return {
    inputTokens: count(reported.input_tokens, usage.inputTokens),
    outputTokens: count(reported.output_tokens, usage.outputTokens),
    cacheReadTokens: count(reported.cache_read_input_tokens, usage.cacheReadTokens),
    cacheWriteTokens: count(reported.cache_creation_input_tokens, usage.cacheWriteTokens),
  };
}
