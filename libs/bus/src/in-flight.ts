/** Bounds the handlers that run at the same time, and lets a stop wait for them. */
export class InFlight {
  private readonly running = new Set<Promise<void>>();

  constructor(private readonly max: number) {}

  /** False when there is no room; `work` must not reject. */
  tryStart(work: () => Promise<void>): boolean {
    if (this.running.size >= this.max) return false;
    const run = work().finally(() => this.running.delete(run));
    this.running.add(run);
    return true;
  }

  async idle(): Promise<void> {
    while (this.running.size > 0) await Promise.all(this.running);
  }
}
