/** The beats that other processes of this service took: one row per run, written behind. */
export interface HeartbeatTable {
  store(beats: ReadonlyMap<string, number>): Promise<void>;
  /** Last stored beat, or null. */
  read(runId: string): Promise<number | null>;
}

/**
 * A beat costs no write: it is kept in memory and all new ones are stored in one statement every few seconds. Only silence is an event.
 * After a start every run counts as heard from now, because nobody listened while this service was down.
 */
export class Heartbeats {
  readonly #last = new Map<string, number>();
  #unstored = new Map<string, number>();

  constructor(
    private readonly table: HeartbeatTable,
    private readonly listeningSince: number,
  ) {}

  beat(runId: string, at: number): void {
    this.#last.set(runId, at);
    this.#unstored.set(runId, at);
  }

  /** As this process knows it; never before it began to listen. */
  lastSignAt(runId: string): number {
    return this.#last.get(runId) ?? this.listeningSince;
  }

  /** Asked before silence is declared: another process may have taken the beats. */
  async lastSignAnywhere(runId: string): Promise<number> {
    const stored = await this.table.read(runId);
    return Math.max(this.lastSignAt(runId), stored ?? 0);
  }

  forget(runId: string): void {
    this.#last.delete(runId);
    this.#unstored.delete(runId);
  }

  /** A failed store is tried again with the next one; newer beats win. */
  async flush(): Promise<void> {
    const beats = this.#unstored;
    if (beats.size === 0) return;
    this.#unstored = new Map();
    try {
      await this.table.store(beats);
    } catch (error) {
      this.#unstored = new Map([...beats, ...this.#unstored]);
      throw error;
    }
  }
}
