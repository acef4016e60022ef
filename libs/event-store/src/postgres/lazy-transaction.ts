import type pg from 'pg';
import type { SqlClient } from '../api';

/** Begins with its first statement: a handler that writes nothing here holds no transaction open while it works elsewhere. */
export class LazyTransaction implements SqlClient {
  #begun = false;

  constructor(private readonly client: pg.PoolClient) {}

  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<{ rows: Row[]; rowCount: number }> {
    if (!this.#begun) {
      this.#begun = true;
      // Effect and position are lost together if the server crashes before it flushed them, and made again: no reason to wait for the disk.
      await this.client.query('begin; set local synchronous_commit = off');
    }
    const { rows, rowCount } = await this.client.query<Row & pg.QueryResultRow>(text, [...values]);
    return { rows, rowCount: rowCount ?? 0 };
  }

  async commit(): Promise<void> {
    if (this.#begun) await this.client.query('commit');
  }

  async rollback(): Promise<void> {
    // A lost connection has rolled back by itself; the session ends with it.
    if (this.#begun) await this.client.query('rollback').catch(() => undefined);
  }
}
