/** Who may have a sandbox now: first come, first served, at most `max` at once. */
export class Slots {
  readonly #held = new Set<string>();
  readonly #queue: string[] = [];

  constructor(private readonly max: number) {}

  /** True when the run holds a slot, now or already; otherwise it stands in the queue. */
  take(runId: string): boolean {
    if (this.#held.has(runId)) return true;
    if (!this.#queue.includes(runId)) this.#queue.push(runId);
    if (this.#held.size >= this.max || this.#queue[0] !== runId) return false;
    this.#queue.shift();
    this.#held.add(runId);
    return true;
  }

  /** A sandbox that lives already has its slot, whatever the limit says now. */
  hold(runId: string): void {
    this.leave(runId);
    this.#held.add(runId);
  }

  /** Answers who is next and may try. */
  leave(runId: string): string | undefined {
    this.#held.delete(runId);
    const at = this.#queue.indexOf(runId);
    if (at !== -1) this.#queue.splice(at, 1);
    return this.#held.size < this.max ? this.#queue[0] : undefined;
  }
}
