import { type Finding, missing, ok, warn } from './finding';
import { installCommand, type Machine } from './machine';

const USER_NAMESPACES_MAX = '/proc/sys/user/max_user_namespaces';
const APPARMOR_RESTRICTION = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns';
const DEBIAN_SWITCH = '/proc/sys/kernel/unprivileged_userns_clone';
const SANDBOX_UID = '1000';

export function checkPlatform(machine: Machine): Finding {
  if (machine.platform === 'linux') return ok('platform', `linux ${machine.arch}`);
  return missing(
    'platform',
    machine.platform,
    'run fluidbox on Linux (or in a Linux virtual machine): the local sandbox needs its namespaces',
  );
}

/** Sandboxes never run with root's uid underneath, so the probe does not either. */
const asSandboxUser = (machine: Machine, command: readonly string[]): readonly string[] =>
  machine.isRoot ? ['setpriv', `--reuid=${SANDBOX_UID}`, `--regid=${SANDBOX_UID}`, '--clear-groups', ...command] : command;

const runAsSandboxUser = (machine: Machine, command: readonly string[]) => {
  const [file = '', ...args] = asSandboxUser(machine, command);
  return machine.run(file, args);
};

export function checkUserNamespaces(machine: Machine): Finding {
  const name = 'user namespaces';
  if (machine.which('unshare') === undefined)
    return missing(name, 'cannot be tried: unshare is not on PATH', installCommand(machine, 'util-linux'));
  const probe = runAsSandboxUser(machine, ['unshare', '--user', '--map-root-user', '--net', 'true']);
  if (probe.ok) return ok(name, 'an ordinary user can make them');
  if (machine.read(USER_NAMESPACES_MAX) === '0')
    return missing(name, `${USER_NAMESPACES_MAX} is 0`, 'sysctl user.max_user_namespaces=10000');
  if (machine.read(DEBIAN_SWITCH) === '0') return missing(name, `${DEBIAN_SWITCH} is 0`, 'sysctl kernel.unprivileged_userns_clone=1');
  if (machine.read(APPARMOR_RESTRICTION) === '1') {
    return missing(
      name,
      'AppArmor refuses them',
      'sysctl kernel.apparmor_restrict_unprivileged_userns=0, or load an AppArmor profile for bwrap that allows userns',
    );
  }
  return missing(
    name,
    probe.output,
    'allow user namespaces (in a container: a seccomp profile that permits unshare and clone with CLONE_NEWUSER)',
  );
}

/** A real sandbox around `true`, with the shape every run gets. */
export function checkBubblewrap(machine: Machine): Finding {
  const bwrap = machine.which('bwrap');
  if (bwrap === undefined) return missing('bubblewrap', 'bwrap is not on PATH', installCommand(machine, 'bubblewrap'));
  const version = machine.run(bwrap, ['--version']).output.replace('bubblewrap ', '');
  const isolation = ['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'];
  const user = ['--unshare-user', '--uid', SANDBOX_UID, '--gid', SANDBOX_UID, '--disable-userns'];
  const system = [
    '--ro-bind',
    '/usr',
    '/usr',
    '--symlink',
    'usr/bin',
    '/bin',
    '--symlink',
    'usr/lib',
    '/lib',
    '--symlink',
    'usr/lib64',
    '/lib64',
  ];
  const own = ['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'];
  const probe = runAsSandboxUser(machine, [bwrap, ...isolation, ...user, ...system, ...own, '/usr/bin/true']);
  if (probe.ok) return ok('bubblewrap', `${version}, a sandbox starts`);
  if (/disable-userns/.test(probe.output))
    return missing('bubblewrap', `${version} is older than 0.8`, installCommand(machine, 'bubblewrap'));
  return missing(
    'bubblewrap',
    `${version}, but a sandbox does not start: ${probe.output}`,
    'see user namespaces; in a container also /proc must be mountable (--security-opt systempaths=unconfined)',
  );
}

export function checkSeccomp(machine: Machine): Finding {
  const known = ['x64', 'arm64'];
  if (!known.includes(machine.arch)) return missing('seccomp', `no filter for ${machine.arch}`, `run on ${known.join(' or ')}`);
  const actions = machine.read('/proc/sys/kernel/seccomp/actions_avail');
  return actions?.includes('errno')
    ? ok('seccomp', `filters work (${machine.arch})`)
    : missing('seccomp', 'this kernel has no seccomp filters', 'use a kernel with CONFIG_SECCOMP_FILTER');
}

const RLIMITS_ONLY = 'sandboxes fall back to rlimits, which bind each process, not the whole run';

export function checkCgroups(machine: Machine): Finding {
  const wanted = ['memory', 'pids', 'cpu'];
  const v2 = machine.read('/sys/fs/cgroup/cgroup.controllers')?.split(' ');
  if (v2 && wanted.every((controller) => v2.includes(controller))) {
    if (machine.isWritable('/sys/fs/cgroup/cgroup.procs')) return ok('cgroups', 'v2');
    const found = `v2, but not ours to write: ${RLIMITS_ONLY}`;
    return warn('cgroups', found, 'start through: systemd-run --user --scope -p Delegate=yes npm run up');
  }
  const v1 = wanted.filter((controller) => machine.read(`/sys/fs/cgroup/${controller}/cgroup.procs`) !== undefined);
  if (v1.length === wanted.length) {
    if (v1.every((controller) => machine.isWritable(`/sys/fs/cgroup/${controller}/cgroup.procs`))) return ok('cgroups', 'v1');
    return warn('cgroups', `v1, but not ours to write: ${RLIMITS_ONLY}`, 'run as root, or have a group delegated');
  }
  return warn('cgroups', `none: ${RLIMITS_ONLY}`, 'mount cgroup v2 at /sys/fs/cgroup');
}
