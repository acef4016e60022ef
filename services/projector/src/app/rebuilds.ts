import { setTimeout as delay } from 'node:timers/promises';
import type { ReadModelName } from '@fluidbox/contracts';

export interface RebuildsPorts {
  /** What an earlier process did not finish, and what an older revision of the code filled. */
  readonly due: () => Promise<readonly ReadModelName[]>;
  readonly rebuild: (name: ReadModelName, stopped: () => boolean) => Promise<void>;
  readonly onFailure: (name: ReadModelName, error: unknown, givenUp: boolean) => Promise<void>;
  readonly retryDelayMs?: (tries: number) => number;
}

const triesMax = 5;

/** Fills models one after another. A failure is tried again a few times; then the live version stays and its problem stands in the list of models. */
export class Rebuilds {
  #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  readonly #waiting = new Set<ReadModelName>();

  constructor(private readonly ports: RebuildsPorts) {}

  start(name: ReadModelName): void {
    if (this.#waiting.has(name)) return;
    this.#waiting.add(name);
    this.#running = this.#running.then(() => this.#fill(name));
  }

  async resume(): Promise<void> {
    for (const name of await this.ports.due()) this.start(name);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  /** Resolves when nothing is left to fill, for tests. */
  async idle(): Promise<void> {
    for (let running: Promise<void> | null = null; running !== this.#running; await running) running = this.#running;
  }

  async #fill(name: ReadModelName): Promise<void> {
    const stopped = () => this.#stopped.signal.aborted;
    // Asked for again while it is being filled: that is a new wish only once this one is done.
    this.#waiting.delete(name);
    for (let tries = 1; !stopped(); tries += 1) {
      try {
        await this.ports.rebuild(name, stopped);
        return;
      } catch (error) {
        await this.ports.onFailure(name, error, tries >= triesMax);
        if (tries >= triesMax) return;
        const ms = this.ports.retryDelayMs?.(tries) ?? 500 * 2 ** tries;
        await delay(ms, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
      }
    }
  }
}
