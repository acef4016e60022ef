import pg from 'pg';
import { arrayText } from './array-text';
import type { Query } from './batch';

/**
 * The appender's few statements are planned once per session. A young table has no statistics: nothing may be decided by its size. Rows are looked up by index,
 * one after the other, which is also the order of their keys: that in which heads and accounts are locked by everybody.
 */
const off = ['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin'];
const options = ['plan_cache_mode=force_generic_plan', ...off.map((name) => `${name}=off`)].map((each) => `-c ${each}`).join(' ');

/** One session, opened when it is needed and opened again after it broke: the appender never waits for a busy pool. */
export class Connection {
  #client: pg.Client | null = null;
  #closed = false;

  constructor(private readonly config: pg.ClientConfig) {}

  async query<Row extends object>(query: Query): Promise<{ rows: Row[] }> {
    const client = await this.#open();
    const values = query.values.map((value) => (Array.isArray(value) ? arrayText(value) : value));
    return client.query<Row & pg.QueryResultRow>({ ...query, values });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#client = null;
    await client?.end();
  }

  async #open(): Promise<pg.Client> {
    if (this.#client !== null) return this.#client;
    if (this.#closed) throw new Error('Client was closed');
    const client = new pg.Client({
      ...this.config,
      ...(this.config.password === undefined ? {} : { password: this.config.password }),
      options,
    });
    const forget = (): void => {
      if (this.#client === client) this.#client = null;
    };
    client.on('error', forget);
    client.on('end', forget);
    await client.connect();
    this.#client = client;
    return client;
  }
}
