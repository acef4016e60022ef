import type pg from 'pg';

/** Row-level security reads the organisation from a setting of the transaction. */
export async function inOrganisation<T>(pool: pg.Pool, org: string, work: (client: pg.ClientBase) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (client) => {
    await client.query("select set_config('fluidbox.org', $1, true)", [org]);
    return work(client);
  });
}

export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((cause: Error) => {
      broken = cause;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
