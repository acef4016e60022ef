import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { ServiceName } from '@fluidbox/contracts';

const root = path.resolve(__dirname, '../../..');
const register = path.join(root, 'libs/tooling/process/register.cjs');
const readyMs = 60_000;

/** A service as it runs in production: a process of its own. */
export interface ServiceProcess {
  readonly pid: number;
  /** Resident memory, in bytes. */
  memory(): number;
  /** `SIGKILL` is the crash. Resolves when it is gone. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/** Resolves when the service says that it is ready. */
export async function startServiceProcess(name: ServiceName, environment: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const main = path.join(root, 'services', name, 'src/main.ts');
  const child = spawn(process.execPath, ['--conditions=source', '--require', register, main], {
    env: { PATH: process.env.PATH ?? '', ...environment },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await ready(child, name);
  const pid = child.pid ?? 0;
  return {
    pid,
    memory: () => Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024,
    end: (signal = 'SIGTERM') => ended(child, signal),
  };
}

function ready(child: ChildProcess, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      child.kill('SIGKILL');
      reject(new Error(`${name} ${why}`));
    };
    const timer = setTimeout(() => fail(`was not ready within ${readyMs} ms`), readyMs);
    child.once('exit', (code) => fail(`ended with ${code} before it was ready`));
    child.once('message', () => {
      clearTimeout(timer);
      child.removeAllListeners('exit');
      resolve();
    });
  });
}

function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill(signal);
  });
}
