import type { LogMessage } from '@fluidbox/contracts';
import pg from 'pg';
import type { EventStore, SqlClient } from '../api';
import { defaultLimits, type QueueLimits } from './append-queue';
import { GroupCommitAppender } from './appender';
import { CommitLog } from './commit-log';
import { Connection } from './connection';
import { GlobalOrder, type Page, type PageOptions } from './global-order';
import { lockedAppend } from './locked-append';
import { pageMax, Reader, type RunAs } from './reader';
import { untilAnswered } from './retry';
import { inOrganisation } from './transaction';

export type PostgresStoreOptions = ({ readonly url: string } | { readonly pool: pg.Pool }) & {
  /** Connections for reading; appends have their own. Default 8. */
  readonly poolSize?: number;
  /** For a role under row-level security (gateway): every read names its organisation. */
  readonly rowSecurity?: boolean;
  readonly limits?: Partial<QueueLimits>;
  /** How long callers wait for a database that does not answer; then Problem `unavailable`. Default 30 s. */
  readonly retryMs?: number;
};

/** Locked appends hold up the stream's other writers, and each holds a connection: few at a time. */
const lockedAppendsMax = 2;
const batchesAtOnce = 2;

/** The ledger in Postgres. The pool is used for reading; the appender and the locked appends have their own connections. */
export function createPostgresStore(options: PostgresStoreOptions): EventStore {
  const ownsPool = 'url' in options;
  const pool = ownsPool ? new pg.Pool({ connectionString: options.url, max: options.poolSize ?? 8 }) : options.pool;
  // A lost idle connection is replaced by the pool at its next use.
  if (ownsPool) pool.on('error', () => undefined);
  const config: pg.ClientConfig = ownsPool ? { connectionString: options.url } : pool.options;
  const retryMs = options.retryMs ?? 30_000;
  const listeners: ((message: LogMessage) => void)[] = [];
  const log = new CommitLog((message) => {
    for (const listener of listeners) listener(message);
  });
  const publish = (message: LogMessage): void => {
    log.add(message);
    log.flush();
  };
  const runAs: RunAs = (org, work) =>
    untilAnswered('read', retryMs, () => (org !== null && options.rowSecurity === true ? inOrganisation(pool, org, work) : work(pool)));
  const reader = new Reader(runAs);
  // The pool hides its password from copies of its options.
  const lockedPool = new pg.Pool({
    ...config,
    ...(config.password === undefined ? {} : { password: config.password }),
    max: lockedAppendsMax,
  });
  lockedPool.on('error', () => undefined);
  const connections = Array.from({ length: batchesAtOnce }, () => new Connection(config));
  const appender = new GroupCommitAppender({ limits: { ...defaultLimits, ...options.limits }, retryMs, connections, reader, log });
  const order = new GlobalOrder();
  const asSql: SqlClient = {
    query: async <Row extends object>(text: string, values: readonly unknown[] = []) => {
      const result = await runAs(null, (client) => client.query<Row & pg.QueryResultRow>(text, [...values]));
      return { rows: result.rows, rowCount: result.rowCount ?? 0 };
    },
  };
  const scan = (page: PageOptions): Promise<Page> => order.page(asSql, { ...page, limit: Math.min(page.limit, pageMax) });

  return {
    append: async (groups) => appender.append(groups),
    appendLocked: (stream, after, build) => lockedAppend({ pool: lockedPool, reader, publish, retryMs }, stream, after, build),
    read: (stream, page) => reader.read(stream, page?.after ?? 0, page?.limit ?? pageMax),
    readWithHashes: (stream, page) => reader.readWithHashes(stream, page?.after ?? 0, page?.limit ?? pageMax),
    readSealed: (stream, page) => reader.readSealed(stream, page?.after ?? 0, page?.limit ?? pageMax, page?.bytesMax),
    heads: (org, streams) => reader.heads(org, streams),
    eventsAt: (org, places) => reader.eventsAt(org, places),
    readContent: (stream, seqs, keyClass) => reader.readContent(stream, seqs, keyClass),
    readAll: async ({ after, limit, categories }) => {
      // Pages may hold nothing of these categories: go on until there is something or the end.
      for (let at = after; ; ) {
        const page = await scan({ after: at, limit, categories });
        if (page.events.length > 0 || page.position === at || page.blocked) return page.events;
        at = page.position;
      }
    },
    scan,
    head: (stream) => reader.head(stream),
    wrappedKeys: (stream) => reader.wrappedKeys(stream),
    document: (digest) => reader.document(digest),
    putDocument: (bytes) => reader.putDocument(bytes),
    onCommitted: (listener) => {
      listeners.push(listener);
    },
    close: async () => {
      await appender.close();
      await Promise.all([...connections.map((connection) => connection.close()), lockedPool.end(), ownsPool ? pool.end() : undefined]);
    },
  };
}
