import pg from 'pg';

/** Row-level security reads the organisation from a setting of the transaction. */
export async function inOrganisation<T>(pool: pg.Pool, org: string, work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  // One trip for both: this stands before every read of the gateway.
  return inTransaction(pool, work, `begin; select set_config('fluidbox.org', ${pg.escapeLiteral(org)}, true)`);
}

export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>, begin = 'begin'): Promise<T> {
  const client = await pool.connect();
  // A connection that ends between two statements fails the next one; unheard it would end the process.
  const heard = (): void => undefined;
  client.on('error', heard);
  let broken: Error | undefined;
  try {
    await client.query(begin);
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((cause: Error) => {
      broken = cause;
    });
    throw error;
  } finally {
    client.off('error', heard);
    client.release(broken);
  }
}
