import { Problem } from '@fluidbox/contracts';
import type { AppendGroup, AppendResult } from '../api';
import { mayShareUnit } from '../domain/append-rules';
import { inStreamOrder, type Unit } from './batch';
import { type EncodedGroup, encodeGroup } from './encoded';

export interface Entry extends EncodedGroup {
  resolve(result: AppendResult): void;
  reject(error: unknown): void;
}

export interface QueueLimits {
  readonly batchEventsMax: number;
  readonly batchBytesMax: number;
  readonly queuedEventsMax: number;
  readonly queuedBytesMax: number;
}
export const defaultLimits: QueueLimits = {
  batchEventsMax: 512,
  batchBytesMax: 1024 * 1024,
  queuedEventsMax: 20_000,
  queuedBytesMax: 64 * 1024 * 1024,
};

/** Smaller batches are not worth a commit of their own. */
const shareEventsMin = 16;

export interface PlannedUnit extends Unit {
  readonly groups: readonly Entry[];
}

/**
 * Callers wait here while batches commit. First in, first out for each stream; a stream that already has its unit in a batch waits for the next one,
 * unless the group is a fact that may join. Bounded: when it is full the caller hears `overloaded` and nothing was stored.
 */
export class AppendQueue {
  #entries: Entry[] = [];
  #events = 0;
  #bytes = 0;

  constructor(private readonly limits: QueueLimits) {}

  get empty(): boolean {
    return this.#entries.length === 0;
  }

  /** All groups of a call or none of them. */
  add(groups: readonly AppendGroup[]): Promise<AppendResult>[] {
    const encoded = groups.map(encodeGroup);
    let events = 0;
    let bytes = 0;
    for (const group of encoded) {
      events += group.events.length;
      bytes += group.size;
    }
    if (this.#events + events > this.limits.queuedEventsMax || this.#bytes + bytes > this.limits.queuedBytesMax) {
      throw new Problem(
        'overloaded',
        `the append queue is full (${this.#events} events, ${this.#bytes} bytes wait); nothing was stored, try again later`,
      );
    }
    this.#events += events;
    this.#bytes += bytes;
    return encoded.map(
      ({ group, stream, events, size }) =>
        new Promise((resolve, reject) => {
          this.#entries.push({ group, stream, events, size, resolve, reject });
        }),
    );
  }

  /**
   * The next batch, in stream order, without the streams of `busy`: their batch is under way. What does not fit stays, in its order. `shares`: how many
   * connections are free, this one included; callers who all wait for one batch would leave the others idle for ever.
   */
  next(busy: ReadonlySet<string>, shares = 1): PlannedUnit[] {
    const units = new Map<string, Entry[]>();
    const ids = new Set<string>();
    const waiting = new Set(busy);
    const left: Entry[] = [];
    const share = Math.max(shareEventsMin, Math.ceil(this.#events / shares));
    const eventsMax = Math.min(this.limits.batchEventsMax, share);
    let events = 0;
    let bytes = 0;
    let at = 0;
    for (; at < this.#entries.length; at += 1) {
      const entry = this.#entries[at];
      if (entry === undefined) break;
      const full = events > 0 && (events + entry.events.length > eventsMax || bytes + entry.size > this.limits.batchBytesMax);
      if (full) break;
      const unit = units.get(entry.stream);
      if (waiting.has(entry.stream) || !mayJoin(unit, entry, ids)) {
        waiting.add(entry.stream);
        left.push(entry);
        continue;
      }
      if (unit === undefined) units.set(entry.stream, [entry]);
      else unit.push(entry);
      for (const event of entry.group.events) ids.add(event.eventId);
      events += entry.events.length;
      bytes += entry.size;
    }
    this.#entries = [...left, ...this.#entries.slice(at)];
    this.#events -= events;
    this.#bytes -= bytes;
    return [...units].map(([stream, groups]) => ({ stream, groups })).sort(inStreamOrder);
  }
}

function mayJoin(unit: readonly Entry[] | undefined, entry: Entry, ids: ReadonlySet<string>): boolean {
  const lead = unit?.[0];
  if (lead !== undefined && !mayShareUnit(lead.group, entry.group)) return false;
  for (const event of entry.group.events) if (ids.has(event.eventId)) return false;
  return true;
}
