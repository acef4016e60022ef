import { type ServiceName, serviceNames } from '@fluidbox/contracts';
import type { Migrate } from '@fluidbox/event-store';
import { Client } from 'pg';
import type { RunningPostgres } from './postgres';

const DATABASE = 'fluidbox';

async function ensureDatabase(adminUrl: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE} template template0`);
  } finally {
    await client.end();
  }
}

export interface OpenedDatabase {
  /** Each service's connection URL, with a role that may only do what that service does. */
  readonly urls: Readonly<Record<ServiceName, string>>;
  readonly applied: readonly string[];
}

/** Makes the database and brings its schema to this version. */
export async function openDatabase(
  postgres: RunningPostgres,
  migrate: Migrate,
  passwords: Readonly<Record<ServiceName, string>>,
): Promise<OpenedDatabase> {
  await ensureDatabase(postgres.url());
  const { roles, applied } = await migrate({ databaseUrl: postgres.url(DATABASE), passwords });
  const url = (name: ServiceName): string => {
    const made = new URL(postgres.url(DATABASE));
    made.username = roles[name];
    made.password = encodeURIComponent(passwords[name]);
    return made.href;
  };
  const urls = Object.fromEntries(serviceNames.map((name) => [name, url(name)])) as Record<ServiceName, string>;
  return { urls, applied };
}
