import { type EventView, terminalStatuses } from '@fluidbox/contracts';

/**
 * Consecutive events as bytes of an event stream. Encoded once and shared by everybody who watches the run: whoever may see a run may see its content, so
 * one encoding serves them all.
 */
export class EventBatch {
  readonly first: number;
  readonly last: number;
  /** The run's terminal event is the last of this batch. */
  readonly ends: boolean;
  readonly bytes: Buffer;
  /** Where each event starts. */
  readonly #starts: readonly number[];

  constructor(events: readonly EventView[]) {
    this.first = events[0]?.seq ?? 0;
    this.last = events.at(-1)?.seq ?? 0;
    this.ends = events.some(isTerminal);
    const frames = events.map((event) => Buffer.from(`id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`));
    this.bytes = Buffer.concat(frames);
    let at = 0;
    this.#starts = frames.map((frame) => {
      const start = at;
      at += frame.length;
      return start;
    });
  }

  /** Whether somebody who has everything up to `seq` goes on here. */
  continues(seq: number): boolean {
    return this.first <= seq + 1 && seq < this.last;
  }

  /** What is new to somebody who has everything up to `seq`; the very same bytes where that is all of it. */
  after(seq: number): Buffer {
    return seq < this.first ? this.bytes : this.bytes.subarray(this.#starts[seq + 1 - this.first] ?? this.bytes.length);
  }
}

const isTerminal = (event: EventView): boolean =>
  event.type === 'run.result' && (terminalStatuses as readonly unknown[]).includes(event.data.outcome);

/** The last word of a stream that ends before its run does. */
export const endFrame = (code: string, detail: string): Buffer => Buffer.from(`event: end\ndata: ${JSON.stringify({ code, detail })}\n\n`);
export const beatFrame = Buffer.from(': beat\n\n');
export const firstFrame = Buffer.from('retry: 1000\n\n');
