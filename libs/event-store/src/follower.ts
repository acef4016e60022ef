import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedEvent } from '@fluidbox/contracts';
import type pg from 'pg';
import type { EventStore, LogFollower } from './api';
import { failureOf } from './postgres/errors';
import { LazyTransaction } from './postgres/lazy-transaction';

export interface FollowerOptions {
  /** The service's own role: positions and effects are written with it. */
  readonly pool: pg.Pool;
  readonly follower: LogFollower;
  readonly store: Pick<EventStore, 'scan'>;
  /** Told of every failed try and of every event that is given up. */
  readonly onProblem: (
    message: string,
    detail: { readonly follower: string; readonly position: number; readonly tries: number; readonly error: unknown },
  ) => void;
  readonly batchMax?: number;
  readonly idleMs?: number;
  readonly triesMax?: number;
  readonly retryDelayMs?: (tries: number) => number;
}
export interface RunningFollower {
  /** There may be something new: a log message came, the bus reconnected. */
  wake(): void;
  /** Resolves when everything that was committed before the call has been handled (or parked). */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

const advisoryClass = 0x666f6c;
const standbyMs = 5_000;
const blockedMs = 25;
const savedPositionsMax = 1_000;
const savedMsMax = 5_000;
const replayLookMs = 1_000;

/**
 * Reads the global order from the follower's position, hands events over and moves the position in the transaction of their effect.
 * One process at a time works for a name (a session lock); the others stand by and take over when it goes. A transaction is opened only when the handler
 * writes through `tx`, so a handler with effects elsewhere holds nothing open while it works; such effects happen at least once.
 * Reads at start, when woken, and every 30 s. An event whose effect fails ten times is parked: a row with its reason, and everything behind it goes on. It is
 * handled again when somebody asks (`replay_requested_at`), at the next look.
 */
export function startFollower(options: FollowerOptions): RunningFollower {
  const loop = new FollowerLoop(options);
  const done = loop.run();
  return {
    wake: () => loop.wake(),
    caughtUp: () => loop.caughtUp(),
    stop: async () => {
      loop.stop();
      await done;
    },
  };
}

class FollowerLoop {
  #stopped = false;
  #woken = true;
  #wakeUp: (() => void) | null = null;
  #position = 0;
  /** What the row says; behind `#position` only by events that are nothing to this follower. */
  #saved = { position: 0, at: 0 };
  #tries = 0;
  #lookedForReplays = Number.NEGATIVE_INFINITY;
  readonly #waiting: (() => void)[] = [];
  #round = 0;

  constructor(private readonly options: FollowerOptions) {}

  wake(): void {
    this.#woken = true;
    this.#wakeUp?.();
  }

  stop(): void {
    this.#stopped = true;
    this.wake();
  }

  caughtUp(): Promise<void> {
    return new Promise((resolve) => {
      // The round that runs now may have read before the call.
      const needed = this.#round + 1;
      const check = (): void => {
        if (this.#round > needed || this.#stopped) {
          resolve();
          return;
        }
        this.#waiting.push(check);
        // Otherwise the next round would come with the next idle look.
        this.wake();
      };
      check();
    });
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#session();
      } catch (error) {
        this.#problem('the database session of the follower ended; it starts again', error);
        await this.#backOff(3);
      }
    }
    for (const check of this.#waiting.splice(0)) check();
  }

  /** One session holds the lock of the name for as long as its connection lives. */
  async #session(): Promise<void> {
    const client = await this.options.pool.connect();
    let lost = false;
    const onError = (): void => {
      lost = true;
      this.wake();
    };
    client.on('error', onError);
    try {
      while (!this.#stopped && !(await this.#lock(client))) await this.#sleep(standbyMs);
      if (this.#stopped) return;
      this.#position = await this.#storedPosition(client);
      this.#saved = { position: this.#position, at: performance.now() };
      while (!this.#stopped && !lost) await this.#readOn(client);
      if (!lost && this.#position > this.#saved.position) await this.#savePosition(client, this.#position);
    } finally {
      client.off('error', onError);
      // Destroyed, not pooled: the lock goes with the connection.
      client.release(true);
    }
  }

  async #lock(client: pg.PoolClient): Promise<boolean> {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1, hashtext($2)) as held', [
      advisoryClass,
      this.options.follower.name,
    ]);
    return rows[0]?.held === true;
  }

  async #storedPosition(client: pg.PoolClient): Promise<number> {
    const { name } = this.options.follower;
    await client.query('insert into ledger.positions (name) values ($1) on conflict do nothing', [name]);
    const { rows } = await client.query<{ position: string }>('select position from ledger.positions where name = $1', [name]);
    return Number(rows[0]?.position ?? 0);
  }

  async #readOn(client: pg.PoolClient): Promise<void> {
    this.#woken = false;
    const before = this.#position;
    const { categories, types } = this.options.follower;
    const page = await this.options.store.scan({
      after: this.#position,
      limit: this.options.batchMax ?? 500,
      categories,
      ...(types === undefined ? {} : { types }),
    });
    if (page.events.length > 0) await this.#handle(client, page.events, page.position);
    else if (page.position > this.#position) await this.#passOver(client, page.position);
    if (page.blocked) return void (await this.#sleep(blockedMs));
    if (page.events.length > 0 || page.position > before) return;
    await this.#replayParked(client);
    this.#round += 1;
    for (const check of this.#waiting.splice(0)) check();
    if (!this.#woken) await this.#sleep(this.options.idleMs ?? 30_000);
  }

  /** The whole page; when that fails, event by event, so that one bad event holds up nobody for long and is found. */
  async #handle(client: pg.PoolClient, events: readonly RecordedEvent[], position: number): Promise<void> {
    try {
      await this.#apply(client, events, position);
      return;
    } catch (error) {
      if (failureOf(error) === 'retry') throw error;
      this.#problem('a page failed; its events are tried one by one', error);
    }
    for (const event of events) {
      if (this.#stopped) return;
      await this.#handleOne(client, event);
    }
    if (!this.#stopped) await this.#apply(client, [], position);
  }

  async #handleOne(client: pg.PoolClient, event: RecordedEvent): Promise<void> {
    const triesMax = this.options.triesMax ?? 10;
    for (this.#tries = 1; !this.#stopped; this.#tries += 1) {
      try {
        await this.#apply(client, [event], event.globalPosition);
        return;
      } catch (error) {
        if (failureOf(error) === 'retry') throw error;
        this.#problem(this.#tries < triesMax ? 'an event failed' : 'an event is parked', error);
        if (this.#tries >= triesMax) return this.#park(client, event, error);
        await this.#backOff(this.#tries);
      }
    }
  }

  async #apply(client: pg.PoolClient, events: readonly RecordedEvent[], position: number): Promise<void> {
    const tx = new LazyTransaction(client);
    try {
      if (events.length > 0) await this.options.follower.handle(events, tx);
      await tx.query('update ledger.positions set position = $2, updated_at = now() where name = $1 and position < $2', [
        this.options.follower.name,
        position,
      ]);
      await tx.commit();
      this.#position = position;
      this.#saved = { position, at: performance.now() };
      if (events.length > 0) this.options.follower.committed?.();
    } catch (error) {
      await tx.rollback();
      throw error;
    }
  }

  /** Nothing here for this follower: worth a write only now and then. After a crash it is passed over again. */
  async #passOver(client: pg.PoolClient, position: number): Promise<void> {
    this.#position = position;
    const due = position - this.#saved.position >= savedPositionsMax || performance.now() - this.#saved.at >= savedMsMax;
    if (due) await this.#savePosition(client, position);
  }

  async #savePosition(client: pg.PoolClient, position: number): Promise<void> {
    await client.query('update ledger.positions set position = $2, updated_at = now() where name = $1 and position < $2', [
      this.options.follower.name,
      position,
    ]);
    this.#saved = { position, at: performance.now() };
  }

  async #park(client: pg.PoolClient, event: RecordedEvent, error: unknown): Promise<void> {
    const tx = new LazyTransaction(client);
    await tx.query(
      `insert into ledger.parked (name, global_position, reason, tries) values ($1, $2, $3, $4)
       on conflict (name, global_position) do update
         set reason = excluded.reason, tries = excluded.tries, at = now(), replay_requested_at = null`,
      [this.options.follower.name, event.globalPosition, reasonOf(error), this.#tries],
    );
    await tx.query('update ledger.positions set position = $2, updated_at = now() where name = $1', [
      this.options.follower.name,
      event.globalPosition,
    ]);
    await tx.commit();
    this.#position = event.globalPosition;
  }

  /** At most once a second, however often it is woken. */
  async #replayParked(client: pg.PoolClient): Promise<void> {
    if (performance.now() - this.#lookedForReplays < replayLookMs) return;
    this.#lookedForReplays = performance.now();
    const { rows } = await client.query<{ global_position: string }>(
      'select global_position from ledger.parked where name = $1 and replay_requested_at is not null order by global_position limit 100',
      [this.options.follower.name],
    );
    for (const row of rows) {
      if (this.#stopped) return;
      await this.#replayOne(client, Number(row.global_position));
    }
  }

  async #replayOne(client: pg.PoolClient, position: number): Promise<void> {
    const { follower, store } = this.options;
    const tx = new LazyTransaction(client);
    try {
      const { events } = await store.scan({ after: position - 1, limit: 1, categories: follower.categories, upTo: position });
      for (const event of events) await (follower.replay?.(event, tx) ?? follower.handle([event], tx));
      await tx.query('delete from ledger.parked where name = $1 and global_position = $2', [follower.name, position]);
      await tx.commit();
      follower.committed?.();
    } catch (error) {
      await tx.rollback();
      if (failureOf(error) === 'retry') throw error;
      this.#problem('a parked event failed again', error);
      await client.query(
        `update ledger.parked set reason = $3, tries = tries + 1, replay_requested_at = null
         where name = $1 and global_position = $2`,
        [follower.name, position, reasonOf(error)],
      );
    }
  }

  #problem(message: string, error: unknown): void {
    this.options.onProblem(message, { follower: this.options.follower.name, position: this.#position, tries: this.#tries, error });
  }

  /** Ends early when woken. */
  async #sleep(ms: number): Promise<void> {
    const timer = new AbortController();
    this.#wakeUp = () => timer.abort();
    if (this.#stopped) timer.abort();
    await delay(ms, undefined, { signal: timer.signal }).catch(() => undefined);
    this.#wakeUp = null;
  }

  /** Ends early only when stopped: news from the log must not use up the tries of an event that needs time. */
  async #backOff(tries: number): Promise<void> {
    const until = performance.now() + (this.options.retryDelayMs?.(tries) ?? Math.min(5_000, 50 * 2 ** tries));
    while (!this.#stopped && performance.now() < until) await this.#sleep(Math.max(1, until - performance.now()));
  }
}

/** For a person who lists what is parked; NUL, which text in Postgres cannot hold, would park the parking. */
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll('\u0000', '\u2400').slice(0, 2_000);
