import { breachOf, mergeUsage } from './anthropic-blocks';
import { patternOf, standsAt } from './bytes';
import type { Answer, Breach, ModelCall } from './dialect';
import { inputTokensOf } from './estimate';
import { isDeep, isObject, type Json, parseArguments } from './json';
import type { EventReader } from './sse-meter';
import { noUsage, type Usage } from './usage';

/** As the provider writes a piece of text; one that is written otherwise is parsed. */
const deltaHead = patternOf('data: {"type":"content_block_delta","index":');
const deltaKind = patternOf(',"delta":{"type":"');
const textKinds = ['text_delta","', 'thinking_delta","', 'signature_delta","'].map(patternOf);
/** By far most of a stream is text of one kind, so nothing is called in turn here. */
const isText = (view: DataView, at: number, to: number): boolean => {
  for (const kind of textKinds) if (standsAt(view, at, to, kind)) return true;
  return false;
};
const isDigit = (byte: number): boolean => byte >= 48 && byte <= 57;
/** Bytes of a delta that are not text. */
const deltaFrameBytes = 92;

interface OpenBlock {
  readonly toolCallId: string;
  readonly tool: string;
  readonly startInput: unknown;
  parts: string[];
}

/** Usage and tool calls of an Anthropic stream. */
export class AnthropicEvents implements EventReader {
  readonly textEvent = patternOf('event: content_block_delta\n');
  readonly #open = new Map<number, OpenBlock>();
  readonly #calls: ModelCall[] = [];
  #usage: Usage = noUsage;
  #started = false;
  #counted = false;
  #finished = false;
  #stopReason: string | null = null;
  #breach: Breach | null = null;
  #seenOutputTokens = 0;

  constructor(
    private readonly droppedTools: ReadonlySet<string>,
    private readonly stopsAtBreach: boolean,
  ) {}

  takesText(view: DataView, from: number, to: number): boolean {
    if (!standsAt(view, from, to, deltaHead)) return false;
    let at = from + deltaHead.length;
    while (at < to && isDigit(view.getUint8(at))) at += 1;
    if (!standsAt(view, at, to, deltaKind) || !isText(view, at + deltaKind.length, to)) return false;
    this.#seenOutputTokens += Math.max(1, inputTokensOf(to - from - deltaFrameBytes));
    return true;
  }

  answer(): Answer & { final: boolean } {
    const final = this.#started && this.#counted;
    return {
      usage: final ? this.#usage : { ...this.#usage, outputTokens: Math.max(this.#usage.outputTokens, this.#seenOutputTokens) },
      stopReason: this.#stopReason,
      calls: [...this.#calls, ...this.#unfinishedCalls()],
      breach: this.#breach,
      final,
    };
  }

  /** A runner that hangs up behind the last argument has seen the whole call. */
  #unfinishedCalls(): ModelCall[] {
    return [...this.#open.values()].map(({ toolCallId, tool, parts }) => {
      const rawInput = parts.join('');
      return { toolCallId, tool, input: parseArguments(rawInput) ?? null, rawInput };
    });
  }

  take(event: Json): ReturnType<EventReader['take']> {
    switch (event.type) {
      case 'message_start':
        this.#started = true;
        this.#usage = mergeUsage(this.#usage, isObject(event.message) ? event.message.usage : undefined);
        return 'more';
      case 'content_block_start':
        return this.#startBlock(event);
      case 'content_block_delta':
        this.#addToBlock(event);
        return 'more';
      case 'content_block_stop':
        this.#endBlock(Number(event.index));
        return 'more';
      case 'message_delta':
        this.#usage = mergeUsage(this.#usage, event.usage);
        if (isObject(event.usage) && typeof event.usage.output_tokens === 'number') this.#counted = true;
        if (isObject(event.delta) && typeof event.delta.stop_reason === 'string') this.#stopReason = event.delta.stop_reason;
        return 'more';
      // The provider gave up in the middle: the runner reads why in its own dialect, and what was seen is booked.
      case 'error':
      case 'message_stop':
        this.#finished = true;
        return 'finished';
      default:
        return 'more';
    }
  }

  #startBlock(event: Json): ReturnType<EventReader['take']> {
    const block = event.content_block;
    if (!isObject(block)) return 'more';
    // The answer is booked by the end of its message: a call behind it would be seen by the runner alone.
    if (this.#finished && block.type === 'tool_use') return 'unreadable';
    const breach = breachOf(block, this.droppedTools);
    if (breach !== null) {
      this.#breach ??= breach;
      if (breach.kind === 'unreadable') return 'unreadable';
      if (this.stopsAtBreach) return 'stop';
    }
    if (block.type === 'tool_use') {
      this.#seenOutputTokens += 3;
      this.#open.set(Number(event.index), { toolCallId: String(block.id), tool: String(block.name), startInput: block.input, parts: [] });
    }
    return 'more';
  }

  #addToBlock(event: Json): void {
    if (!isObject(event.delta)) return;
    const part = event.delta.partial_json ?? event.delta.text ?? event.delta.thinking;
    if (typeof part !== 'string') return;
    this.#seenOutputTokens += Math.max(1, inputTokensOf(Buffer.byteLength(part)));
    if (event.delta.type === 'input_json_delta') this.#open.get(Number(event.index))?.parts.push(part);
  }

  #endBlock(index: number): void {
    const block = this.#open.get(index);
    if (block === undefined) return;
    this.#open.delete(index);
    const rawInput = block.parts.join('');
    const input = rawInput === '' ? (isDeep(block.startInput) ? null : (block.startInput ?? {})) : parseArguments(rawInput);
    this.#calls.push({
      toolCallId: block.toolCallId,
      tool: block.tool,
      input: input ?? null,
      rawInput: rawInput === '' ? JSON.stringify(input) : rawInput,
    });
  }
}
