import { patternOf, standsAt } from './bytes';
import type { Answer, Breach, ModelCall } from './dialect';
import { inputTokensOf } from './estimate';
import { isObject, type Json, parseArguments, textOf } from './json';
import { callOf, endOf, itemBreach, responsesUsage } from './responses-items';
import type { EventReader } from './sse-meter';
import { noUsage, type Usage } from './usage';

/** As the provider writes a piece of text; one that is written otherwise is parsed. */
const deltaHead = patternOf('data: {"type":"response.');
const textKinds = ['output_text', 'reasoning_summary_text', 'reasoning_text', 'refusal'].map((kind) => patternOf(`${kind}.delta"`));
const deltaMember = Buffer.from('"delta":"');
const quote = 34;
const backslash = 92;

interface OpenCall {
  readonly call: ModelCall;
  readonly parts: string[];
}

/** Usage and tool calls of a Responses stream. Harnesses run a call when its item is done; the last event repeats them all. */
export class ResponsesEvents implements EventReader {
  readonly textEvent = patternOf('event: response.output_text.delta\n');
  readonly #open = new Map<number, OpenCall>();
  readonly #calls: ModelCall[] = [];
  #usage: Usage | null = null;
  #finished = false;
  #stopReason: string | null = null;
  #breach: Breach | null = null;
  #seenOutputTokens = 0;

  constructor(
    private readonly droppedTools: ReadonlySet<string>,
    private readonly stopsAtBreach: boolean,
  ) {}

  takesText(view: DataView, from: number, to: number, bytes: Buffer): boolean {
    const at = from + deltaHead.length;
    if (!standsAt(view, from, to, deltaHead) || !textKinds.some((kind) => standsAt(view, at, to, kind))) return false;
    this.#saw(deltaBytes(bytes, from, to));
    return true;
  }

  take(event: Json): ReturnType<EventReader['take']> {
    switch (event.type) {
      case 'response.output_item.added':
        return this.#begin(event);
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.#saw(Buffer.byteLength(textOf(event.delta)));
        this.#open.get(Number(event.output_index))?.parts.push(textOf(event.delta));
        return 'more';
      case 'response.output_item.done':
        this.#open.delete(Number(event.output_index));
        return isObject(event.item) ? this.#emit(event.item) : 'more';
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return this.#end(event.response);
      // The provider gave up: the runner reads why in its own dialect, and what was seen is booked.
      case 'error':
        this.#stopReason = 'error';
        this.#finished = true;
        return 'finished';
      default:
        return 'more';
    }
  }

  answer(): Answer & { final: boolean } {
    const unfinished = [...this.#open.values()].map(({ call, parts }) => {
      const rawInput = parts.join('');
      return { ...call, input: call.isText === true ? rawInput : (parseArguments(rawInput) ?? null), rawInput };
    });
    return {
      usage: this.#usage ?? { ...noUsage, outputTokens: this.#seenOutputTokens },
      stopReason: this.#stopReason,
      // A runner that hangs up behind the last argument has seen the whole call.
      calls: [...this.#calls, ...unfinished],
      breach: this.#breach,
      final: this.#usage !== null,
    };
  }

  #saw(bytes: number): void {
    this.#seenOutputTokens += Math.max(1, inputTokensOf(bytes));
  }

  #begin(event: Json): ReturnType<EventReader['take']> {
    if (!isObject(event.item)) return 'more';
    const sign = this.#judge(event.item);
    const call = callOf(event.item);
    if (sign === 'more' && call !== null) {
      this.#saw(8);
      this.#open.set(Number(event.output_index), { call, parts: [] });
    }
    return sign;
  }

  #emit(item: Json): ReturnType<EventReader['take']> {
    const sign = this.#judge(item);
    const call = callOf(item);
    if (sign === 'more' && call !== null) this.#calls.push(call);
    return sign;
  }

  #judge(item: Json): ReturnType<EventReader['take']> {
    // The answer is booked by its last event: a call behind it would be seen by the runner alone.
    if (this.#finished && callOf(item) !== null) return 'unreadable';
    const breach = itemBreach(item, this.droppedTools);
    if (breach === null) return 'more';
    this.#breach ??= breach;
    return breach.kind === 'unreadable' ? 'unreadable' : this.stopsAtBreach ? 'stop' : 'more';
  }

  #end(response: unknown): ReturnType<EventReader['take']> {
    if (isObject(response)) {
      this.#usage = responsesUsage(response.usage) ?? this.#usage;
      this.#stopReason = endOf(response);
      for (const item of Array.isArray(response.output) ? response.output.filter(isObject) : []) {
        const call = callOf(item);
        // A client may read the calls here instead of from their own events.
        if (call !== null && this.#calls.some((known) => isSame(known, call))) continue;
        const sign = this.#emit(item);
        if (sign !== 'more') return sign;
      }
    }
    this.#finished = true;
    return 'finished';
  }
}

const isSame = (known: ModelCall, call: ModelCall): boolean =>
  known.toolCallId === call.toolCallId &&
  known.tool === call.tool &&
  known.isText === call.isText &&
  JSON.stringify(known.input) === JSON.stringify(call.input);

/** Length of the text in a delta; ids and padding around it say nothing about tokens. */
function deltaBytes(bytes: Buffer, from: number, to: number): number {
  const member = bytes.indexOf(deltaMember, from);
  if (member === -1 || member >= to) return 1;
  const start = member + deltaMember.length;
  let at = start;
  while (at < to && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return Math.min(at, to) - start;
}
