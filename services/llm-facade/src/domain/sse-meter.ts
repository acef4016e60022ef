import { type Pattern, patternOf, standsAt, viewOf } from './bytes';
import type { Answer, Breach, MeterSign, StreamMeter } from './dialect';
import { isObject, type Json, parseJson } from './json';
import { LineScanner, type OnLine } from './lines';

/** How a dialect reads the events of its stream; framing, cuts and limits are the same for all. */
export interface EventReader {
  /** The line before a piece of text, with its end, as the provider writes it. */
  readonly textEvent: Pattern;
  /** True when the data line from `from` up to `to` is a piece of text: its length was counted, and it is never parsed. Nearly all of a stream is. */
  takesText(view: DataView, from: number, to: number, bytes: Buffer): boolean;
  /** `finished`: this event ends the answer. `stop`: it must not reach the runner. `unreadable`: as `stop`, under every policy. */
  take(event: Json): 'more' | 'finished' | 'stop' | 'unreadable';
  answer(): Answer & { readonly final: boolean };
}

const lineBytesMax = 8 * 1024 * 1024;
const dataPrefix = patternOf('data:');
const space = 32;
const lf = 10;
const newline = Buffer.from('\n');
const unreadable: Breach = { kind: 'unreadable', toolCallId: '', tool: '' };

/**
 * Reads server-sent events while their bytes pass, whatever the cuts. A data line is read as soon as it ends: no provider writes an event over
 * several. One that is not JSON by itself is joined with those behind it, as clients do, until the event ends.
 */
export class SseMeter implements StreamMeter {
  readonly #lines = new LineScanner(lineBytesMax);
  #partial: Buffer | null = null;
  #finished = false;
  #stopped = false;
  #failed = false;

  constructor(private readonly reader: EventReader) {}

  push(chunk: Buffer): MeterSign {
    let finishedAt = -1;
    const view = viewOf(chunk);
    const onLine: OnLine = (bytes, from, to, startsAt) => {
      if (this.#stopped) return;
      const wasFinished = this.#finished;
      this.#readLine(bytes === chunk ? view : viewOf(bytes), bytes, from, to);
      if (this.#finished && !wasFinished) finishedAt = startsAt;
    };
    const readable = this.#lines.push(chunk, onLine, (at) => this.#passText(view, chunk, at));
    if (!readable) this.#fail();
    if (this.#stopped) return { kind: 'stop' };
    return finishedAt === -1 ? { kind: 'more' } : { kind: 'finished', finishedAt };
  }

  result(): Answer & { readonly final: boolean } {
    const answer = this.reader.answer();
    return this.#failed ? { ...answer, breach: answer.breach ?? unreadable } : answer;
  }

  /** Most of a stream is one piece of text after the other, each in an event of two lines: it is read here without taking it apart. Answers where that ends. */
  #passText(view: DataView, chunk: Buffer, start: number): number {
    const { textEvent } = this.reader;
    let at = start;
    if (this.#partial !== null || this.#stopped) return at;
    while (standsAt(view, at, chunk.length, textEvent)) {
      const from = at + textEvent.length;
      const end = chunk.indexOf(lf, from);
      if (end === -1 || chunk[end + 1] !== lf || !this.reader.takesText(view, from, end, chunk)) break;
      at = end + 2;
    }
    return at;
  }

  #readLine(view: DataView, bytes: Buffer, from: number, to: number): void {
    if (from === to) {
      if (this.#partial !== null) this.#fail();
      return;
    }
    if ((this.#partial === null && this.reader.takesText(view, from, to, bytes)) || !isData(view, from, to)) return;
    const start = from + dataPrefix.length;
    const data = bytes.subarray(bytes[start] === space ? start + 1 : start, to);
    const joined: Buffer = this.#partial === null ? data : Buffer.concat([this.#partial, newline, data]);
    const text = joined.toString('utf8');
    if (text.trim() === '' || text === '[DONE]') return;
    const event = parseJson(text);
    this.#partial = event === undefined ? joined : null;
    if (joined.length > lineBytesMax) this.#fail();
    if (isObject(event)) this.#take(event);
  }

  #take(event: Json): void {
    const sign = this.reader.take(event);
    if (sign === 'finished') this.#finished = true;
    else if (sign === 'unreadable') this.#fail();
    else if (sign === 'stop') this.#stopped = true;
  }

  /** What cannot be read cannot be covered: this stops the stream whatever the policy says. */
  #fail(): void {
    this.#failed = true;
    this.#stopped = true;
  }
}

const isData = (view: DataView, from: number, to: number): boolean => to - from > dataPrefix.length && standsAt(view, from, to, dataPrefix);
