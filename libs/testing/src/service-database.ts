import type { ServiceName } from '@fluidbox/contracts';
import { testServiceUrl } from '@fluidbox/event-store';
import pg from 'pg';
import { startTestPostgres } from './postgres';

export interface ServiceDatabase {
  /** Superuser's URL. */
  readonly url: string;
  /** The URL with which a service logs in. */
  urlOf(service: ServiceName): string;
  /** Of the service that the database was made for: a right that it does not have is missing here too. */
  readonly pool: pg.Pool;
  /** Ends the pool and drops the database. */
  stop(): Promise<void>;
}

/** A migrated database, and a pool that logs in to it as the service. */
export async function startServiceDatabase(service: ServiceName): Promise<ServiceDatabase> {
  const postgres = await startTestPostgres();
  const { url } = await postgres.createDatabase({ migrated: true });
  const urlOf = (name: ServiceName): string => testServiceUrl(url, name);
  const pool = new pg.Pool({ connectionString: urlOf(service), max: 4 });
  return {
    url,
    urlOf,
    pool,
    stop: async () => {
      await pool.end();
      await postgres.stop();
    },
  };
}
