/** Requests that wait for budget to come free, by run. A wake-up only means "look again": the ledger decides who goes. */
export class ReservationQueue {
  readonly #waiting = new Map<string, Set<() => void>>();

  wake(runId: string): void {
    for (const resume of this.#waiting.get(runId) ?? []) resume();
  }

  /** Resolves at the next wake-up or after `ms`. */
  wait(runId: string, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const waiters = this.#waiting.get(runId) ?? new Set();
      this.#waiting.set(runId, waiters);
      const resume = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', resume);
        waiters.delete(resume);
        if (waiters.size === 0 && this.#waiting.get(runId) === waiters) this.#waiting.delete(runId);
        resolve();
      };
      const timer = setTimeout(resume, ms);
      signal.addEventListener('abort', resume, { once: true });
      waiters.add(resume);
      if (signal.aborted) resume();
    });
  }
}
