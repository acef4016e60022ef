import type { EventDraft, LogMessage, RecordedEvent, ServiceName, StreamCategory, StreamRef } from '@fluidbox/contracts';
import type { Redacted } from '@fluidbox/redaction';
import type { ContentClass, Keyring, WrappedRunKeys } from '@fluidbox/seal';

/** An event ready to be stored: redacted ledger bytes and sealed content. Made by `prepareEvent`, never by hand. */
export interface PreparedEvent {
  readonly eventId: string;
  readonly type: string;
  readonly ledger: Redacted;
  readonly content: Readonly<Partial<Record<ContentClass, Buffer>>>;
}

/** Stored whole or not at all. `expected`: the version (last seq) the decision was folded from, or `any` for a fact. */
export interface AppendGroup {
  readonly stream: StreamRef;
  readonly events: readonly PreparedEvent[];
  readonly expected: number | 'any';
  /** A fact carries the generation it belongs to: another one in `stream_heads` refuses the group (`stale_lease`). */
  readonly generation?: number;
  /** Set by `lease.granted`: the head's new generation. */
  readonly setGeneration?: number;
  /** The terminal group closes the stream: nothing is appended after it (`closed`). */
  readonly closes?: boolean;
  readonly keys?: WrappedRunKeys;
  readonly documents?: readonly { readonly digest: string; readonly bytes: Buffer }[];
  /** Organisation, agent and month accounts, changed in the same statement: all or none. */
  readonly accounts?: readonly AccountChange[];
}
export interface AccountChange {
  readonly scope: string;
  readonly period: string;
  readonly reserve: number;
  readonly settle: number;
}
export type AppendResult =
  | { readonly ok: true; readonly firstSeq: number; readonly lastSeq: number; readonly events: readonly RecordedEvent[] }
  | { readonly ok: false; readonly reason: 'conflict'; readonly missed: readonly RecordedEvent[]; readonly version: number }
  | { readonly ok: false; readonly reason: 'stale_lease' | 'closed' | 'over_account' };

/** The only clock and the only source of ids; tests give their own. */
export interface Clock {
  now(): Date;
}
/** Time-ordered UUIDs: random ones would scatter the writes of the event index. */
export interface Ids {
  uuid(): string;
}

/** Postgres and memory implementations, one test suite. */
export interface EventStore {
  /** Group commit: callers enqueue, one statement per batch. Rejects with Problem `overloaded` when its bounded queue is full. */
  append(groups: readonly AppendGroup[]): Promise<readonly AppendResult[]>;
  /**
   * The second trip of a loser: locks the head, hands over what came after `after`, appends what `build` answers (null: nothing) and commits.
   * Every other append to the stream waits meanwhile, so `build` decides from what it is given and never appends.
   */
  appendLocked(
    stream: StreamRef,
    after: number,
    build: (missed: readonly RecordedEvent[], version: number) => Promise<AppendGroup | null>,
  ): Promise<AppendResult | null>;
  /** Ledger events of one stream after `after`, ascending, at most `limit` (cap 1,000). */
  read(stream: StreamRef, options?: { after?: number; limit?: number }): Promise<readonly RecordedEvent[]>;
  /** With the hash of each row, for verification and the API. */
  readWithHashes(
    stream: StreamRef,
    options?: { after?: number; limit?: number },
  ): Promise<readonly (RecordedEvent & { hash: string; body: string })[]>;
  /**
   * The same with what is sealed of each event, in one query: what somebody who may see it is shown. At most about `bytesMax` of sealed and ledger
   * bytes (default 8 MiB), but always the next event.
   */
  readSealed(stream: StreamRef, options?: { after?: number; limit?: number; bytesMax?: number }): Promise<readonly SealedEvent[]>;
  /** Heads of many streams of one organisation, by name: who waits for news of thousands of them asks once. */
  heads(org: string, streams: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Single events of many streams of one organisation in one query, by name and seq, in no order; what is not there is left out. */
  eventsAt(
    org: string,
    places: readonly { readonly stream: string; readonly seq: number }[],
  ): Promise<readonly (RecordedEvent & { readonly hash: string; readonly body: string })[]>;
  /** Sealed content of events of one stream. */
  readContent(stream: StreamRef, seqs: readonly number[], keyClass: ContentClass): Promise<ReadonlyMap<number, Buffer>>;
  /** Global order. Never skips a late commit: stops before the oldest open writing transaction. */
  readAll(options: { after: number; limit: number; categories: readonly StreamCategory[] }): Promise<readonly RecordedEvent[]>;
  /** The same with the position up to which everything has been seen, events of other categories included. `blocked`: a transaction is still open, ask again soon. */
  scan(options: {
    after: number;
    limit: number;
    categories: readonly StreamCategory[];
    types?: readonly string[];
    /** Not beyond this position, which a reader of the global order has passed: no event below it can still appear, so nobody waits. */
    upTo?: number;
  }): Promise<{ events: readonly RecordedEvent[]; position: number; blocked: boolean }>;
  head(stream: StreamRef): Promise<{ version: number; hash: string; generation: number; closed: boolean } | null>;
  wrappedKeys(stream: string): Promise<WrappedRunKeys | null>;
  /** Content-addressed documents: checked against their digest on read. */
  document(digest: string): Promise<Buffer | null>;
  putDocument(bytes: Buffer): Promise<string>;
  /** Called once per (stream, batch) after its commit; the bus publishes it. */
  onCommitted(listener: (message: LogMessage) => void): void;
  close(): Promise<void>;
}

export type SealedEvent = RecordedEvent & {
  readonly hash: string;
  readonly body: string;
  readonly sealed: Readonly<Partial<Record<ContentClass, Buffer>>>;
};

export type OpenedEvent = RecordedEvent & { readonly hash: string; readonly opened: Readonly<Partial<Record<ContentClass, unknown>>> };

/** A fold: `evolve` may change the state it is given and returns it; the cache owns the state, decisions only read it. */
export interface Fold<S> {
  readonly initial: () => S;
  readonly evolve: (state: S, event: RecordedEvent) => S;
}

/** What a decision wants: nothing, or events in one group. `result` is answered after the commit. */
export interface Decision<R> {
  readonly events: readonly EventDraft[];
  readonly result: R;
  readonly closes?: boolean;
  readonly setGeneration?: number;
  /** The first group of a stream: its keys, made by `keyring.create` beforehand because digests inside the events need the salt; stored in the same statement. */
  readonly createKeys?: ReturnType<Keyring['create']>;
  readonly documents?: readonly Buffer[];
  readonly accounts?: readonly AccountChange[];
}

/** The store as a use case sees it: load → decide → append, with the fold cached and every conflict decided again. */
export interface Ledger {
  /**
   * Folds the stream (cached, kept current by the log), asks `decide`, appends at the version it saw. On a conflict it applies what was missed
   * and asks again, at last under the lock of the stream's head, so it always ends. `decide` must be pure: it may run more than once.
   */
  decide<S, R>(fold: Fold<S>, stream: StreamRef, decide: (state: S, version: number) => Decision<R> | Promise<Decision<R>>): Promise<R>;
  /** Facts: appended at any version. `generation` fences them. Answers null when the stream is closed. */
  record(
    stream: StreamRef,
    events: readonly EventDraft[],
    options?: { generation?: number },
  ): Promise<{ firstSeq: number; lastSeq: number } | null>;
  /** The folded state at the head as this process knows it; `fresh` reads to the head in Postgres first. */
  state<S>(fold: Fold<S>, stream: StreamRef, options?: { fresh?: boolean }): Promise<{ state: S; version: number }>;
  /** Batches of other processes, from the bus: applied to the cached folds. A jump makes the next use read the range. */
  apply(message: LogMessage): void;
  /** The bus was away and messages may be missing: every cached stream is read on before its next use. */
  doubt(): void;
  /** What somebody who may see all of a stream is shown: one read, content opened with the stream's keys. What was erased is left out. */
  readOpened(stream: StreamRef, options?: { after?: number; limit?: number; bytesMax?: number }): Promise<readonly OpenedEvent[]>;
  /** Content of one event, opened; null when erased. */
  content(stream: StreamRef, seq: number, keyClass: ContentClass): Promise<unknown>;
  readonly store: EventStore;
  readonly keyring: Keyring;
}

/** Follows the global order with its position in Postgres, in the transaction of its effect (`tx`) where it has one there. */
export interface LogFollower {
  /** Durable name; the row in `ledger.positions`. */
  readonly name: string;
  readonly categories: readonly StreamCategory[];
  readonly types?: readonly string[];
  /** At least once unless the effect is written through `tx`. Throwing retries with backoff; after 10 tries the event is parked with its reason. */
  handle(events: readonly RecordedEvent[], tx: SqlClient): Promise<void>;
  /** After the commit of every transaction of `handle` or `replay`: what it wrote can be seen now. */
  committed?(): void;
  /** Handles a parked event that somebody asked for again, long after those that came behind it. Default: `handle`. */
  replay?(event: RecordedEvent, tx: SqlClient): Promise<void>;
}
export interface SqlClient {
  query<Row extends object = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number }>;
}

/** Sealed files named (run, sha256). Folder implementation now, object store later. */
export interface BlobStore {
  /** Streams plain bytes in, seals them in chunks with the run's `rest` key; answers digest and size of the plain bytes. */
  put(
    runId: string,
    key: Buffer,
    source: AsyncIterable<Buffer>,
    options?: { bytesMax?: number },
  ): Promise<{ sha256: string; bytes: number }>;
  open(runId: string, key: Buffer, sha256: string): AsyncIterable<Buffer>;
  has(runId: string, sha256: string): Promise<boolean>;
  remove(runId: string): Promise<void>;
}

/**
 * Brings a database to the schema of this version: advisory lock, checksums, one transaction per migration; doing it again changes nothing.
 * One login role per service, its password set to the one given each time. Run by `up` and `fluidbox migrate`, as superuser.
 */
export type Migrate = (options: { readonly databaseUrl: string; readonly passwords: Readonly<Record<ServiceName, string>> }) => Promise<{
  /** Names of the migrations that were applied now. */
  readonly applied: readonly string[];
  /** The login role of each service. */
  readonly roles: Readonly<Record<ServiceName, string>>;
}>;
