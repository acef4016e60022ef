import { inside } from './sandbox-plan';

/** Descriptors that the launcher hands over; everything above is closed before anything is started. */
export const launcherFds = { secrets: 3, seccomp: 4, status: 5, ready: 6 } as const;

const tmpfsBytesMax = 64 * 1024 * 1024;
const sizedTmpfs = (path: string): string[] => ['--size', String(tmpfsBytesMax), '--tmpfs', path];

/** A top-level folder of the host's system: a link into /usr on merged systems, a folder on others. */
export interface SystemFolder {
  readonly name: string;
  readonly linkTo: string | null;
}

export interface OuterSandbox {
  readonly systemFolders: readonly SystemFolder[];
  readonly bundleDir: string;
  readonly node: string;
  readonly door: string;
  readonly workspace: string;
  readonly readOnlyWorkspace: boolean;
  readonly binds: readonly { readonly src: string; readonly dest: string }[];
  readonly command: readonly string[];
}

/**
 * Arguments of the outer bubblewrap. It must not run as host root (the inner `--proc` would be refused), takes the loose filter only
 * and no `--disable-userns`, because the runner starts two more sandboxes inside. The door is the folder, never its socket files: a
 * bound socket is dead for ever once its listener restarts.
 */
export function outerSandboxArgs(sandbox: OuterSandbox): string[] {
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-net', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'sandbox'],
    ...['--seccomp', String(launcherFds.seccomp), '--json-status-fd', String(launcherFds.status)],
    ...['--ro-bind', '/usr', '/usr'],
    ...sandbox.systemFolders.flatMap(({ name, linkTo }) =>
      linkTo === null ? ['--ro-bind', `/${name}`, `/${name}`] : ['--symlink', linkTo, `/${name}`],
    ),
    ...['--proc', '/proc', '--dev', '/dev', ...sizedTmpfs('/dev/shm'), '--remount-ro', '/dev'],
    ...[...sizedTmpfs('/tmp'), ...sizedTmpfs('/home'), '--dir', inside.home, '--dir', '/etc', '--dir', '/run'],
    ...['--ro-bind', sandbox.bundleDir, inside.runner, '--ro-bind', sandbox.node, inside.node],
    ...sandbox.binds.flatMap(({ src, dest }) => ['--ro-bind', src, dest]),
    ...[sandbox.readOnlyWorkspace ? '--ro-bind' : '--bind', sandbox.workspace, inside.workspace],
    // Read-only keeps files out of the door; connecting to its sockets is still possible.
    ...['--ro-bind', sandbox.door, inside.door],
    // bwrap's root is a writable tmpfs: without this /etc/ld.so.preload could be written.
    ...['--remount-ro', '/', '--chdir', '/', '--', ...sandbox.command],
  ];
}

/**
 * The first program inside: says that the sandbox stands (bubblewrap reports a pid before it has mounted anything), then becomes the
 * command with nothing but its secrets open. Limits of processes are set here, in the sandbox's own user namespace: outside they would
 * count everything else that the user runs.
 */
export function insideCommand(limits: readonly string[], command: readonly string[]): string[] {
  const { seccomp, status, ready } = launcherFds;
  const say = `echo >&${ready}; exec "$@" ${[seccomp, status, ready].map((fd) => `${fd}>&-`).join(' ')}`;
  return ['/bin/sh', '-c', say, 'sh', ...(limits.length === 0 ? [] : ['/usr/bin/prlimit', ...limits, '--']), ...command];
}
