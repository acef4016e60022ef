import type { EventType, LogMessage, StreamRef } from '@fluidbox/contracts';
import { TimerHeap } from './timer-heap';

const drivesAtOnceMax = 16;
const retryMs = 5_000;

export interface StreamLoopPorts {
  readonly now: () => number;
  /** Does what the stream needs and answers when to look again; null when it needs nothing more. `atLeast`: see `wake`. */
  readonly drive: (stream: StreamRef, options: { atLeast: number }) => Promise<number | null>;
  readonly onFailure: (stream: StreamRef, error: unknown) => void;
  readonly onOver?: (stream: StreamRef) => void;
}

/** Whether a log message holds an event of one of the types, or may hold one: a large batch carries only its range. */
export const mentions = (message: LogMessage, types: readonly EventType[]): boolean =>
  message.events === null || message.events.some(({ body }) => types.some((type) => body.includes(`"type":"${type}"`)));

/**
 * Keeps streams moving: one is driven when it moves and when its time comes, never twice at once. A driven stream has an entry in the heap until
 * `drive` says that it needs nothing more, also after a failure, so the heap is the sweeper: nothing is forgotten because a message was lost.
 */
export class StreamLoop {
  readonly #timers: TimerHeap<string>;
  readonly #streams = new Map<string, StreamRef>();
  readonly #waiting = new Map<string, { atLeast: number }>();
  readonly #driven = new Set<string>();
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(private readonly ports: StreamLoopPorts) {
    this.#timers = new TimerHeap(ports.now, (id) => this.#wake(id, 0));
  }

  /** `atLeast`: the version of the stream that gave the reason; a cached fold behind it is to be read on. */
  wake(stream: StreamRef, atLeast: number): void {
    this.#streams.set(stream.id, stream);
    this.#wake(stream.id, atLeast);
  }

  /** Keeps a stream moving from `at` on, without driving it before: for what a restart finds in its own table, however much that is. */
  schedule(stream: StreamRef, at: number): void {
    this.#streams.set(stream.id, stream);
    this.#timers.set(stream.id, at);
  }

  /** The same as `wake`, but only for a stream that is being kept moving. */
  wakeKnown(id: string, atLeast: number): void {
    if (this.#streams.has(id)) this.#wake(id, atLeast);
  }

  /** Fires what is due; the timer does it by itself. */
  poll(): void {
    this.#timers.poll();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timers.stop();
    this.#waiting.clear();
    await this.settled();
  }

  /** Resolves once nothing waits and nothing is driven. */
  settled(): Promise<void> {
    if (this.#driven.size === 0 && this.#waiting.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #wake(id: string, atLeast: number): void {
    if (this.#stopped) return;
    this.#waiting.set(id, { atLeast: Math.max(atLeast, this.#waiting.get(id)?.atLeast ?? 0) });
    this.#fill();
  }

  #fill(): void {
    for (const [id, options] of this.#waiting) {
      if (this.#driven.size >= drivesAtOnceMax) return;
      if (this.#driven.has(id)) continue;
      this.#waiting.delete(id);
      const stream = this.#streams.get(id);
      if (stream === undefined) continue;
      this.#driven.add(id);
      void this.#drive(stream, options);
    }
  }

  async #drive(stream: StreamRef, options: { atLeast: number }): Promise<void> {
    try {
      const wakeAt = await this.ports.drive(stream, options);
      if (wakeAt === null) this.#over(stream);
      else if (Number.isFinite(wakeAt)) this.#timers.set(stream.id, wakeAt);
    } catch (error) {
      this.#timers.set(stream.id, this.ports.now() + retryMs);
      this.ports.onFailure(stream, error);
    }
    this.#driven.delete(stream.id);
    this.#fill();
    if (this.#driven.size > 0 || this.#waiting.size > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  #over(stream: StreamRef): void {
    this.#timers.delete(stream.id);
    // Woken again meanwhile: it is asked once more before it is forgotten.
    if (this.#waiting.has(stream.id)) return;
    this.#streams.delete(stream.id);
    this.ports.onOver?.(stream);
  }
}
