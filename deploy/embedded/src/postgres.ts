import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '@fluidbox/tooling/identity';
import { Client } from 'pg';
import { type EndingSteps, endOrphan, endProcess, lastLines, type ManagedChild, processesOf, startChild } from './child-process';
import { EmbeddedFailure } from './embedded-failure';
import { makePrivateFolder, readIfPresent, syncFolder, writeFileAtomically } from './files';
import { onAFreePort } from './free-port';
import { postgresBinaries } from './postgres-binaries';
import { asAllowedUser, requirePostgresUser } from './postgres-user';

const SUPERUSER = 'postgres';
const DRAFT_PREFIX = 'data.new-';
const START_MS_MAX = 60_000;
const BACKENDS_GONE_TRIES = 20;
const BACKENDS_GONE_MS = 250;
/** Fast shutdown, then immediate (recovery at the next start), then none. */
const postgresEnding: EndingSteps = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

export interface PostgresOptions {
  /** Folder for the cluster and its files; made when missing. */
  readonly dir: string;
  readonly logFile?: string;
  readonly pidFile?: string;
  /** Kept when it is free, else another is taken; with `exactPort` the start fails instead. */
  readonly port?: number;
  readonly exactPort?: boolean;
  /** false: a database that may be lost with the machine, for tests. */
  readonly durable?: boolean;
  /** Further server settings, `name → value`. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

export interface RunningPostgres {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly child: ManagedChild;
  /** Connection URL of the superuser. */
  url(database?: string): string;
  stop(): Promise<void>;
}

const files = (options: PostgresOptions) => ({
  data: path.join(options.dir, 'data'),
  password: path.join(options.dir, 'superuser-password'),
  log: options.logFile ?? path.join(options.dir, 'postgres.log'),
  pid: options.pidFile ?? path.join(options.dir, 'postgres.pid.json'),
});

/** Starts the embedded server on 127.0.0.1, making its cluster first when there is none. A server left by a killed process is ended first. */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const at = files(options);
  makePrivateFolder(options.dir);
  requirePostgresUser(options.dir);
  await endPostgresOrphan(options);
  const password = superuserPassword(at.password);
  if (!fs.existsSync(path.join(at.data, 'PG_VERSION'))) await initialiseCluster(options.dir, at, options.durable !== false);
  const start = (port: number) => onceBackendsAreGone(() => startOn(port, password, options));
  return options.exactPort === true && options.port !== undefined ? start(options.port) : onAFreePort(options.port, start);
}

async function startOn(port: number, password: string, options: PostgresOptions): Promise<RunningPostgres> {
  const at = files(options);
  const server = asAllowedUser(postgresBinaries().postgres, ['-D', at.data, ...settingsArguments(port, options)]);
  const child = await startChild({
    name: 'postgres',
    ...server,
    env: serverEnvironment(),
    logFile: at.log,
    pidFile: at.pid,
    ending: postgresEnding,
  });
  const url = (database = 'postgres') => `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
  await untilItAnswers(child, url(), at.log);
  return { host: '127.0.0.1', port, user: SUPERUSER, password, child, url, stop: () => child.end() };
}

/** Ends a server that a killed process left on this folder, by its pid file, else by its data folder. */
export async function endPostgresOrphan(options: PostgresOptions): Promise<number | undefined> {
  const at = files(options);
  const named = await endOrphan(at.pid, postgresEnding);
  const unnamed = processesOf('postgres', at.data);
  for (const identity of unnamed) await endProcess(identity, postgresEnding);
  removeForeignPidFile(at.data);
  return named?.pid ?? unnamed[0]?.pid;
}

/** No server of ours runs any more, so a pid in this file belongs to a stranger, and Postgres would refuse to start because of it. */
function removeForeignPidFile(data: string): void {
  const file = path.join(data, 'postmaster.pid');
  const pid = Number(readIfPresent(file)?.split('\n')[0]);
  if (Number.isInteger(pid) && pid > 0 && servesFolder(pid, data) === false) fs.rmSync(file, { force: true });
}

/** Whether the process works in that folder; undefined where that cannot be told. */
function servesFolder(pid: number, data: string): boolean | undefined {
  if (!fs.existsSync('/proc/self/cwd')) return undefined;
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`) === fs.realpathSync(data);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES' ? false : undefined;
  }
}

function superuserPassword(file: string): string {
  const known = readIfPresent(file);
  if (known) return known;
  const made = randomBytes(24).toString('base64url');
  writeFileAtomically(file, made);
  return made;
}

/** Made beside its place and renamed when complete: a cluster that was cut off half way is never taken for one. */
async function initialiseCluster(dir: string, at: { data: string; password: string }, durable: boolean): Promise<void> {
  for (const name of fs.readdirSync(dir)) {
    if (name.startsWith(DRAFT_PREFIX)) fs.rmSync(path.join(dir, name), { recursive: true, force: true, maxRetries: 5 });
  }
  // A name of its own each time: what a killed initdb may still be writing to is not in our way.
  const draft = path.join(dir, `${DRAFT_PREFIX}${randomBytes(4).toString('hex')}`);
  const options = ['--username', SUPERUSER, '--pwfile', at.password, '--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C'];
  await runInitdb(['-D', draft, ...options, ...(durable ? [] : ['--no-sync'])]);
  fs.renameSync(draft, at.data);
  syncFolder(dir);
}

async function runInitdb(args: readonly string[]): Promise<void> {
  const initdb = asAllowedUser(postgresBinaries().initdb, args);
  const child = spawn(initdb.command, initdb.args, { env: serverEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new EmbeddedFailure(`initdb failed (exit ${code}):\n${output.trim()}`);
}

/** Nothing of our own environment concerns the server, and PG* variables would mislead it. */
function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

function settingsArguments(port: number, options: PostgresOptions): string[] {
  const durability = options.durable === false ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } : { fsync: 'on' };
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    password_encryption: 'scram-sha-256',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...durability,
    ...options.settings,
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** When the server was killed its backends end by themselves a moment later; until then a new one refuses their shared memory. */
async function onceBackendsAreGone<T>(start: () => Promise<T>): Promise<T> {
  for (let left = BACKENDS_GONE_TRIES; ; left--) {
    try {
      return await start();
    } catch (error) {
      if (left === 0 || !(error instanceof Error) || !/shared memory block .*still in use/.test(error.message)) throw error;
      await delay(BACKENDS_GONE_MS);
    }
  }
}

async function untilItAnswers(child: ManagedChild, url: string, log: string): Promise<void> {
  const until = Date.now() + START_MS_MAX;
  let last: unknown;
  while (Date.now() < until && !child.hasExited()) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', (error) => {
      last = error;
    });
    try {
      await client.connect();
      await client.query('select 1');
      await client.end();
      return;
    } catch (error) {
      last = error;
      await delay(30);
    }
  }
  if (isAlive(child.identity)) await child.end();
  throw new EmbeddedFailure(
    `Postgres did not start (${last instanceof Error ? last.message : 'no answer'}). Its log ${log} ends:\n${lastLines(log)}`,
  );
}
