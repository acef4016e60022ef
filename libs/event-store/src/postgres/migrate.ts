import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import type { Migrate } from '../api';
import { defaultRolePrefix, grantServices } from './roles';

/** Beside `src` and `dist`: the same place from both. */
const folder = path.join(__dirname, '../../migrations');
const lockKey = 0x666c7569;

export interface Migration {
  readonly name: string;
  readonly checksum: string;
  readonly sql: string;
}

/** Plain SQL in the order of the file names. A file that has been applied never changes again. */
export const migrations = (): Migration[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => {
      const sql = readFileSync(path.join(folder, name), 'utf8');
      return { name, checksum: createHash('sha256').update(sql).digest('hex'), sql };
    });

/** Roles belong to the whole cluster: two deployments in one cluster need two prefixes. Default `fluidbox_`. */
export type MigrateOptions = Parameters<Migrate>[0] & { readonly rolePrefix?: string };

/** Safe to repeat and to run from several processes. */
export async function migrate(options: MigrateOptions): ReturnType<Migrate> {
  const client = new pg.Client({ connectionString: options.databaseUrl });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [lockKey]);
    const applied = await applyMissing(client);
    return { applied, roles: await grantServices(client, options.passwords, options.rolePrefix ?? defaultRolePrefix) };
  } finally {
    await client.end();
  }
}

async function applyMissing(client: pg.Client): Promise<string[]> {
  const known = await appliedMigrations(client);
  const wanted = migrations();
  checkKnown(known, wanted);
  const missing = wanted.filter((migration) => !known.has(migration.name));
  for (const migration of missing) await apply(client, migration);
  return missing.map((migration) => migration.name);
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(migration.sql);
    await client.query('insert into ledger.schema_migrations (name, checksum) values ($1, $2)', [migration.name, migration.checksum]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new Error(`migration ${migration.name} failed: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

async function appliedMigrations(client: pg.Client | pg.Pool): Promise<Map<string, string>> {
  const { rows: tables } = await client.query<{ exists: boolean }>("select to_regclass('ledger.schema_migrations') is not null as exists");
  if (tables[0]?.exists !== true) return new Map();
  const { rows } = await client.query<{ name: string; checksum: string }>('select name, checksum from ledger.schema_migrations');
  return new Map(rows.map((row) => [row.name, row.checksum]));
}

function checkKnown(known: ReadonlyMap<string, string>, wanted: readonly Migration[]): void {
  for (const [name, checksum] of known) {
    const file = wanted.find((migration) => migration.name === name);
    if (file === undefined)
      throw new Error(
        `the database has migration ${name}, which this version does not know: start the version that made it, or a newer one`,
      );
    if (file.checksum !== checksum)
      throw new Error(`migration ${name} was changed after it had been applied: restore the file and add a new migration instead`);
  }
}

/** A service starts only on the schema it was built for. */
export async function assertSchemaVersion(pool: pg.Pool): Promise<void> {
  const known = await appliedMigrations(pool);
  const wanted = migrations();
  checkKnown(known, wanted);
  const missing = wanted.filter((migration) => !known.has(migration.name)).map((migration) => migration.name);
  if (missing.length > 0) throw new Error(`the database lacks ${missing.join(', ')}: run \`npm run fluidbox -- migrate\``);
}
