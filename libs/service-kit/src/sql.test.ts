import { startTestPostgres, type TestPostgres } from '@fluidbox/testing';
import pg from 'pg';
import { createPool, sqlOf } from './sql';

describe('the pool of a service', () => {
  let postgres: TestPostgres;
  let admin: pg.Client;
  let pool: pg.Pool;
  beforeAll(async () => {
    postgres = await startTestPostgres();
    const { url } = await postgres.createDatabase();
    admin = new pg.Client({ connectionString: url });
    await admin.connect();
    pool = createPool('test', url, () => undefined);
  });
  afterAll(async () => {
    await Promise.all([pool.end(), admin.end()]);
    await postgres.stop();
  });

  it('fails the transaction whose connection ends while it waits for something else, and goes on with another connection', async () => {
    const sql = sqlOf(pool);
    const broken = sql.transaction(async (tx) => {
      const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
      await admin.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      await untilGone(admin, rows[0]?.pid);
      await tx.query('select 1');
    });
    await expect(broken).rejects.toThrow();
    await expect(sql.transaction((tx) => tx.query('select 1 as one'))).resolves.toMatchObject({ rows: [{ one: 1 }] });
  });
});

async function untilGone(admin: pg.Client, pid: number | undefined): Promise<void> {
  for (;;) {
    const { rowCount } = await admin.query('select from pg_stat_activity where pid = $1', [pid]);
    if (rowCount === 0) return;
  }
}
