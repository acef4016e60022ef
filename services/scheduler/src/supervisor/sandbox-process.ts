import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { seccompFilter } from '@fluidbox/sandbox-kit';
import { identify, isAlive } from '@fluidbox/tooling/identity';
import { createGroups, endGroups, groupName, killGroups, killProcess, type SandboxGroups } from '../adapters/local/cgroups';
import { doorOf, launchCommand, launcherEnvironment, runnerCommand } from '../adapters/local/launcher';
import { launcherFds } from '../domain/outer-sandbox';
import type { SandboxPlan } from '../domain/sandbox-plan';
import { Tail } from './tail';

const stderrBytesMax = 16 * 1024;

export interface SandboxProcess {
  readonly groups: SandboxGroups;
  readonly tail: Tail;
  /** The host pid of the sandbox's pid 1, once it stands and its first program runs; null when it never stood. */
  readonly standing: Promise<number | null>;
  readonly exit: Promise<{ exitCode: number | null; signal: string | null }>;
  /** Kills the whole tree; `exit` settles afterwards. */
  end(): void;
  /** Resolves when nothing of the tree lives and its groups are gone. */
  gone(): Promise<void>;
}

/**
 * Starts the outer sandbox. Must be called on the main thread: the death signal is tied to the spawning thread. All stdio are pipes: a
 * sandboxed process could re-open a file it was given, and so read the host's log.
 */
export async function startSandbox(plan: SandboxPlan, secretsLine: string): Promise<SandboxProcess> {
  const groups = createGroups(groupName(plan.deploymentId, plan.runId), plan.limits);
  try {
    return spawnIn(groups, plan, secretsLine);
  } catch (error) {
    await endGroups(groups.folders);
    throw error;
  }
}

function spawnIn(groups: SandboxGroups, plan: SandboxPlan, secretsLine: string): SandboxProcess {
  const { command, args } = launchCommand(plan, doorOf(plan), groups, runnerCommand);
  const filter = openFilter(plan.runDir);
  const stdio: Array<'ignore' | 'pipe' | number> = ['ignore', 'pipe', 'pipe'];
  stdio[launcherFds.secrets] = 'pipe';
  stdio[launcherFds.seccomp] = filter;
  stdio[launcherFds.status] = 'pipe';
  stdio[launcherFds.ready] = 'pipe';
  const child = spawn(command, args, { cwd: '/', env: launcherEnvironment, stdio });
  fs.closeSync(filter);
  const pipes: readonly unknown[] = child.stdio;
  handOver(pipes[launcherFds.secrets] as Writable, secretsLine);
  const tail = new Tail(stderrBytesMax);
  tail.drain(child.stdout);
  tail.drain(child.stderr);
  const initPid = readInitPid(pipes[launcherFds.status] as Readable);
  const standing = Promise.all([initPid, saidReady(pipes[launcherFds.ready] as Readable)]).then(([pid, ready]) => (ready ? pid : null));
  const exit = new Promise<{ exitCode: number | null; signal: string | null }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  let init: ReturnType<typeof identify>;
  void initPid.then((pid) => {
    init = pid === null ? undefined : identify(pid);
  });
  return {
    groups,
    tail,
    standing,
    exit,
    end: () => end(child, groups, init),
    gone: async () => {
      // bubblewrap can be gone a moment before its pid 1, and pid 1 goes only after everything inside it.
      while (isAlive(init)) {
        killProcess(init?.pid ?? 0);
        await pause(5);
      }
      await endGroups(groups.folders);
    },
  };
}

function end(child: ChildProcess, groups: SandboxGroups, init: ReturnType<typeof identify>): void {
  killGroups(groups.folders);
  if (init !== undefined && isAlive(init)) killProcess(init.pid);
  child.kill('SIGKILL');
}

function openFilter(runDir: string): number {
  const file = path.join(runDir, 'loose.bpf');
  fs.writeFileSync(file, seccompFilter('loose'), { mode: 0o600 });
  return fs.openSync(file, 'r');
}

/** One line, then end of file. A sandbox that died before it read them is no error of ours. */
function handOver(stream: Writable, line: string): void {
  stream.on('error', () => stream.destroy());
  stream.end(`${line}\n`);
}

function saidReady(stream: Readable): Promise<boolean> {
  return new Promise((resolve) => {
    stream.once('data', () => resolve(true));
    stream.on('error', () => resolve(false));
    stream.on('close', () => resolve(false));
  });
}

/** bubblewrap reports `{"child-pid": N}` when it has forked, and closes the stream when it ends. */
function readInitPid(stream: Readable): Promise<number | null> {
  return new Promise((resolve) => {
    let text = '';
    stream.on('data', (chunk: Buffer) => {
      text = `${text}${chunk.toString('utf8')}`.slice(0, 4096);
      const pid = /"child-pid":\s*(\d+)/.exec(text)?.[1];
      if (pid !== undefined) resolve(Number(pid));
    });
    stream.on('error', () => resolve(null));
    stream.on('close', () => resolve(null));
  });
}
