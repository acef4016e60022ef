/**
 * Classic BPF programs for `bwrap --seccomp`, as deny lists (denied calls answer EPERM, clone3 answers ENOSYS so that
 * libc falls back to clone, whose flags a filter can read).
 *
 * - `loose`: for the outer sandbox and the agent program. It must still allow mount and unshare, because bubblewrap runs
 *   again inside. It takes away what no agent needs: tracing, keyrings (shared by uid across runs), io_uring, bpf, and
 *   socket families that ignore network namespaces (AF_VSOCK reaches the hypervisor).
 * - `strict`: for what the agent runs. Adds mount, namespaces and chroot. Filters stack; a child cannot lift one.
 */

export type Architecture = 'x64' | 'arm64';

type SyscallTable = Readonly<Record<string, readonly [x64: number | null, arm64: number | null]>>;

const looseDenied: SyscallTable = {
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  process_madvise: [440, 440],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  open_by_handle_at: [304, 265],
  name_to_handle_at: [303, 264],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  syslog: [103, 116],
  acct: [163, 89],
  quotactl: [179, 60],
  iopl: [172, null],
  ioperm: [173, null],
  fanotify_init: [300, 262],
  clock_settime: [227, 112],
  settimeofday: [164, 170],
  vhangup: [153, 58],
};

const strictDenied: SyscallTable = {
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  unshare: [272, 97],
  setns: [308, 268],
  sethostname: [170, 161],
  setdomainname: [171, 162],
};

interface Machine {
  readonly column: 0 | 1;
  readonly auditArch: number;
  readonly socket: number;
  readonly ioctl: number;
  readonly clone: number;
  /** x86_64 has a second syscall table (x32) above this number, which a deny list must close as a whole. */
  readonly secondTableFrom: number | null;
}

const machines: Readonly<Record<Architecture, Machine>> = {
  x64: { column: 0, auditArch: 0xc000003e, socket: 41, ioctl: 16, clone: 56, secondTableFrom: 0x40000000 },
  arm64: { column: 1, auditArch: 0xc00000b7, socket: 198, ioctl: 29, clone: 220, secondTableFrom: null },
};

const clone3 = 435;
const cloneNamespaceFlags = 0x7e020000;
const deniedSocketFamilies = [17 /* PACKET */, 38 /* ALG */, 40 /* VSOCK */, 44 /* XDP */, 21 /* RDS */];
const deniedIoctls = [0x5412 /* TIOCSTI: types into the terminal */, 0x541c /* TIOCLINUX */];

const load = 0x20;
const jumpEqual = 0x15;
const jumpGreaterEqual = 0x35;
const jumpBitsSet = 0x45;
const answer = 0x06;

const allow = 0x7fff0000;
const eperm = 0x00050001;
const enosys = 0x00050026;
const kill = 0x80000000;

const syscallNumberAt = 0;
const architectureAt = 4;
const argumentAt = (index: number): number => 16 + index * 8;

type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, operand: number];

function denyCalls(numbers: readonly number[]): Instruction[] {
  return numbers.flatMap((number): Instruction[] => [
    [jumpEqual, 0, 1, number],
    [answer, 0, 0, eperm],
  ]);
}

/** For one syscall: EPERM when the low word of the argument is one of `values`, else allow it. Others fall through. */
function denyArgument(syscall: number, argument: number, values: readonly number[]): Instruction[] {
  return [[jumpEqual, 0, 2 + values.length * 2, syscall], [load, 0, 0, argumentAt(argument)], ...denyCalls(values), [answer, 0, 0, allow]];
}

function denyNamespaces(machine: Machine): Instruction[] {
  return [
    [jumpEqual, 0, 1, clone3],
    [answer, 0, 0, enosys],
    [jumpEqual, 0, 4, machine.clone],
    [load, 0, 0, argumentAt(0)],
    [jumpBitsSet, 0, 1, cloneNamespaceFlags],
    [answer, 0, 0, eperm],
    [answer, 0, 0, allow],
  ];
}

function numbersOf(table: SyscallTable, column: 0 | 1): number[] {
  return Object.values(table).flatMap((numbers) => numbers[column] ?? []);
}

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, jumpTrue, jumpFalse, operand], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4);
  });
  return bytes;
}

/** The filter as the raw bytes that `bwrap --seccomp FD` reads. Throws on an architecture without a table. */
export function seccompFilter(kind: 'loose' | 'strict', architecture: string = process.arch): Buffer {
  if (architecture !== 'x64' && architecture !== 'arm64') {
    throw new Error(`no seccomp table for architecture ${architecture}: sandboxes run on x64 and arm64 only`);
  }
  const machine = machines[architecture];
  const strict = kind === 'strict';
  return encode([
    [load, 0, 0, architectureAt],
    [jumpEqual, 1, 0, machine.auditArch],
    [answer, 0, 0, kill],
    [load, 0, 0, syscallNumberAt],
    ...(machine.secondTableFrom === null
      ? []
      : ([
          [jumpGreaterEqual, 0, 1, machine.secondTableFrom],
          [answer, 0, 0, eperm],
        ] satisfies Instruction[])),
    ...denyCalls(numbersOf(looseDenied, machine.column)),
    ...(strict ? [...denyCalls(numbersOf(strictDenied, machine.column)), ...denyNamespaces(machine)] : []),
    ...denyArgument(machine.socket, 0, deniedSocketFamilies),
    ...denyArgument(machine.ioctl, 1, deniedIoctls),
    [answer, 0, 0, allow],
  ]);
}
