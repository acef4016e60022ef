import { randomBytes } from 'node:crypto';
import { databaseUrl, withAdmin } from './postgres';

/** Makes the schema in an empty database; `key` names the schema's state, so that a changed migration gets a new template. */
export interface Schema {
  readonly key: string;
  migrate(url: string): Promise<void>;
}

// Imported only when a migrated database is asked for: the event store's own tests use this package.
const currentSchema = async (): Promise<Schema> => (await import('@fluidbox/event-store')).schemaForTests;

/** The name of a database that holds the current schema, made once per server: the first caller makes it, the others wait. */
export async function migratedTemplate(adminUrl: string, schema?: Schema): Promise<string> {
  const { key, migrate } = schema ?? (await currentSchema());
  const name = `template_${key}`;
  if (!/^[a-z0-9_]{1,63}$/.test(name)) throw new Error(`schema key ${key} must be of a-z 0-9 _`);
  return withAdmin(adminUrl, async (admin) => {
    const exists = async () => (await admin.query('select 1 from pg_database where datname = $1', [name])).rowCount === 1;
    if (await exists()) return name;
    await admin.query('select pg_advisory_lock(hashtext($1))', [name]);
    if (await exists()) return name;
    const draft = `draft_${process.pid}_${randomBytes(5).toString('hex')}`;
    await admin.query(`create database ${draft} template template0`);
    await migrate(databaseUrl(adminUrl, draft));
    await admin.query(`alter database ${draft} rename to ${name}`);
    return name;
  });
}
