import { Problem } from '@fluidbox/contracts';
import type { AppendGroup, AppendResult } from '../api';
import { mayShareUnit } from '../domain/append-rules';
import { groupBytes, inStreamOrder, streamOf, type Unit } from './batch';

export interface Entry {
  readonly group: AppendGroup;
  readonly stream: string;
  readonly bytes: number;
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

export interface PlannedUnit extends Unit {
  readonly entries: readonly Entry[];
}

/**
 * Callers wait here while a batch commits. First in, first out for each stream; a stream that already has its unit in the batch waits for the next one,
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

  add(group: AppendGroup): Promise<AppendResult> {
    const bytes = groupBytes(group);
    if (this.#events + group.events.length > this.limits.queuedEventsMax || this.#bytes + bytes > this.limits.queuedBytesMax) {
      throw new Problem(
        'overloaded',
        `the append queue is full (${this.#events} events, ${this.#bytes} bytes wait); nothing was stored, try again later`,
      );
    }
    this.#events += group.events.length;
    this.#bytes += bytes;
    return new Promise((resolve, reject) => {
      this.#entries.push({ group, stream: streamOf(group), bytes, resolve, reject });
    });
  }

  /** The next batch, in stream order. What does not fit stays, in its order. */
  next(): PlannedUnit[] {
    const units = new Map<string, Entry[]>();
    const ids = new Set<string>();
    const waiting = new Set<string>();
    const left: Entry[] = [];
    let events = 0;
    let bytes = 0;
    let at = 0;
    for (; at < this.#entries.length; at += 1) {
      const entry = this.#entries[at] as Entry;
      const full =
        events > 0 && (events + entry.group.events.length > this.limits.batchEventsMax || bytes + entry.bytes > this.limits.batchBytesMax);
      if (full) break;
      const unit = units.get(entry.stream);
      const lead = unit?.[0];
      const fits =
        !waiting.has(entry.stream) &&
        (lead === undefined || mayShareUnit(lead.group, entry.group)) &&
        entry.group.events.every((event) => !ids.has(event.eventId));
      if (!fits) {
        waiting.add(entry.stream);
        left.push(entry);
        continue;
      }
      if (unit === undefined) units.set(entry.stream, [entry]);
      else unit.push(entry);
      for (const event of entry.group.events) ids.add(event.eventId);
      events += entry.group.events.length;
      bytes += entry.bytes;
    }
    this.#entries = [...left, ...this.#entries.slice(at)];
    this.#events -= events;
    this.#bytes -= bytes;
    return [...units].map(([stream, entries]) => ({ stream, entries, groups: entries.map((entry) => entry.group) })).sort(inStreamOrder);
  }

  /** Everything that still waits, for the end. */
  drain(): Entry[] {
    const entries = this.#entries;
    this.#entries = [];
    this.#events = 0;
    this.#bytes = 0;
    return entries;
  }
}
