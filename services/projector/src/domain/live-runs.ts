/** Runs that have not ended, and when each was last vouched for. */
export class LiveRuns {
  readonly #runs = new Map<string, { readonly id: string; readonly org: string; since: number; moved: boolean }>();

  constructor(private readonly everyMs: number) {}

  /** Something happened in the run. `since`: when it was first heard of or last signed. */
  moved(id: string, org: string, since: number): void {
    const run = this.#runs.get(id) ?? { id, org, since, moved: true };
    run.moved = true;
    this.#runs.set(id, run);
  }

  signed(id: string, at: number): void {
    const run = this.#runs.get(id);
    if (run === undefined) return;
    run.since = at;
    run.moved = false;
  }

  ended(id: string): void {
    this.#runs.delete(id);
  }

  /** Moved since the last checkpoint, and that is long enough ago. */
  due(now: number): { id: string; org: string }[] {
    // A clock that was set back must not put off a checkpoint by as much.
    for (const run of this.#runs.values()) run.since = Math.min(run.since, now);
    return [...this.#runs.values()].filter((run) => run.moved && now - run.since >= this.everyMs).map(({ id, org }) => ({ id, org }));
  }
}
