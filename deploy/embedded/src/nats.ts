import net from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { natsPayloadBytesMin } from '@fluidbox/contracts';
import { isAlive } from '@fluidbox/tooling/identity';
import { type EndingSteps, endOrphan, endProcess, lastLines, type ManagedChild, processesOf, startChild } from './child-process';
import { EmbeddedFailure } from './embedded-failure';
import { makePrivateFolder, writeFileAtomically } from './files';
import { onAFreePort } from './free-port';
import { natsBinary } from './nats-binary';
import { type NatsUser, natsConfigText } from './nats-config';

const START_MS_MAX = 30_000;
const FILE_STORE_BYTES_MAX = 4 * 1024 ** 3;
const natsEnding: EndingSteps = [
  { signal: 'SIGTERM', waitMs: 10_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

export interface NatsOptions {
  /** Folder for the configuration and the JetStream store; made when missing. */
  readonly dir: string;
  readonly users: readonly NatsUser[];
  readonly logFile?: string;
  readonly pidFile?: string;
  /** Kept when it is free, else another is taken; with `exactPort` the start fails instead. */
  readonly port?: number;
  readonly exactPort?: boolean;
}

export interface RunningNats {
  readonly port: number;
  /** Without user and password. */
  readonly url: string;
  readonly child: ManagedChild;
  stop(): Promise<void>;
}

const files = (options: Omit<NatsOptions, 'users'>) => ({
  config: path.join(options.dir, 'nats.conf'),
  store: path.join(options.dir, 'store'),
  log: options.logFile ?? path.join(options.dir, 'nats.log'),
  pid: options.pidFile ?? path.join(options.dir, 'nats.pid.json'),
});

/** Starts nats-server with JetStream on 127.0.0.1. A server left by a killed process is ended first. */
export async function startNats(options: NatsOptions): Promise<RunningNats> {
  makePrivateFolder(options.dir);
  await endNatsOrphan(options);
  return options.exactPort === true && options.port !== undefined
    ? startOn(options.port, options)
    : onAFreePort(options.port, (port) => startOn(port, options));
}

async function startOn(port: number, options: NatsOptions): Promise<RunningNats> {
  const at = files(options);
  const limits = { maxPayloadBytes: natsPayloadBytesMin, maxFileBytes: FILE_STORE_BYTES_MAX };
  writeFileAtomically(at.config, natsConfigText({ port, storeDir: at.store, users: options.users, ...limits }));
  const child = await startChild({
    name: 'nats',
    command: natsBinary(),
    args: ['-c', at.config],
    env: { PATH: process.env.PATH ?? '/usr/bin:/bin' },
    logFile: at.log,
    pidFile: at.pid,
    ending: natsEnding,
  });
  await untilItGreets(child, port, at.log);
  return { port, url: `nats://127.0.0.1:${port}`, child, stop: () => child.end() };
}

export async function endNatsOrphan(options: Omit<NatsOptions, 'users'>): Promise<number | undefined> {
  const at = files(options);
  const named = await endOrphan(at.pid, natsEnding);
  const unnamed = processesOf('nats-server', at.config);
  for (const identity of unnamed) await endProcess(identity, natsEnding);
  return named?.pid ?? unnamed[0]?.pid;
}

/** The greeting that every NATS server sends first; clients are accepted only once JetStream has recovered. */
function greeting(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: '127.0.0.1' });
    const done = (text: string | undefined) => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(2_000, () => done(undefined));
    socket.once('error', () => done(undefined));
    socket.once('data', (chunk) => done(chunk.toString()));
  });
}

/** Whether a NATS server with JetStream answers on this port of the loopback. */
export async function natsGreets(port: number): Promise<boolean> {
  const text = await greeting(port);
  return text?.startsWith('INFO ') === true && text.includes('"jetstream":true');
}

async function untilItGreets(child: ManagedChild, port: number, log: string): Promise<void> {
  const until = Date.now() + START_MS_MAX;
  while (Date.now() < until && !child.hasExited()) {
    if (await natsGreets(port)) return;
    await delay(20);
  }
  if (isAlive(child.identity)) await child.end();
  throw new EmbeddedFailure(`nats-server did not start. Its log ${log} ends:\n${lastLines(log)}`);
}
