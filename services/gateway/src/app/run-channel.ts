import type { EventView } from '@fluidbox/contracts';
import { EventBatch } from '../domain/event-batch';

/** A connection that takes bytes. */
export interface Sink {
  /** False when it takes no more for now; whoever opened it says `drained` when it does again. */
  write(bytes: Buffer): boolean;
  /** Ends after what was written. */
  end(lastWords?: Buffer): void;
  /** Cuts it: the client comes back with its last id. */
  cut(): void;
}
export interface Watcher {
  readonly sink: Sink;
  /** The last event that it was sent. */
  cursor: number;
  gone: boolean;
  /** Bytes that its connection has not taken yet, and since when. */
  held: number;
  heldSince: number;
  wrote: number;
  /** Set while it waits for its connection. */
  resume: (() => void) | null;
}
export interface ChannelPorts {
  /** At most a page; the only read of the ledger. */
  readonly read: (after: number) => Promise<readonly EventView[]>;
  readonly now: () => number;
  readonly onFailure: (error: unknown) => void;
  /** Whether so many more bytes may wait in this process, for this one. */
  readonly mayHold: (watcher: Watcher, bytes: number) => boolean;
  readonly onHeld: (watcher: Watcher, bytes: number) => void;
  readonly onGone: (watcher: Watcher) => void;
  readonly coalesceMs: number;
}

const cachedMs = 10_000;
const cachedBytesMax = 2 * 1024 * 1024;

/**
 * One run and everybody who watches it. Who is at the newest event is *live*: a batch is read once, encoded once, and the same bytes are written to all of
 * them. Who starts further back, or whose connection was full, goes on by pages of its own until it is there, mostly from the batches of the last seconds.
 */
export class RunChannel {
  readonly watchers = new Set<Watcher>();
  readonly #live = new Set<Watcher>();
  /** Every live watcher has this event; null until the first of them has come to the end. */
  #tail: number | null = null;
  #heard = 0;
  #flushing = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #reading = new Map<number, Promise<EventBatch | null>>();
  #recent: { readonly batch: EventBatch; readonly at: number }[] = [];
  #recentBytes = 0;

  constructor(private readonly ports: ChannelPorts) {}

  /** Somebody spoke of this event: the log, or a look at the heads. What came within a few milliseconds goes out together. */
  hear(seq: number): void {
    this.#heard = Math.max(this.#heard, seq);
    if (this.#tail === null || this.#heard <= this.#tail || this.#flushing || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#flush();
    }, this.ports.coalesceMs);
  }

  add(watcher: Watcher): void {
    this.watchers.add(watcher);
    void this.#catchUp(watcher);
  }

  remove(watcher: Watcher): void {
    if (watcher.gone) return;
    watcher.gone = true;
    this.#release(watcher);
    watcher.resume?.();
    this.#live.delete(watcher);
    this.watchers.delete(watcher);
    if (this.watchers.size === 0) clearTimeout(this.#timer);
    this.ports.onGone(watcher);
  }

  drained(watcher: Watcher): void {
    this.#release(watcher);
    watcher.resume?.();
  }

  end(watcher: Watcher, lastWords?: Buffer): void {
    this.remove(watcher);
    watcher.sink.end(lastWords);
  }

  cut(watcher: Watcher): void {
    this.remove(watcher);
    watcher.sink.cut();
  }

  /** Erased content must not live on here, nor must memory. */
  forget(before = this.ports.now() - cachedMs): void {
    while (this.#recent[0] !== undefined && this.#recent[0].at <= before) this.#dropOldest();
  }

  async #flush(): Promise<void> {
    this.#flushing = true;
    try {
      while (this.#tail !== null && this.#heard > this.#tail && this.#live.size > 0) {
        const batch = await this.#batchAfter(this.#tail);
        if (batch === null) break;
        this.#tail = batch.last;
        for (const watcher of this.#live) this.#send(watcher, batch);
      }
    } catch (error) {
      // The next word of the log, or the next look at the heads, tries again.
      this.ports.onFailure(error);
    } finally {
      this.#flushing = false;
    }
    // Nobody was at the end: who comes there reads it.
    if (this.#live.size === 0) this.#tail = null;
  }

  /** Pages until it has what the live ones have. Between the last page and joining them nothing can happen. */
  async #catchUp(watcher: Watcher): Promise<void> {
    this.#live.delete(watcher);
    try {
      while (!watcher.gone) {
        if (watcher.held > 0) await new Promise<void>((resolve) => (watcher.resume = resolve));
        watcher.resume = null;
        if (watcher.gone) return;
        if (this.#tail !== null && watcher.cursor >= this.#tail) return this.#join(watcher);
        const batch = await this.#batchAfter(watcher.cursor);
        if (watcher.gone) return;
        if (batch !== null) this.#send(watcher, batch);
        else {
          this.#tail ??= watcher.cursor;
          if (watcher.cursor < this.#tail) throw new Error(`the ledger has no event ${watcher.cursor + 1}, but ${this.#tail}`);
        }
      }
    } catch (error) {
      this.ports.onFailure(error);
      this.cut(watcher);
    }
  }

  #join(watcher: Watcher): void {
    this.#live.add(watcher);
    this.hear(this.#heard);
  }

  #send(watcher: Watcher, batch: EventBatch): void {
    if (batch.last <= watcher.cursor) return;
    const bytes = batch.after(watcher.cursor);
    watcher.cursor = batch.last;
    watcher.wrote = this.ports.now();
    const taken = watcher.sink.write(bytes);
    if (batch.ends) this.end(watcher);
    else if (!taken && !watcher.gone) this.#hold(watcher, bytes.length);
  }

  /** Its connection is full: it gets nothing more until it takes again, and then goes on by itself. */
  #hold(watcher: Watcher, bytes: number): void {
    if (!this.ports.mayHold(watcher, bytes)) {
      this.cut(watcher);
      return;
    }
    watcher.held = bytes;
    watcher.heldSince = watcher.wrote;
    this.ports.onHeld(watcher, bytes);
    if (this.#live.has(watcher)) void this.#catchUp(watcher);
  }

  #release(watcher: Watcher): void {
    this.ports.onHeld(watcher, -watcher.held);
    watcher.held = 0;
  }

  /** Null at the end of the stream. Everybody who wants the same page waits for one read of it. */
  #batchAfter(seq: number): Promise<EventBatch | null> {
    const known = this.#recent.findLast(({ batch }) => batch.continues(seq));
    if (known !== undefined) return Promise.resolve(known.batch);
    const running = this.#reading.get(seq);
    if (running !== undefined) return running;
    const reading = this.ports
      .read(seq)
      .then((events) => (events.length === 0 ? null : this.#remember(new EventBatch(events))))
      .finally(() => this.#reading.delete(seq));
    this.#reading.set(seq, reading);
    return reading;
  }

  #remember(batch: EventBatch): EventBatch {
    this.#recent.push({ batch, at: this.ports.now() });
    this.#recentBytes += batch.bytes.length;
    while (this.#recentBytes > cachedBytesMax && this.#recent.length > 1) this.#dropOldest();
    return batch;
  }

  #dropOldest(): void {
    this.#recentBytes -= this.#recent.shift()?.batch.bytes.length ?? 0;
  }
}
