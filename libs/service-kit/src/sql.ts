import type { SqlClient } from '@fluidbox/event-store';
import pg from 'pg';
import type { SqlPool } from './api';

const connectionsMax = 8;
const statementMs = 30_000;
/** An open transaction holds back every reader of the global order; this bounds how long a forgotten one can. */
const idleInTransactionMs = 5_000;
const connectMs = 10_000;

export function createPool(service: string, url: string, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: service,
    max: connectionsMax,
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    connectionTimeoutMillis: connectMs,
  });
  // The pool replaces a lost connection at its next use; without a listener the process would end.
  pool.on('error', onError);
  return pool;
}

const clientOf = (client: pg.Pool | pg.PoolClient): SqlClient => ({
  async query<Row extends object>(text: string, values: readonly unknown[] = []) {
    const { rows, rowCount } = await client.query<Row & pg.QueryResultRow>(text, [...values]);
    return { rows, rowCount: rowCount ?? 0 };
  },
});

/** The pool as use cases see it: queries, and transactions that are rolled back when their work throws. */
export function sqlOf(pool: pg.Pool): SqlPool {
  return {
    ...clientOf(pool),
    async transaction(work) {
      const client = await pool.connect();
      // A connection that ends between two statements fails the next one; unheard it would end the process.
      const heard = (): void => undefined;
      client.on('error', heard);
      let broken = false;
      try {
        await client.query('begin');
        const result = await work(clientOf(client));
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback').catch(() => {
          broken = true;
        });
        throw error;
      } finally {
        client.off('error', heard);
        client.release(broken);
      }
    },
  };
}
