import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '@fluidbox/embedded';

const root = path.resolve(__dirname, '../../..');
const register = path.join(root, 'libs/tooling/process/register.cjs');
const portkeyServer = path.join(root, 'tests/node_modules/@portkey-ai/gateway/build/start-server.js');
const startMs = 30_000;

type Environment = Readonly<Record<string, string>>;
export interface Started {
  readonly url: string;
  stop(): Promise<void>;
}

const ended = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5_000);
  await exit;
  clearTimeout(timer);
};

/** A file beside this one as a process of its own, which says its URL first. */
export async function startFile(file: string, environment: Environment = {}): Promise<Started> {
  const args = ['--conditions=source', '--require', register, path.join(__dirname, file)];
  const child = spawn(process.execPath, args, { env: { PATH: process.env.PATH, ...environment }, stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((resolve, reject) => {
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('\n')) resolve(said.trim());
    });
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code} before it said where it listens`)));
    setTimeout(() => reject(new Error(`${file} did not start in ${startMs} ms`)), startMs).unref();
  });
  return { url, stop: () => ended(child) };
}

/** The peer, as its package starts it. */
export async function startPortkey(): Promise<Started> {
  const port = await freePort();
  const shim = path.join(__dirname, 'portkey-headers.cjs');
  const child = spawn(process.execPath, ['--require', shim, portkeyServer, '--headless', `--port=${port}`], {
    env: { PATH: process.env.PATH, NODE_ENV: 'production' },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}`;
  for (const until = Date.now() + startMs; !(await answers(url)); await pause(50)) {
    if (Date.now() > until || child.exitCode !== null) throw new Error('the Portkey gateway did not start');
  }
  return { url, stop: () => ended(child) };
}

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
