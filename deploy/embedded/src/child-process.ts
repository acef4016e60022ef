import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { identify, isAlive, type ProcessIdentity } from '@fluidbox/tooling/identity';
import { makePrivateFolder, readJsonIfPresent, writeFileAtomically } from './files';

const LOG_BYTES_MAX = 16 * 1024 * 1024;
const POLL_MS = 20;

/** How a process is asked to end: each signal, then how long it has before the next. */
export type EndingSteps = readonly { readonly signal: NodeJS.Signals; readonly waitMs: number }[];

export interface ChildSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly logFile: string;
  /** Names the child for the next start, should this process be killed before it can end it. */
  readonly pidFile: string;
  readonly ending: EndingSteps;
  /** Opens a message channel, over which a service says that it is ready. */
  readonly channel?: boolean;
}

export interface ManagedChild {
  readonly name: string;
  readonly identity: ProcessIdentity;
  readonly process: ChildProcess;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  hasExited(): boolean;
  end(): Promise<void>;
}

function openLog(file: string): number {
  makePrivateFolder(path.dirname(file));
  if ((fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES_MAX) fs.renameSync(file, `${file}.1`);
  return fs.openSync(file, 'a', 0o600);
}

/** The last lines of a log, for the message of a start that failed. */
export function lastLines(file: string, count = 15): string {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n') : '';
}

/**
 * Starts a process in a session of its own, so that Ctrl-C on the terminal reaches only us and we decide the order in which things stop.
 * Its output goes to a file, not to a pipe that would break when we are killed.
 */
export async function startChild(spec: ChildSpec): Promise<ManagedChild> {
  makePrivateFolder(path.dirname(spec.pidFile));
  const log = openLog(spec.logFile);
  const child = spawn(spec.command, spec.args, {
    cwd: spec.cwd,
    env: spec.env,
    detached: true,
    stdio: spec.channel === true ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
  });
  fs.closeSync(log);
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  let gone = false;
  void exited.then(() => {
    gone = true;
  });
  const pid = child.pid ?? 0;
  const identity = identify(pid) ?? { pid, startTime: 'ended' };
  writeFileAtomically(spec.pidFile, JSON.stringify({ name: spec.name, ...identity }));
  return {
    name: spec.name,
    identity,
    process: child,
    exited,
    hasExited: () => gone,
    end: async () => {
      await endProcess(identity, spec.ending);
      await exited;
      fs.rmSync(spec.pidFile, { force: true });
    },
  };
}

/** Ends exactly this process and waits until it is gone. */
export async function endProcess(identity: ProcessIdentity, steps: EndingSteps): Promise<void> {
  for (const { signal, waitMs } of steps) {
    if (!isAlive(identity)) return;
    try {
      process.kill(identity.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return;
      throw error;
    }
    const until = Date.now() + waitMs;
    while (Date.now() < until) {
      if (!isAlive(identity)) return;
      await delay(POLL_MS);
    }
  }
  if (isAlive(identity)) throw new Error(`process ${identity.pid} does not end`);
}

function identityIn(pidFile: string): ProcessIdentity | undefined {
  const content = readJsonIfPresent(pidFile);
  if (typeof content !== 'object' || content === null) return undefined;
  const { pid, startTime } = content as Partial<ProcessIdentity>;
  return typeof pid === 'number' && typeof startTime === 'string' ? { pid, startTime } : undefined;
}

/** Ends the process a pid file names, when that very process still lives; says whether it did. */
export async function endOrphan(pidFile: string, steps: EndingSteps): Promise<ProcessIdentity | undefined> {
  const identity = identityIn(pidFile);
  const orphan = isAlive(identity) ? identity : undefined;
  if (orphan) await endProcess(orphan, steps);
  fs.rmSync(pidFile, { force: true });
  return orphan;
}

/**
 * Processes of this program started with this argument: finds a child whose pid file was never written because we were killed right
 * after its start. Only where /proc exists.
 */
export function processesOf(program: string, argument: string): ProcessIdentity[] {
  if (!fs.existsSync('/proc/self/cmdline')) return [];
  return fs.readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) return [];
    try {
      const [command = '', ...args] = fs.readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0');
      const found = path.basename(command) === program && args.includes(argument);
      const identity = found ? identify(Number(entry)) : undefined;
      return identity ? [identity] : [];
    } catch {
      return []; // It ended while we were looking.
    }
  });
}
