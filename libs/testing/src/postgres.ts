import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, isAlive, type ProcessIdentity } from '@fluidbox/tooling/identity';
import { Client } from 'pg';
import { migratedTemplate } from './migrated-template';
import { repositoryRoot } from './repository';

const START_MS_MAX = 60_000;
const POLL_MS = 25;
const STARTS_MAX = 5;

export interface TestDatabase {
  readonly name: string;
  /** Superuser's URL of this database. */
  readonly url: string;
  drop(): Promise<void>;
}
export interface TestPostgres {
  /** Superuser's URL of the database `postgres`. */
  readonly adminUrl: string;
  /** A fresh, empty database; `migrated` has the current schema (copied from a template that is made once per server and schema). */
  createDatabase(options?: { readonly migrated?: boolean }): Promise<TestDatabase>;
  /** Drops the databases made here. The server itself ends when no test process uses it any more. */
  stop(): Promise<void>;
}
export interface TestPostgresOptions {
  /** A server of its own, for suites that hold transactions open: an open write in any database holds back every reader of the global order. */
  readonly exclusive?: boolean;
}

/** A real Postgres for tests, shared by all test processes of this clone and ended (within a moment) after the last of them. */
export async function startTestPostgres(options: TestPostgresOptions = {}): Promise<TestPostgres> {
  const base = path.join(repositoryRoot, '.cache/test-postgres');
  const folder = path.join(base, options.exclusive === true ? `own-${process.pid}-${randomBytes(3).toString('hex')}` : 'shared');
  const registration = register(folder);
  const adminUrl = await serverUrl(folder, path.join(base, 'cluster'));
  const made = new Set<TestDatabase>();
  const createDatabase = async ({ migrated = false }: { migrated?: boolean } = {}): Promise<TestDatabase> => {
    const template = migrated ? await migratedTemplate(adminUrl) : 'template0';
    const name = `test_${process.pid}_${randomBytes(5).toString('hex')}`;
    await withAdmin(adminUrl, (admin) => admin.query(`create database ${name} template ${template} strategy file_copy`));
    const database: TestDatabase = {
      name,
      url: databaseUrl(adminUrl, name),
      drop: async () => {
        if (!made.delete(database)) return;
        await withAdmin(adminUrl, (admin) => admin.query(`drop database if exists ${name} with (force)`));
      },
    };
    made.add(database);
    return database;
  };
  const stop = async (): Promise<void> => {
    for (const database of [...made]) await database.drop();
    if (options.exclusive !== true) return;
    fs.rmSync(registration, { force: true });
    await untilRemoved(folder);
  };
  return { adminUrl, createDatabase, stop };
}

export const databaseUrl = (adminUrl: string, name: string, login?: { user: string; password: string }): string => {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  if (login !== undefined) {
    url.username = login.user;
    url.password = login.password;
  }
  return url.href;
};

export async function withAdmin<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Must come before the server file is read: see the head of postgres-keeper.cjs. */
function register(folder: string): string {
  const users = path.join(folder, 'users');
  fs.mkdirSync(users, { recursive: true, mode: 0o700 });
  const file = path.join(users, String(process.pid));
  // Written aside and renamed, so that the keeper never reads half of it and takes us for dead.
  const draft = path.join(folder, `user-${process.pid}-${randomBytes(3).toString('hex')}`);
  fs.writeFileSync(draft, JSON.stringify(identify()));
  fs.renameSync(draft, file);
  return file;
}

function liveServer(folder: string): string | undefined {
  try {
    const server = JSON.parse(fs.readFileSync(path.join(folder, 'server.json'), 'utf8')) as ProcessIdentity & { adminUrl: string };
    return isAlive(server) ? server.adminUrl : undefined;
  } catch {
    return undefined; // No server yet.
  }
}

async function serverUrl(folder: string, snapshot: string): Promise<string> {
  const log = path.join(folder, 'keeper.log');
  const until = Date.now() + START_MS_MAX;
  let keeper = -1;
  let starts = 0;
  while (Date.now() < until) {
    const url = liveServer(folder);
    if (url !== undefined) return url;
    // A keeper of ours that ended had lost the race for the lock, or failed; the log says which.
    if (identify(keeper) === undefined && !keeperHoldsLock(folder)) {
      if (starts === STARTS_MAX) break;
      starts += 1;
      keeper = startKeeper(folder, snapshot, log);
    }
    await delay(POLL_MS);
  }
  throw new Error(`the test Postgres did not start; ${log} ends:\n${tail(log)}`);
}

const keeperHoldsLock = (folder: string): boolean => {
  try {
    return isAlive(JSON.parse(fs.readFileSync(path.join(folder, 'keeper.lock'), 'utf8')) as ProcessIdentity);
  } catch {
    return false;
  }
};

/** Detached and without pipes: it must neither hold a test process open nor end with one. */
function startKeeper(folder: string, snapshot: string, log: string): number {
  const output = fs.openSync(log, 'a', 0o600);
  const script = path.join(repositoryRoot, 'libs/testing/bin/postgres-keeper.cjs');
  const keeper = spawn(process.execPath, [script, folder, snapshot], {
    detached: true,
    stdio: ['ignore', output, output],
    cwd: repositoryRoot,
  });
  fs.closeSync(output);
  keeper.unref();
  return keeper.pid ?? -1;
}

const tail = (file: string): string =>
  fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trimEnd().split('\n').slice(-20).join('\n') : '(no log)';

async function untilRemoved(folder: string): Promise<void> {
  const until = Date.now() + START_MS_MAX;
  while (keeperHoldsLock(folder)) {
    if (Date.now() > until) throw new Error(`the test Postgres in ${folder} does not end`);
    await delay(POLL_MS);
  }
  fs.rmSync(folder, { recursive: true, force: true });
}
