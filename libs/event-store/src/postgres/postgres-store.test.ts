import { startTestPostgres } from '@fluidbox/testing';
import { describeEventStore } from '../fixtures/store-suite';
import { testServiceUrl } from '../test-schema';
import { createPostgresStore } from './postgres-store';

describeEventStore('Postgres, as the role of runs', async () => {
  const postgres = await startTestPostgres();
  const database = await postgres.createDatabase({ migrated: true });
  const store = createPostgresStore({ url: testServiceUrl(database.url, 'runs') });
  return {
    ...store,
    close: async () => {
      await store.close();
      await postgres.stop();
    },
  };
});
