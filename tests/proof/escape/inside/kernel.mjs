import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { attempt, blocked, notTried, through } from './outcome.mjs';

const group = 'kernel';

/** A call that failed for another reason got past the check that should have stopped it. */
const refusals = new Set(['EPERM', 'EACCES', 'ENOSYS', 'EAFNOSUPPORT', 'ESOCKTNOSUPPORT', 'EPROTONOSUPPORT', 'killed']);

const filter = 'system-call filter';
const strict = 'strict system-call filter';
const none = 'no capabilities';
const family = 'system-call filter (socket family)';
const calls = {
  'ptrace attach': filter,
  process_vm_readv: filter,
  process_vm_writev: filter,
  kcmp: filter,
  process_madvise: filter,
  pidfd_getfd: filter,
  'mount a tmpfs': strict,
  'mount a proc': strict,
  'bind mount': strict,
  'remount /usr writable': strict,
  'umount /usr': strict,
  pivot_root: strict,
  chroot: strict,
  open_tree: strict,
  move_mount: strict,
  fsopen: strict,
  fspick: strict,
  mount_setattr: strict,
  'new user namespace (unshare)': '--disable-userns, strict filter',
  'new mount namespace (unshare)': strict,
  'new network namespace (unshare)': strict,
  'new user namespace (clone)': '--disable-userns, strict filter',
  'new mount namespace (clone)': strict,
  'new pid namespace (clone)': strict,
  'new network namespace (clone)': strict,
  'new user namespace (clone3)': 'strict filter answers ENOSYS',
  'join the user namespace of pid 1 (setns)': strict,
  'join the mnt namespace of pid 1 (setns)': strict,
  'join the pid namespace of pid 1 (setns)': strict,
  'join the net namespace of pid 1 (setns)': strict,
  'join the ipc namespace of pid 1 (setns)': strict,
  'join the uts namespace of pid 1 (setns)': strict,
  'join the cgroup namespace of pid 1 (setns)': strict,
  sethostname: strict,
  setdomainname: strict,
  'mknod a disk': none,
  'mknodat a disk': none,
  open_by_handle_at: filter,
  name_to_handle_at: filter,
  'keyctl: session keyring': filter,
  'keyctl: keyring of the uid': `${filter}, uid of its own per run`,
  add_key: filter,
  request_key: filter,
  bpf: filter,
  perf_event_open: filter,
  io_uring_setup: filter,
  io_uring_enter: filter,
  io_uring_register: filter,
  userfaultfd: filter,
  'read the kernel log (syslog)': filter,
  settimeofday: filter,
  clock_settime: filter,
  kexec_load: filter,
  kexec_file_load: filter,
  init_module: filter,
  finit_module: filter,
  delete_module: filter,
  reboot: filter,
  swapon: filter,
  acct: filter,
  quotactl: filter,
  fanotify_init: filter,
  vhangup: filter,
  iopl: filter,
  ioperm: filter,
  'second system call table (x32)': filter,
  'type into the terminal (TIOCSTI)': filter,
  'socket AF_PACKET': family,
  'socket AF_VSOCK': `${family}; a network namespace does not hold it`,
  'socket AF_ALG': family,
  'socket AF_XDP': family,
  'socket AF_RDS': family,
  'socket raw IPv4': none,
  'socket raw IPv6': none,
  'AF_VSOCK connect to CID 1': family,
  'AF_VSOCK connect to CID 2': family,
  'sockets of any other family': family,
  'add a network interface (netlink)': none,
};

const perl = ['/usr/bin/perl', '/usr/local/bin/perl'].find((file) => fs.existsSync(file));

function makeCalls() {
  if (perl === undefined) return { missing: 'no perl' };
  const { stdout, stderr, status } = spawnSync(perl, [path.join(import.meta.dirname, 'raw-calls.pl')], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  if (status === 3) return { missing: `no system call numbers for ${process.arch}` };
  return {
    said: new Map(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split('\t')),
    ),
    more: stderr.trim().slice(0, 200),
  };
}

function callAttempts() {
  const made = makeCalls();
  return Object.entries(calls).map(([name, closedBy]) =>
    attempt(group, name, closedBy, () => {
      if (made.missing !== undefined) return notTried(made.missing);
      const said = made.said.get(name);
      if (said === undefined) return notTried(`the interpreter did not come this far ${made.more}`);
      return refusals.has(said) ? blocked(said) : through(said);
    }),
  );
}

const status = (name) => fs.readFileSync('/proc/self/status', 'utf8').match(new RegExp(`^${name}:\\s*(\\S+)`, 'm'))?.[1] ?? 'absent';
const field = (name, wanted) => () => (wanted.test(status(name)) ? blocked(status(name)) : through(`${name} ${status(name)}`));

function sharedMemory() {
  const segments = fs.readFileSync('/proc/sysvipc/shm', 'utf8').trim().split('\n').length - 1;
  return segments > 0 ? through(`${segments} segments`) : blocked('none');
}

export const kernelAttempts = () => [
  ...callAttempts(),
  attempt(group, 'capabilities it has', none, field('CapEff', /^0+$/)),
  attempt(group, 'capabilities it could gain', none, field('CapBnd', /^0+$/)),
  attempt(group, 'privileges from a setuid program', 'no_new_privs', field('NoNewPrivs', /^1$/)),
  attempt(group, 'run without a system-call filter', filter, field('Seccomp', /^2$/)),
  attempt(group, 'shared memory of others (System V)', 'ipc namespace', sharedMemory),
];
