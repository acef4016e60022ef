import { type LogMessage, Problem, type RecordedEvent, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import type { ContentClass, WrappedRunKeys } from '@fluidbox/seal';
import type { AccountChange, AppendGroup, AppendResult, EventStore } from '../api';
import { refusalOf } from '../domain/append-rules';
import { chainHash, genesisHash } from '../domain/chain';
import { checkGroup } from '../domain/check-group';
import { documentDigest } from '../domain/document-digest';
import { logMessageOf, recordedOf } from '../domain/recorded';

interface StoredEvent {
  readonly recorded: RecordedEvent;
  readonly body: string;
  readonly hash: Buffer;
  readonly category: StreamRef['category'];
  readonly content: Readonly<Partial<Record<ContentClass, Buffer>>>;
}
interface Stream {
  readonly org: string;
  readonly events: StoredEvent[];
  generation: number;
  closed: boolean;
}

export interface MemoryAccount {
  readonly scope: string;
  readonly period: string;
  limit: number | null;
  reserved: number;
  spent: number;
}
export interface MemoryStore extends EventStore {
  /** The budget accounts as they stand; a test sets limits here, and what corrects an account writes here. */
  readonly accounts: { of(scope: string, period: string): MemoryAccount; all(): readonly MemoryAccount[] };
}

/** The rules of the ledger without a database, for tests of services. Same suite as the Postgres store. */
export function createMemoryStore(): MemoryStore {
  const streams = new Map<string, Stream>();
  const all: StoredEvent[] = [];
  const byId = new Map<string, StoredEvent>();
  const keys = new Map<string, WrappedRunKeys>();
  const documents = new Map<string, Buffer>();
  const accounts = new Map<string, MemoryAccount>();
  const listeners: ((message: LogMessage) => void)[] = [];
  const locks = new Map<string, Promise<unknown>>();

  const empty = (stream: StreamRef): Stream => ({ org: stream.org, events: [], generation: 0, closed: false });
  const find = (stream: StreamRef): Stream | undefined => {
    const found = streams.get(streamNameOf(stream));
    return found?.org === stream.org ? found : undefined;
  };
  const recordedAfter = (stream: StreamRef, after: number, limit = 1_000) =>
    (find(stream)?.events ?? []).slice(after, after + Math.min(limit, 1_000));

  /** The row of a new month takes the limit of every month. */
  const accountOf = (scope: string, period: string): MemoryAccount => {
    const known = accounts.get(`${scope} ${period}`);
    if (known !== undefined) return known;
    const monthly = /^\d{4}-\d{2}$/.test(period) ? (accounts.get(`${scope} month`)?.limit ?? null) : null;
    const account: MemoryAccount = { scope, period, limit: monthly, reserved: 0, spent: 0 };
    accounts.set(`${scope} ${period}`, account);
    return account;
  };
  const overLimit = ({ scope, period, reserve }: AccountChange): boolean => {
    const { limit, spent, reserved } = accountOf(scope, period);
    return reserve > 0 && limit !== null && spent + reserved + reserve > limit;
  };

  const store = (group: AppendGroup): AppendResult => {
    const name = streamNameOf(group.stream);
    const known = streams.get(name);
    if (known !== undefined && known.org !== group.stream.org)
      throw new Problem('not_found', `stream ${name} is not one of organisation ${group.stream.org}`);
    const stream = known ?? empty(group.stream);
    const earlier = group.events.map((event) => byId.get(event.eventId));
    const elsewhere = earlier.find((event) => event !== undefined && event.recorded.stream !== name);
    if (elsewhere !== undefined)
      throw new Problem('internal', `append to ${name} failed: event ${elsewhere.recorded.eventId} stands in another stream`);
    const first = earlier[0]?.recorded;
    const last = earlier.at(-1)?.recorded;
    if (first !== undefined && last !== undefined)
      return {
        ok: true,
        firstSeq: first.seq,
        lastSeq: last.seq,
        events: earlier.flatMap((event) => (event === undefined ? [] : [event.recorded])),
      };
    const refusal = refusalOf({ seq: stream.events.length, generation: stream.generation, closed: stream.closed }, group);
    if (refusal === 'conflict') {
      return {
        ok: false,
        reason: 'conflict',
        missed: stream.events.slice(group.expected === 'any' ? 0 : group.expected).map((event) => event.recorded),
        version: stream.events.length,
      };
    }
    if (refusal !== null) return { ok: false, reason: refusal };
    const changes = group.accounts ?? [];
    if (changes.some(overLimit)) return { ok: false, reason: 'over_account' };
    for (const { scope, period, reserve, settle } of changes) {
      const account = accountOf(scope, period);
      account.reserved += reserve;
      account.spent += settle;
    }
    if (group.setGeneration !== undefined) stream.generation = group.setGeneration;
    if (group.keys !== undefined) keys.set(name, group.keys);
    for (const document of group.documents ?? []) documents.set(document.digest, document.bytes);
    const stored = group.events.map((event) => {
      const seq = stream.events.length + 1;
      const row: StoredEvent = {
        recorded: recordedOf(seq, all.length + 1, event.ledger.body()),
        body: event.ledger.text(),
        hash: chainHash(stream.events.at(-1)?.hash ?? genesisHash, seq, event.ledger.digest()),
        category: group.stream.category,
        content: event.content,
      };
      stream.events.push(row);
      all.push(row);
      byId.set(event.eventId, row);
      return row;
    });
    stream.closed = group.closes === true;
    streams.set(name, stream);
    const message = logMessageOf(
      group.stream,
      stream.generation,
      stored.map((row) => ({ seq: row.recorded.seq, globalPosition: row.recorded.globalPosition, body: row.body })),
    );
    for (const listener of listeners) listener(message);
    return { ok: true, firstSeq: message.firstSeq, lastSeq: message.lastSeq, events: stored.map((row) => row.recorded) };
  };
  /** One at a time per stream, so that a locked append can wait for its caller. */
  const exclusively = async <T>(stream: StreamRef, work: () => Promise<T> | T): Promise<T> => {
    const name = streamNameOf(stream);
    const turn = (locks.get(name) ?? Promise.resolve()).then(work);
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    locks.set(name, settled);
    return turn;
  };

  return {
    append: async (groups) => {
      for (const group of groups) checkGroup(group);
      return Promise.all(groups.map((group) => exclusively(group.stream, () => store(group))));
    },
    appendLocked: (stream, after, build) =>
      exclusively(stream, async () => {
        const current = find(stream);
        const group = await build(
          (current?.events ?? []).slice(after).map((event) => event.recorded),
          current?.events.length ?? 0,
        );
        if (group === null) return null;
        checkGroup(group);
        return store(group);
      }),
    read: async (stream, options) => recordedAfter(stream, options?.after ?? 0, options?.limit).map((event) => event.recorded),
    readWithHashes: async (stream, options) =>
      recordedAfter(stream, options?.after ?? 0, options?.limit).map((event) => ({
        ...event.recorded,
        hash: event.hash.toString('hex'),
        body: event.body,
      })),
    readSealed: async (stream, options) => {
      let bytes = 0;
      return recordedAfter(stream, options?.after ?? 0, options?.limit)
        .filter((event, index) => {
          bytes += event.body.length + (event.content.rest?.length ?? 0) + (event.content.projection?.length ?? 0);
          return index === 0 || bytes <= (options?.bytesMax ?? 8 * 1024 * 1024);
        })
        .map((event) => ({ ...event.recorded, hash: event.hash.toString('hex'), body: event.body, sealed: event.content }));
    },
    heads: async (org, names) =>
      new Map(
        names.flatMap((name) => {
          const found = streams.get(name);
          return found?.org === org ? [[name, found.events.length] as const] : [];
        }),
      ),
    readContent: async (stream, seqs, keyClass) => {
      const found = new Map<number, Buffer>();
      for (const seq of seqs) {
        const sealed = find(stream)?.events[seq - 1]?.content[keyClass];
        if (sealed !== undefined) found.set(seq, sealed);
      }
      return found;
    },
    readAll: async ({ after, limit, categories }) =>
      all
        .slice(after)
        .filter((event) => categories.includes(event.category))
        .slice(0, limit)
        .map((event) => event.recorded),
    scan: async ({ after, limit, categories, types, upTo }) => {
      const page = all.slice(after, Math.min(after + limit, upTo ?? Number.POSITIVE_INFINITY));
      return {
        events: page
          .filter((event) => categories.includes(event.category) && types?.includes(event.recorded.type) !== false)
          .map((event) => event.recorded),
        position: after + page.length,
        blocked: false,
      };
    },
    head: async (stream) => {
      const found = find(stream);
      const last = found?.events.at(-1);
      return found === undefined || last === undefined
        ? null
        : { version: found.events.length, hash: last.hash.toString('hex'), generation: found.generation, closed: found.closed };
    },
    wrappedKeys: async (stream) => keys.get(stream) ?? null,
    document: async (digest) => documents.get(digest) ?? null,
    putDocument: async (bytes) => {
      const digest = documentDigest(bytes);
      documents.set(digest, bytes);
      return digest;
    },
    onCommitted: (listener) => {
      listeners.push(listener);
    },
    close: async () => undefined,
    accounts: { of: accountOf, all: () => [...accounts.values()] },
  };
}
