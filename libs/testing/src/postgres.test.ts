import { Client } from 'pg';
import { startTestPostgres, type TestPostgres, withAdmin } from './postgres';

describe('the test Postgres', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startTestPostgres();
  });
  afterAll(async () => postgres.stop());

  it('gives each caller a database of its own', async () => {
    const [one, two] = await Promise.all([postgres.createDatabase(), postgres.createDatabase()]);
    await withAdmin(one.url, (client) => client.query('create table seen (id int)'));
    await expect(withAdmin(two.url, (client) => client.query('select * from seen'))).rejects.toMatchObject({ code: '42P01' });
    await expect(withAdmin(one.url, (client) => client.query('select * from seen'))).resolves.toMatchObject({ rowCount: 0 });
  });

  it('drops a database although somebody is still connected', async () => {
    const database = await postgres.createDatabase();
    const client = new Client({ connectionString: database.url });
    const cut = new Promise((resolve) => client.on('error', resolve));
    await client.connect();
    await database.drop();
    await expect(cut).resolves.toMatchObject({ code: '57P01' });
  });

  it('gives a database with the current schema to each who asks, also at the same time', async () => {
    const databases = await Promise.all([1, 2, 3].map(() => postgres.createDatabase({ migrated: true })));
    for (const { url } of databases) {
      const schemas = await withAdmin(url, (client) => client.query("select 1 from pg_namespace where nspname = 'ledger'"));
      expect(schemas.rowCount).toBe(1);
    }
  });

  it('is one server for all callers', async () => {
    expect((await startTestPostgres()).adminUrl).toBe(postgres.adminUrl);
  });

  it('gives a server of its own when asked, which ends with stop()', async () => {
    const own = await startTestPostgres({ exclusive: true });
    expect(own.adminUrl).not.toBe(postgres.adminUrl);
    await own.stop();
    await expect(withAdmin(own.adminUrl, (client) => client.query('select 1'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
