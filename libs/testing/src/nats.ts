import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { natsPayloadBytesMin } from '@fluidbox/contracts';
import { repositoryRoot } from './repository';

const START_MS_MAX = 60_000;
const STARTS_MAX = 3;
const VERSION_MIN = [2, 10] as const;

export interface TestNatsUser {
  readonly user: string;
  readonly password: string;
  /** Without them a user may do everything. */
  readonly permissions?: { readonly publish: readonly string[]; readonly subscribe: readonly string[] };
}
export interface TestNats {
  /** Without user and password. */
  readonly url: string;
  readonly port: number;
  /** Kills the server and starts it again on the same port and store: what clients see as a reconnect. `wipe`: its store is gone, as after the loss of a disk. */
  restart(options?: { readonly whileDown?: () => Promise<void>; readonly wipe?: boolean }): Promise<void>;
  stop(): Promise<void>;
}
export interface TestNatsOptions {
  readonly users?: readonly TestNatsUser[];
  readonly maxPayloadBytes?: number;
}

/** A real nats-server with JetStream on a free port of the loopback; its store is removed by `stop()`. It never outlives this process. */
export async function startTestNats(options: TestNatsOptions = {}): Promise<TestNats> {
  const binary = natsBinary();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-test-nats-'));
  const config = path.join(folder, 'nats.conf');
  let port = 0;
  let server: ChildProcess | undefined;
  for (let start = 1; server === undefined; start++) {
    port = await freePort();
    fs.writeFileSync(config, configText(port, folder, options), { mode: 0o600 });
    server = await startServer(binary, config, folder, port, start === STARTS_MAX);
  }
  let current = server;
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    restart: async ({ whileDown, wipe } = {}) => {
      await endServer(current);
      await whileDown?.();
      if (wipe === true) fs.rmSync(path.join(folder, 'store'), { recursive: true, force: true });
      const again = await startServer(binary, config, folder, port, true);
      if (again !== undefined) current = again;
    },
    stop: async () => {
      await endServer(current);
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The set-up puts the server in `.fluidbox/tools/bin`; PATH comes after it. */
function natsBinary(): string {
  const folders = [path.join(repositoryRoot, '.fluidbox/tools/bin'), ...(process.env.PATH ?? '').split(path.delimiter)];
  for (const folder of folders) {
    const file = path.join(folder, 'nats-server');
    if (!fs.existsSync(file)) continue;
    const [, major, minor] = /v?(\d+)\.(\d+)\./.exec(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout ?? '') ?? [];
    if (Number(major) > VERSION_MIN[0] || (Number(major) === VERSION_MIN[0] && Number(minor) >= VERSION_MIN[1])) return file;
  }
  throw new Error(`nats-server ${VERSION_MIN.join('.')} or newer is missing. Fix: npm run setup`);
}

function configText(port: number, folder: string, options: TestNatsOptions): string {
  const list = (subjects: readonly string[]) => `[${subjects.map((subject) => JSON.stringify(subject)).join(', ')}]`;
  const users = (options.users ?? []).map(({ user, password, permissions }) => {
    const rights =
      permissions === undefined
        ? ''
        : `, permissions: { publish: { allow: ${list(permissions.publish)} }, subscribe: { allow: ${list(permissions.subscribe)} }, allow_responses: true }`;
    return `{ user: ${JSON.stringify(user)}, password: ${JSON.stringify(password)}${rights} }`;
  });
  return [
    `listen: "127.0.0.1:${port}"`,
    `server_name: "test-${randomBytes(4).toString('hex')}"`,
    `max_payload: ${options.maxPayloadBytes ?? natsPayloadBytesMin}`,
    `jetstream { store_dir: ${JSON.stringify(path.join(folder, 'store'))}, max_mem: 64M, max_file: 1G }`,
    users.length === 0 ? '' : `authorization { users: [\n${users.join(',\n')}\n] }`,
    '',
  ].join('\n');
}

/** Below the range of outgoing connections: one of those could be given the port of a server that is being restarted. */
const ports = { first: 20_000, last: 29_999 };

async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.first, ports.last + 1);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/**
 * A shell stands between us and the server: it waits for the end of its input, which comes when we end in whatever way, and then ends the
 * server. Without it a killed test process would leave servers behind.
 */
const guardScript = '"$0" -c "$1" & server=$!; (read -r _; kill -9 "$server") <&3 & guard=$!; wait "$server"; kill "$guard" 2>/dev/null';

async function startServer(binary: string, config: string, folder: string, port: number, last: boolean): Promise<ChildProcess | undefined> {
  const logFile = path.join(folder, 'nats.log');
  const log = fs.openSync(logFile, 'a');
  const child = spawn('sh', ['-c', guardScript, binary, config], { stdio: ['ignore', log, log, 'pipe'] });
  fs.closeSync(log);
  // A test that forgets stop() must fail by its assertions, not by hanging.
  child.unref();
  const lifeline = child.stdio[3];
  if (lifeline instanceof net.Socket) lifeline.unref();
  let ended = false;
  child.once('exit', () => {
    ended = true;
  });
  const until = Date.now() + START_MS_MAX;
  while (!ended && Date.now() < until) {
    if (await greets(port)) return child;
    await delay(10);
  }
  await endServer(child);
  if (last)
    throw new Error(`nats-server did not start; its log ends:\n${fs.readFileSync(logFile, 'utf8').split('\n').slice(-15).join('\n')}`);
  return undefined;
}

async function endServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.ref();
  child.stdio[3]?.destroy();
  await exited;
}

/** Every NATS server greets first, and only once JetStream is ready. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => done(false));
    socket.once('error', () => done(false));
    socket.once('data', (chunk) => done(chunk.toString().startsWith('INFO ')));
  });
}
