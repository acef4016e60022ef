import type { LogMessage, RecordedEvent } from '@fluidbox/contracts';
import type { Fold } from '../api';
import { recordedOfLog } from '../domain/recorded';

interface Entry {
  version: number;
  /** The highest seq anybody spoke of. Above `version`: read before the next use. */
  heard: number;
  readonly states: Map<Fold<unknown>, unknown>;
}

/**
 * Folded streams by name, least recently used out first. One version per stream for all of its folds. An event is applied only when it is the next one;
 * after a jump the stream is read again, a repeat is ignored.
 */
export class FoldCache {
  readonly #entries = new Map<string, Entry>();

  constructor(private readonly streamsMax: number) {}

  /** The state and its version, or null when the stream must be read first (from `readAfter`). */
  get<S>(stream: string, fold: Fold<S>): { state: S; version: number } | null {
    const entry = this.#entries.get(stream);
    if (entry === undefined || entry.heard > entry.version || !entry.states.has(fold as Fold<unknown>)) return null;
    this.#entries.delete(stream);
    this.#entries.set(stream, entry);
    return { state: entry.states.get(fold as Fold<unknown>) as S, version: entry.version };
  }

  /** Where to read from so that this fold is current. A fold that is new to the stream starts over, with the others. */
  readAfter<S>(stream: string, fold: Fold<S>): number {
    const entry = this.#entries.get(stream);
    return entry?.states.has(fold as Fold<unknown>) === true ? entry.version : 0;
  }

  /** A fold that is not cached yet: all folds of the stream start over together, so that they share one version. */
  start<S>(stream: string, fold: Fold<S>): void {
    const folds = [...(this.#entries.get(stream)?.states.keys() ?? []), fold as Fold<unknown>];
    this.#entries.delete(stream);
    this.#entries.set(stream, { version: 0, heard: 0, states: new Map(folds.map((each) => [each, each.initial()])) });
    if (this.#entries.size > this.streamsMax) this.#evictOldest();
  }

  has(stream: string): boolean {
    return this.#entries.has(stream);
  }

  apply(stream: string, events: readonly RecordedEvent[]): void {
    const entry = this.#entries.get(stream);
    if (entry === undefined) return;
    try {
      for (const event of events) {
        if (event.seq <= entry.version) continue;
        if (event.seq > entry.version + 1) {
          entry.heard = Math.max(entry.heard, event.seq);
          return;
        }
        for (const [fold, state] of entry.states) entry.states.set(fold, fold.evolve(state, event));
        entry.version = event.seq;
      }
    } catch (error) {
      // A state that may be half changed is of no use to anybody.
      this.#entries.delete(stream);
      throw error;
    }
  }

  heard(stream: string): number {
    return this.#entries.get(stream)?.heard ?? 0;
  }

  /** The stream was read to its end after `heard` had been spoken of: the ledger is the truth, whatever the log had said. */
  caughtUp(stream: string, heard: number): void {
    const entry = this.#entries.get(stream);
    if (entry?.heard === heard) entry.heard = entry.version;
  }

  applyMessage(message: LogMessage): void {
    const entry = this.#entries.get(message.stream);
    if (entry === undefined || message.lastSeq <= entry.version) return;
    entry.heard = Math.max(entry.heard, message.lastSeq);
    if (message.events !== null && message.firstSeq <= entry.version + 1) this.apply(message.stream, message.events.map(recordedOfLog));
  }

  /** As if somebody had spoken of one more event of every stream. */
  doubt(): void {
    for (const entry of this.#entries.values()) entry.heard = Math.max(entry.heard, entry.version + 1);
  }

  #evictOldest(): void {
    const oldest = this.#entries.keys().next().value;
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
