import fs from 'node:fs';
import path from 'node:path';
import { insideCommand, launcherFds, outerSandboxArgs, type SystemFolder } from '../../domain/outer-sandbox';
import { inside, type SandboxPlan } from '../../domain/sandbox-plan';
import { runFiles } from '../files';
import { type LimitKind, rlimitArgs } from './cgroups';

/** Outermost: joins the groups, closes everything the supervisor itself inherited without close-on-exec (it would reach the agent). */
const joinAndClose = `
while [ "$1" != -- ]; do echo $$ > "$1" || exit 71; shift; done; shift
for f in /proc/$$/fd/*; do n=\${f##*/}; ((n > ${launcherFds.ready})) && eval "exec $n>&-"; done
exec "$@"`;

/**
 * As root only, in a mount namespace of its own: binds every source into a small tmpfs that the run's uid can reach, because the run's
 * folder may lie in a folder of mode 0700. The mount table inside still names where each bind comes from: a name, nothing that opens.
 */
export const stageSources = `
set -e
stage=$1; shift
mount -t tmpfs -o mode=0755,size=1m,nosuid,nodev tmpfs "$stage"
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir "$stage/$2"; else : > "$stage/$2"; fi
  mount --bind "$1" "$stage/$2"; shift 2
done; shift
exec "$@"`;

/** Innermost: the death signal is set by now, so a supervisor that died before can be noticed; then the exact environment. */
const dieWithSupervisor = `
[ "$PPID" = "$0" ] || exit 72
exec env -i "$@"`;

const stageCandidates = ['/mnt', '/media', '/srv', '/opt', '/var/tmp'];

/** A folder to put the staging tmpfs on: it must hide none of the sources. */
export function stageFolder(sources: readonly string[]): string {
  const real = sources.map((source) => fs.realpathSync(source));
  const free = stageCandidates.find((folder) => isFolder(folder) && !real.some((source) => `${source}/`.startsWith(`${folder}/`)));
  if (free === undefined)
    throw new Error(`none of ${stageCandidates.join(', ')} is free to stage the sandbox's files: create one of them as an empty folder`);
  return free;
}

const isFolder = (folder: string): boolean => fs.lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** The host's own top-level system folders, links kept as links. */
function systemFolders(): SystemFolder[] {
  return ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'].flatMap((name) => {
    const stat = fs.lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (stat === undefined) return [];
    return [{ name, linkTo: stat.isSymbolicLink() ? fs.readlinkSync(`/${name}`).replace(/^\//, '') : null }];
  });
}

interface LaunchCommand {
  readonly command: string;
  readonly args: readonly string[];
}

type Paths = Pick<
  SandboxPlan,
  'uid' | 'bubblewrap' | 'node' | 'bundleDir' | 'binds' | 'workspaceDir' | 'readOnlyWorkspace' | 'environment' | 'limits'
>;

/** The command line that becomes the outer sandbox: every step execs the next, so the child's pid is bubblewrap's. */
export function launchCommand(
  plan: Paths,
  door: string,
  groups: { readonly kind: LimitKind; readonly procsFiles: readonly string[] },
  command: readonly string[],
): LaunchCommand {
  const sources = {
    node: plan.node,
    runner: plan.bundleDir,
    door,
    workspace: plan.workspaceDir,
    ...Object.fromEntries(plan.binds.map(({ src }, index) => [`bind${index}`, src])),
  };
  const asRoot = plan.uid !== null;
  const stage = asRoot ? stageFolder([...Object.values(sources), plan.bubblewrap]) : null;
  const seen = (name: keyof typeof sources | `bind${number}`, source: string): string => (stage === null ? source : path.join(stage, name));
  const sandbox = outerSandboxArgs({
    systemFolders: systemFolders(),
    bundleDir: seen('runner', plan.bundleDir),
    node: seen('node', plan.node),
    door: seen('door', door),
    workspace: seen('workspace', plan.workspaceDir),
    readOnlyWorkspace: plan.readOnlyWorkspace,
    binds: plan.binds.map(({ src, dest }, index) => ({ src: seen(`bind${index}`, src), dest })),
    command: insideCommand(rlimitArgs(groups.kind, plan.limits), command),
  });
  const bubblewrap = stage === null ? plan.bubblewrap : path.join(stage, 'bwrap');
  const environment = Object.entries(plan.environment).map(([name, value]) => `${name}=${value}`);
  return {
    command: 'bash',
    args: [
      ...['-c', joinAndClose, 'fluidbox-sandbox', ...groups.procsFiles, '--'],
      ...(stage === null
        ? []
        : [
            'unshare',
            '--mount',
            '--propagation',
            'private',
            'bash',
            '-c',
            stageSources,
            'fluidbox-sandbox',
            stage,
            ...Object.entries({ ...sources, bwrap: plan.bubblewrap }).flatMap(([name, source]) => [source, name]),
            '--',
          ]),
      ...['prlimit', '--core=0'],
      ...[
        'setpriv',
        ...(plan.uid === null ? [] : [`--reuid=${plan.uid}`, `--regid=${plan.uid}`, '--clear-groups']),
        '--no-new-privs',
        '--pdeathsig',
        'KILL',
      ],
      ...['bash', '-c', dieWithSupervisor, String(process.pid), ...environment, bubblewrap, ...sandbox],
    ],
  };
}

export const runnerCommand = [inside.node, `${inside.runner}/main.js`] as const;
export const doorOf = (plan: SandboxPlan): string => runFiles(plan.runDir).door;

/** What the launching programs themselves run with. The sandbox gets the plan's environment and nothing of this. */
export const launcherEnvironment = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' } as const;
