import { breachOf, isObject, mergeUsage } from './anthropic-blocks';
import type { Answer, Breach, MeterSign, ModelCall, StreamMeter } from './dialect';
import { inputTokensOf } from './estimate';
import { LineScanner } from './lines';
import { noUsage, type Usage } from './usage';

const lineBytesMax = 8 * 1024 * 1024;
const dataPrefix = Buffer.from('data:');
/** Nearly all bytes of a stream are such lines; only their length matters, and only when the stream is cut. */
const textDelta = /^data: ?\{"type":"content_block_delta","index":\d+,"delta":\{"type":"(?:text|thinking|signature)_delta","/;
/** Bytes of a delta that are not text. */
const deltaFrameBytes = 92;
const unreadable: Breach = { kind: 'unreadable', toolCallId: '', tool: '' };

interface OpenBlock {
  readonly toolCallId: string;
  readonly tool: string;
  readonly startInput: unknown;
  parts: string[];
}

/**
 * Reads usage and tool calls from the stream as its bytes pass, whatever the cuts. Frames are found by their `data:` line; text deltas are
 * recognised by their first bytes and never parsed.
 */
export class AnthropicStreamMeter implements StreamMeter {
  readonly #lines = new LineScanner(lineBytesMax);
  readonly #open = new Map<number, OpenBlock>();
  readonly #calls: ModelCall[] = [];
  #usage: Usage = noUsage;
  #started = false;
  #counted = false;
  #finished = false;
  #stopReason: string | null = null;
  #breach: Breach | null = null;
  #stopped = false;
  #seenOutputTokens = 0;

  constructor(
    private readonly droppedTools: ReadonlySet<string>,
    private readonly stopsAtBreach: boolean,
  ) {}

  push(chunk: Buffer): MeterSign {
    let finishedAt = -1;
    const readable = this.#lines.push(chunk, (line, startsAt) => {
      if (this.#stopped || !isData(line)) return;
      const wasFinished = this.#finished;
      this.#read(line);
      if (this.#finished && !wasFinished) finishedAt = startsAt;
    });
    if (!readable) this.#fail();
    if (this.#stopped) return { kind: 'stop' };
    return finishedAt === -1 ? { kind: 'more' } : { kind: 'finished', finishedAt };
  }

  result(): Answer & { final: boolean } {
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
    return [...this.#open.values()].map(({ toolCallId, tool, parts }) => ({ toolCallId, tool, input: null, rawInput: parts.join('') }));
  }

  #read(line: Buffer): void {
    if (textDelta.test(line.toString('latin1', 0, 120))) {
      this.#seenOutputTokens += Math.max(1, inputTokensOf(line.length - deltaFrameBytes));
      return;
    }
    const event = parse(line);
    if (event === undefined) this.#fail();
    else if (isObject(event)) this.#apply(event);
  }

  /** What cannot be read cannot be covered: this stops the stream whatever the policy says. */
  #fail(): void {
    this.#breach ??= unreadable;
    this.#stopped = true;
  }

  #apply(event: Readonly<Record<string, unknown>>): void {
    switch (event.type) {
      case 'message_start':
        this.#started = true;
        this.#usage = mergeUsage(this.#usage, isObject(event.message) ? event.message.usage : undefined);
        return;
      case 'content_block_start':
        this.#startBlock(event);
        return;
      case 'content_block_delta':
        this.#addToBlock(event);
        return;
      case 'content_block_stop':
        this.#endBlock(Number(event.index));
        return;
      case 'message_delta':
        this.#usage = mergeUsage(this.#usage, event.usage);
        if (isObject(event.usage) && typeof event.usage.output_tokens === 'number') this.#counted = true;
        if (isObject(event.delta) && typeof event.delta.stop_reason === 'string') this.#stopReason = event.delta.stop_reason;
        return;
      case 'message_stop':
        this.#finished = true;
        return;
    }
  }

  #startBlock(event: Readonly<Record<string, unknown>>): void {
    const block = event.content_block;
    if (!isObject(block)) return;
    // The answer is booked by the end of its message: a call behind it would be seen by the runner alone.
    if (this.#finished && block.type === 'tool_use') {
      this.#fail();
      return;
    }
    const breach = breachOf(block, this.droppedTools);
    if (breach !== null) {
      this.#breach ??= breach;
      this.#stopped ||= this.stopsAtBreach || breach.kind === 'unreadable';
    }
    if (block.type !== 'tool_use' || this.#stopped) return;
    this.#seenOutputTokens += 3;
    this.#open.set(Number(event.index), { toolCallId: String(block.id), tool: String(block.name), startInput: block.input, parts: [] });
  }

  #addToBlock(event: Readonly<Record<string, unknown>>): void {
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
    const input = rawInput === '' ? (block.startInput ?? {}) : parseText(rawInput);
    this.#calls.push({
      toolCallId: block.toolCallId,
      tool: block.tool,
      input: input ?? null,
      rawInput: rawInput === '' ? JSON.stringify(input) : rawInput,
    });
  }
}

const isData = (line: Buffer): boolean => line.length > dataPrefix.length && line.subarray(0, dataPrefix.length).equals(dataPrefix);
const parse = (line: Buffer): unknown => parseText(line.toString('utf8', dataPrefix.length));

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
