import { startTestPostgres } from '@fluidbox/testing';
import pg from 'pg';
import { describeEventStore } from '../fixtures/store-suite';
import { testServiceUrl } from '../test-schema';
import { createPostgresStore } from './postgres-store';

describeEventStore('Postgres, as the role of runs', async (limits) => {
  const postgres = await startTestPostgres();
  const database = await postgres.createDatabase({ migrated: true });
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  for (const { scope, period, limit } of limits)
    await admin.query('insert into ledger.budget_accounts (scope, period, "limit") values ($1, $2, $3)', [scope, period, limit]);
  await admin.end();
  const store = createPostgresStore({ url: testServiceUrl(database.url, 'runs') });
  return {
    ...store,
    close: async () => {
      await store.close();
      await postgres.stop();
    },
  };
});
