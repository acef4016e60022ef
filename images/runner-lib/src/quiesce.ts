/**
 * The order to wind down. Latching: it may arrive before the harness has registered how to stop, and then it is replayed;
 * every later heartbeat repeats it, and it still fires once.
 */
export class Quiesce {
  #reason: string | undefined;
  readonly #controller = new AbortController();

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get reason(): string | undefined {
    return this.#reason;
  }

  latch(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller.abort();
  }

  /** Calls back once, at once when the order has already come. */
  onQuiesce(listener: (reason: string) => void): void {
    const fire = (): void => listener(this.#reason ?? 'quiesce');
    if (this.#reason !== undefined) fire();
    else this.signal.addEventListener('abort', fire, { once: true });
  }
}
