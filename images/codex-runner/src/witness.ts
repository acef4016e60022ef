import { type Harness, harnesses } from '@fluidbox/contracts';
import type { Item, RawItem } from './protocol';

/** Something that happened although the gate was never asked: interception has failed. */
export interface Violation {
  readonly callId: string;
  readonly what: string;
}

const harness: Harness = harnesses.codex;

/** Items that are words or bookkeeping. Whatever else the program reports has done something. */
const wordsOnly: ReadonlySet<string> = new Set([
  'userMessage',
  'agentMessage',
  'reasoning',
  'plan',
  'functionCallOutput',
  'contextCompaction',
]);
/** An item with one of these states never ran. */
const didNotRun: ReadonlySet<string> = new Set(['declined', 'inProgress']);

/**
 * Pairs the calls that the model emitted with those that were decided, from the program's own report of the stream and of what it does. It watches the
 * same program that it guards against, so it proves nothing to others (the facade's coverage does); it stops a run whose interception no longer works
 * after an upgrade.
 */
export class Witness {
  readonly #decided = new Map<string, string>();
  readonly #calls = new Map<string, RawItem>();

  decided(callId: string, tool: string): void {
    this.#decided.set(callId, tool);
  }

  /** The canonical tool that a call was decided as. */
  decidedAs(callId: string): string | undefined {
    return this.#decided.get(callId);
  }

  /** The call as the model emitted it; it is reported before the program asks for it. */
  emitted(callId: string): RawItem | undefined {
    return this.#calls.get(callId);
  }

  /** The program has done something. Code mode, for one, runs commands under ids that the model never emitted; they are asked for, so it is not seen here. */
  completed(item: Item): Violation | undefined {
    if (wordsOnly.has(item.type) || this.#decided.has(item.id) || didNotRun.has(item.status ?? '')) return undefined;
    return { callId: item.id, what: `${item.type} ran` };
  }

  /** An item of the model's stream. A result of a call that nobody decided may only be a refusal in the pinned words, or that of a tool without effect. */
  streamed(item: RawItem): Violation | undefined {
    const callId = item.call_id ?? undefined;
    if (callId === undefined) return undefined;
    if (!item.type.endsWith('_output')) {
      this.#calls.set(callId, item);
      return undefined;
    }
    if (this.#decided.has(callId) || this.#hasNoEffect(callId)) return undefined;
    const text = textOf(item.output);
    if (harness.refusal.prefixes.some((prefix) => text.startsWith(prefix))) return undefined;
    if (this.#isOfWrongKind(callId) && text === harness.refusal.wrongKind) return undefined;
    return { callId, what: 'a result went back' };
  }

  /** Text where the tool takes arguments, or the other way round: the program never gets as far as running it. */
  #isOfWrongKind(callId: string): boolean {
    const { type, name = '' } = this.#calls.get(callId) ?? {};
    if (type === 'custom_tool_call') return !harness.textTools.includes(name);
    return type === 'function_call' && harness.textTools.includes(name);
  }

  #hasNoEffect(callId: string): boolean {
    const name = this.#calls.get(callId)?.name ?? '';
    return harness.noEffectTools.includes(harness.toolNames[name] ?? name) && !this.#isOfWrongKind(callId);
  }
}

function textOf(output: unknown): string {
  return typeof output === 'string' ? output : (JSON.stringify(output) ?? '');
}
