import { fork } from 'node:child_process';
import path from 'node:path';
import type { Servers } from './servers';

/** What the process is asked to do. */
export type Order =
  /** One caller for each run appends facts for so long. */
  | { readonly do: 'load'; readonly runs: readonly string[]; readonly ms: number }
  /** Brings each run from so many events to `events`, one after another, all runs at once. */
  | { readonly do: 'fill'; readonly runs: readonly { readonly id: string; readonly from: number }[]; readonly events: number }
  /** Appends one event, and is gone (kill -9) at the moment when the caller is answered: before the log hears. */
  | { readonly do: 'die answered'; readonly run: string };

/** What it tells. */
export type Report =
  | { readonly is: 'ready' }
  /** This many events of the run are acknowledged. */
  | { readonly is: 'acknowledged'; readonly run: string; readonly events: number }
  | { readonly is: 'loaded'; readonly events: Readonly<Record<string, number>>; readonly ms: number; readonly times: readonly number[] }
  | { readonly is: 'filled' };

export interface AppendingProcess {
  order(order: Order): void;
  /** Resolves when it has ended, by whatever. */
  readonly gone: Promise<void>;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** Rejects when the process ends before it tells of this. */
  next<Is extends Report['is']>(is: Is): Promise<Extract<Report, { is: Is }>>;
}

/** A service of its own with the ledger of the gate, in a process of its own. */
export async function startAppendingProcess(
  servers: Servers,
  onReport: (report: Report) => void = () => undefined,
  environment: Readonly<Record<string, string>> = {},
): Promise<AppendingProcess> {
  const root = path.resolve(__dirname, '../../..');
  const child = fork(path.join(__dirname, 'appending-main.ts'), {
    execArgv: ['--conditions=source', '--require', path.join(root, 'libs/tooling/process/register.cjs')],
    env: { ...process.env, ...servers.environment, ...environment },
    serialization: 'advanced',
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let listeners: ((report: Report) => void)[] = [];
  child.on('message', (message) => {
    const report = message as Report;
    onReport(report);
    for (const listener of listeners) listener(report);
  });
  const next = <Is extends Report['is']>(is: Is): Promise<Extract<Report, { is: Is }>> =>
    new Promise((resolve, reject) => {
      const listener = (report: Report): void => {
        if (report.is !== is) return;
        listeners = listeners.filter((each) => each !== listener);
        resolve(report as Extract<Report, { is: Is }>);
      };
      listeners.push(listener);
      void gone.then(() => reject(new Error(`the appending process ended before it was ${is}`)));
    });
  await next('ready');
  return {
    gone,
    order: (order) => void child.send(order),
    kill: () => {
      child.kill('SIGKILL');
      return gone;
    },
    next,
  };
}
