import type { ModelCall } from './dialect';

/**
 * A call with text of a tool that takes arguments, or the other way round. No harness runs one, and some answer it in words that other calls get as well
 * (Codex: `aborted`), so it stands in the ledger under a name of its own: neither a decision about the tool nor a pinned refusal is taken for more than it is.
 */
export function nameOfKind({ tool_names, text_tools, refusal }: Kinds, { tool, isText }: ModelCall): string {
  if (refusal.wrongKind === undefined || !Object.hasOwn(tool_names, tool) || text_tools.includes(tool) === (isText === true)) return tool;
  return `${isText ? textKind : argumentsKind}${tool}`;
}

/** Of the harness row. */
interface Kinds {
  readonly tool_names: Readonly<Record<string, string>>;
  readonly text_tools: readonly string[];
  readonly refusal: { readonly wrongKind?: string | undefined };
}

const textKind = 'text:';
const argumentsKind = 'arguments:';
export const isOfWrongKind = (tool: string): boolean => tool.startsWith(textKind) || tool.startsWith(argumentsKind);
