import { setMaxListeners } from 'node:events';

/** Requests that are being answered. A stop waits for them a little, then cuts them, and always waits until they are booked. */
export class RequestsInFlight {
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor() {
    // Every request listens, and stops listening at its end; Node would take more than ten for a leak.
    setMaxListeners(0, this.#stopping.signal);
  }

  async track(serve: (stopping: AbortSignal) => Promise<void>): Promise<void> {
    const running = serve(this.#stopping.signal);
    this.#running.add(running);
    try {
      await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async drain(graceMs: number): Promise<void> {
    const timer = setTimeout(() => this.#stopping.abort(new Error('the facade is stopping')), graceMs);
    await Promise.allSettled(this.#running);
    clearTimeout(timer);
  }
}
