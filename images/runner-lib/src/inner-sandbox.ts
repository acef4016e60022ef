import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';

/** Where the outer sandbox mounts things. The contract with its builder is in ../README.md. */
const runnerDir = '/opt/runner';
const bundledBubblewrap = '/opt/bwrap';
/** Tools of the project under work (node, git …) when they are not below the host's /usr; optional. */
const toolsDir = '/opt/tools';

export interface InnerSandboxOptions {
  readonly env: Readonly<Record<string, string>>;
  /** `own` = a network namespace with nothing in it; `shared` = the outer sandbox's loopback, for programs that speak TCP only. */
  readonly network: 'own' | 'shared';
  readonly readOnlyWorkspace: boolean;
  readonly binds?: readonly Bind[];
  /** Empty folders: below /home writable, elsewhere on the read-only root. */
  readonly dirs?: readonly string[];
  readonly signal?: AbortSignal | undefined;
  readonly stdin?: 'pipe' | 'ignore';
}

export interface Bind {
  readonly src: string;
  readonly dest: string;
  readonly writable?: boolean;
}

/** Every tmpfs has a size: its pages count as memory of the run, and one `dd` would otherwise get the run killed. */
const tmpfsBytesMax = 256 * 1024 * 1024;
/**
 * Counted per user namespace and below the outer limit of 256: a fork bomb hits this and the runner outside lives on. sh-wrap
 * lowers it again, so that the agent program keeps room for its own threads.
 */
const processesMax = 192;
/** Under memory pressure the agent program goes before the runner, and a command (800, sh-wrap) before the agent. */
const oomScoreAdjust = 300;

function bubblewrapPath(): string {
  return fs.existsSync(bundledBubblewrap) ? bundledBubblewrap : '/usr/bin/bwrap';
}

/** The top-level system folders as the outer sandbox has them: links into /usr on merged systems, folders on others. */
function systemFolders(): string[] {
  return ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].flatMap((name) => {
    const found = fs.lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return found.isSymbolicLink() ? ['--symlink', fs.readlinkSync(`/${name}`), `/${name}`] : ['--ro-bind', `/${name}`, `/${name}`];
  });
}

/**
 * Arguments of the inner bubblewrap. Neither `--disable-userns` nor the strict filter here: each shell command starts one
 * more sandbox inside (sh-wrap), and that innermost one has both.
 */
function innerSandboxArgs(command: string, args: readonly string[], options: InnerSandboxOptions): string[] {
  const sizedTmpfs = (path: string): string[] => ['--size', String(tmpfsBytesMax), '--tmpfs', path];
  const tools: Bind[] = fs.existsSync(toolsDir) ? [{ src: toolsDir, dest: toolsDir }] : [];
  const binds = [...tools, ...(options.binds ?? [])].flatMap(({ src, dest, writable }) => [writable ? '--bind' : '--ro-bind', src, dest]);
  return [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(options.network === 'own' ? ['--unshare-net'] : []),
    '--cap-drop',
    'ALL',
    '--die-with-parent',
    '--new-session',
    '--ro-bind',
    '/usr',
    '/usr',
    ...systemFolders(),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    ...sizedTmpfs('/dev/shm'),
    '--remount-ro',
    '/dev',
    ...sizedTmpfs('/tmp'),
    ...sizedTmpfs('/home'),
    '--dir',
    '/home/agent',
    '--dir',
    '/etc',
    '--dir',
    '/run',
    '--bind',
    '/workspace',
    '/workspace',
    ...(options.readOnlyWorkspace ? ['--remount-ro', '/workspace'] : []),
    ...(options.dirs ?? []).flatMap((dir) => ['--dir', dir]),
    ...binds,
    // bwrap's root is a writable tmpfs: without this an agent could write /etc/ld.so.preload.
    '--remount-ro',
    '/',
    '--clearenv',
    ...Object.entries(options.env).flatMap(([name, value]) => ['--setenv', name, value]),
    '--chdir',
    '/workspace',
    '--',
    command,
    ...args,
  ];
}

/**
 * What sh-wrap needs in the sandbox of the agent program to put each shell command one sandbox deeper. `overBash` mounts it where bash is, for agent
 * programs that cannot be told another shell.
 */
export function shellSandboxBinds({ overBash = false } = {}): Bind[] {
  const wrapper = `${runnerDir}/sh-wrap`;
  return [
    ...(overBash ? [{ src: wrapper, dest: '/usr/bin/bash' }] : []),
    { src: '/usr/bin/bash', dest: '/opt/bash' },
    { src: wrapper, dest: '/opt/sh-wrap' },
    { src: `${runnerDir}/strict.bpf`, dest: '/opt/strict.bpf' },
    ...(fs.existsSync(bundledBubblewrap) ? [{ src: bundledBubblewrap, dest: bundledBubblewrap }] : []),
  ];
}

/** Placeholders only: environment and arguments of a process are readable inside its sandbox. Commits carry the agent's name, not a person's. */
export const innerEnvironment: Readonly<Record<string, string>> = {
  PATH: '/opt/tools/bin:/usr/local/bin:/usr/bin',
  HOME: '/home/agent',
  LANG: 'C.UTF-8',
  TMPDIR: '/tmp',
  GIT_AUTHOR_NAME: 'fluidbox agent',
  GIT_AUTHOR_EMAIL: 'agent@fluidbox.invalid',
  GIT_COMMITTER_NAME: 'fluidbox agent',
  GIT_COMMITTER_EMAIL: 'agent@fluidbox.invalid',
};

/** Starts a program one sandbox below the runner. stdio are pipes, never files: a sandboxed process can re-open those. */
export function spawnInner(command: string, args: readonly string[], options: InnerSandboxOptions): ChildProcess {
  const wrapped = [
    `--nproc=${processesMax}`,
    'choom',
    '-n',
    String(oomScoreAdjust),
    '--',
    bubblewrapPath(),
    ...innerSandboxArgs(command, args, options),
  ];
  return spawn('/usr/bin/prlimit', wrapped, {
    env: { PATH: '/usr/bin' },
    cwd: '/',
    stdio: [options.stdin ?? 'pipe', 'pipe', 'pipe'],
    ...(options.signal ? { signal: options.signal } : {}),
  });
}
