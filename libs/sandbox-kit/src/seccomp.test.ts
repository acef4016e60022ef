import fs from 'node:fs';
import { seccompFilter } from './seccomp';

interface Call {
  readonly arch: number;
  readonly nr: number;
  readonly args?: readonly number[];
}

const allow = 0x7fff0000;
const eperm = 0x00050001;
const enosys = 0x00050026;
const kill = 0x80000000;

/** Executes the program as the kernel would; only the instructions that it uses. */
function decide(filter: Buffer, { arch, nr, args = [] }: Call): number {
  let accumulator = 0;
  for (let at = 0; at < filter.length / 8; at++) {
    const code = filter.readUInt16LE(at * 8);
    const [jumpTrue, jumpFalse, operand] = [filter.readUInt8(at * 8 + 2), filter.readUInt8(at * 8 + 3), filter.readUInt32LE(at * 8 + 4)];
    const jump = (holds: boolean) => {
      at += holds ? jumpTrue : jumpFalse;
    };
    if (code === 0x06) return operand;
    if (code === 0x20) accumulator = operand === 0 ? nr : operand === 4 ? arch : (args[(operand - 16) / 8] ?? 0);
    else if (code === 0x15) jump(accumulator === operand);
    else if (code === 0x35) jump(accumulator >= operand);
    else if (code === 0x45) jump((accumulator & operand) !== 0);
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error('ran off the end');
}

const numbers = {
  x64: { arch: 0xc000003e, read: 0, ptrace: 101, mount: 165, unshare: 272, clone: 56, socket: 41, ioctl: 16, bpf: 321 },
  arm64: { arch: 0xc00000b7, read: 63, ptrace: 117, mount: 40, unshare: 97, clone: 220, socket: 198, ioctl: 29, bpf: 280 },
} as const;

describe.each(['x64', 'arm64'] as const)('the system-call filters of %s', (architecture) => {
  const { arch, ...nr } = numbers[architecture];
  const loose = seccompFilter('loose', architecture);
  const strict = seccompFilter('strict', architecture);

  it('allow ordinary calls and kill those of another architecture', () => {
    for (const filter of [loose, strict]) {
      expect(decide(filter, { arch, nr: nr.read })).toBe(allow);
      expect(decide(filter, { arch: 0x40000003, nr: nr.read })).toBe(kill);
    }
  });
  it('deny tracing and bpf', () => {
    for (const filter of [loose, strict]) for (const call of [nr.ptrace, nr.bpf]) expect(decide(filter, { arch, nr: call })).toBe(eperm);
  });
  it('leave mount and namespaces to the loose one only', () => {
    const newUser = { arch, nr: nr.clone, args: [0x10000000 | 17] };
    for (const call of [{ arch, nr: nr.mount }, { arch, nr: nr.unshare }, newUser]) {
      expect(decide(loose, call)).toBe(allow);
      expect(decide(strict, call)).toBe(eperm);
    }
    expect(decide(strict, { arch, nr: nr.clone, args: [17] })).toBe(allow);
    expect(decide(strict, { arch, nr: 435 })).toBe(enosys);
    expect(decide(loose, { arch, nr: 435 })).toBe(allow);
  });
  it('deny the socket families and terminal tricks that cross a namespace', () => {
    for (const filter of [loose, strict]) {
      for (const family of [17, 21, 38, 40, 44]) expect(decide(filter, { arch, nr: nr.socket, args: [family] })).toBe(eperm);
      for (const family of [1, 2, 10, 16]) expect(decide(filter, { arch, nr: nr.socket, args: [family] })).toBe(allow);
      expect(decide(filter, { arch, nr: nr.ioctl, args: [0, 0x5412] })).toBe(eperm);
      expect(decide(filter, { arch, nr: nr.ioctl, args: [0, 0x5401] })).toBe(allow);
    }
  });
});

describe('the second table of x86_64', () => {
  it('is closed', () => {
    expect(decide(seccompFilter('loose', 'x64'), { arch: numbers.x64.arch, nr: 0x40000000 + 1 })).toBe(eperm);
  });
});

it('refuses an architecture without a table', () => {
  expect(() => seccompFilter('strict', 's390x')).toThrow('s390x');
});

const header = '/usr/include/asm-generic/unistd.h';
(fs.existsSync(header) ? it : it.skip)('has the numbers of the kernel headers for arm64', () => {
  const known = new Map(
    [...fs.readFileSync(header, 'utf8').matchAll(/#define __NR(?:3264)?_(\w+)\s+(\d+)/g)].map((match) => [match[1], Number(match[2])]),
  );
  const filter = seccompFilter('strict', 'arm64');
  const names =
    'ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd keyctl add_key request_key bpf perf_event_open userfaultfd io_uring_setup open_by_handle_at name_to_handle_at kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff syslog acct quotactl fanotify_init clock_settime settimeofday vhangup mount umount2 pivot_root chroot unshare setns sethostname setdomainname';
  for (const name of names.split(' '))
    expect([name, decide(filter, { arch: numbers.arm64.arch, nr: known.get(name) ?? -1 })]).toEqual([name, eperm]);
});
