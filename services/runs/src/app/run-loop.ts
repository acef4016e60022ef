import { runStream, type StreamRef } from '@fluidbox/contracts';
import { TimerHeap } from '@fluidbox/service-kit';

const drivesAtOnce = 16;
const retryMs = 5_000;

export interface RunLoopPorts {
  readonly now: () => number;
  readonly drive: (stream: StreamRef, options: { atLeast: number }) => Promise<number | null>;
  readonly onFailure: (stream: StreamRef, error: unknown) => void;
  readonly onOver: (stream: StreamRef) => void;
}

/**
 * Keeps every open run moving: a run is driven when its stream moves and when its time comes, never twice at once. An open run always has an
 * entry in the heap, also after a failure, so the heap is the sweeper: nothing is forgotten because a message or an answer was lost.
 */
export class RunLoop {
  readonly #timers: TimerHeap<string>;
  readonly #streams = new Map<string, StreamRef>();
  readonly #waiting = new Map<string, { atLeast: number }>();
  readonly #driven = new Set<string>();
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(private readonly ports: RunLoopPorts) {
    this.#timers = new TimerHeap(ports.now, (runId) => this.#wake(runId, 0));
  }

  /** `atLeast`: the version of the stream that gave the reason. */
  wake(runId: string, org: string, atLeast: number): void {
    if (!this.#streams.has(runId)) this.#streams.set(runId, runStream(runId, org));
    this.#wake(runId, atLeast);
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

  #wake(runId: string, atLeast: number): void {
    if (this.#stopped) return;
    this.#waiting.set(runId, { atLeast: Math.max(atLeast, this.#waiting.get(runId)?.atLeast ?? 0) });
    this.#fill();
  }

  #fill(): void {
    for (const [runId, options] of this.#waiting) {
      if (this.#driven.size >= drivesAtOnce) return;
      if (this.#driven.has(runId)) continue;
      this.#waiting.delete(runId);
      const stream = this.#streams.get(runId);
      if (stream === undefined) continue;
      this.#driven.add(runId);
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
    this.#streams.delete(stream.id);
    this.ports.onOver(stream);
  }
}
