# System calls that Node cannot make. Prints one line each: name, tab, `OK` or the name of the error. Every call is made in a child of its
# own, because one that succeeds changes the process. Arguments are chosen so that a call which is permitted does no harm: it either
# succeeds in this sandbox's own namespaces, or fails later than the permission check, which also shows.
use strict;
use warnings;
use Errno;
use POSIX ();

my %columns = (x86_64 => 0, aarch64 => 1);
my $column = $columns{(POSIX::uname())[4]};
defined $column or exit 3;
$| = 1;

sub error_name {
  my ($name) = grep { $!{$_} } keys %!;
  return $name // "errno " . ($! + 0);
}

# $run answers undef for success (or a text that describes it) and false with $! set for a failure.
sub try_call {
  my ($name, $run) = @_;
  pipe(my $from, my $to) or die;
  my $child = fork() // die;
  if ($child == 0) {
    close $from;
    # Where namespaces can be made, what a call changes stays with this child.
    syscall((272, 97)[$column], 0x00020000 | 0x04000000);
    my $ok = eval { $run->() };
    syswrite $to, !$ok ? error_name() : $ok eq '1' ? 'OK' : "OK $ok";
    POSIX::_exit(0);
  }
  close $to;
  my $said = '';
  sysread $from, $said, 200;
  waitpid $child, 0;
  print "$name\t", ($said eq '' ? 'killed' : $said), "\n";
}

sub raw {
  my ($name, $numbers, @args) = @_;
  my $number = $numbers->[$column];
  return print "$name\tENOSYS\n" unless defined $number;
  try_call($name, sub {
    my $answer = syscall($number, @args);
    # The child of a clone that worked has nothing to say.
    POSIX::_exit(0) if $name =~ /clone/ && $answer == 0;
    return $answer >= 0;
  });
}

my $AT_FDCWD = -100;
my $zeros = "\0" x 256;
my $handle = pack('I i', 8, 1) . pack('I2', 2, 0) . "\0" x 64;
my $mount_id = "\0" x 8;
my $init = 1;

# Others: reached through pid 1 of this sandbox, which always exists.
try_call('ptrace attach', sub {
  my $number = (101, 117)[$column];
  return 0 if syscall($number, 16, $init, 0, 0) < 0;
  waitpid $init, 0x40000000;
  syscall($number, 17, $init, 0, 0);
  return 1;
});
my $local = pack('P Q', $zeros, 16);
my $remote = pack('Q Q', 0x400000, 16);
raw('process_vm_readv', [310, 270], $init, $local, 1, $remote, 1, 0);
raw('process_vm_writev', [311, 271], $init, $local, 1, pack('Q Q', 0, 16), 1, 0);
raw('kcmp', [312, 272], $init, $$, 0, 0, 0);
raw('process_madvise', [440, 440], -1, $local, 1, 20, 0);
try_call('pidfd_getfd', sub {
  my $pidfd = syscall(434, $init, 0);
  return $pidfd >= 0 && syscall(438, $pidfd, 0, 0) >= 0;
});

# Namespaces and mounts.
raw('mount a tmpfs', [165, 40], "t", "/tmp", "tmpfs", 0, 0);
raw('mount a proc', [165, 40], "p", "/tmp", "proc", 0, 0);
raw('bind mount', [165, 40], "/usr", "/tmp", $zeros, 0x1000, 0);
raw('remount /usr writable', [165, 40], "n", "/usr", $zeros, 0x20 | 0x1000, 0);
raw('umount /usr', [166, 39], "/usr", 2);
raw('pivot_root', [155, 41], "/tmp", "/tmp");
raw('chroot', [161, 51], "/workspace");
raw('open_tree', [428, 428], $AT_FDCWD, "/usr", 1);
raw('move_mount', [429, 429], $AT_FDCWD, "/tmp", $AT_FDCWD, "/tmp", 0);
raw('fsopen', [430, 430], "tmpfs", 0);
raw('fspick', [433, 433], $AT_FDCWD, "/usr", 0);
raw('mount_setattr', [442, 442], $AT_FDCWD, "/usr", 0, $zeros, 32);
raw('new user namespace (unshare)', [272, 97], 0x10000000);
raw('new mount namespace (unshare)', [272, 97], 0x00020000);
raw('new network namespace (unshare)', [272, 97], 0x40000000);
for my $flag (['user', 0x10000000], ['mount', 0x00020000], ['pid', 0x20000000], ['network', 0x40000000]) {
  raw("new $flag->[0] namespace (clone)", [56, 220], $flag->[1] | 17, 0, 0, 0, 0);
}
raw('new user namespace (clone3)', [435, 435], pack('Q8', 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64);
for my $namespace ('user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup') {
  try_call("join the $namespace namespace of pid 1 (setns)", sub {
    open(my $file, '<', "/proc/1/ns/$namespace") or return 0;
    return syscall((308, 268)[$column], fileno($file), 0) >= 0;
  });
}
raw('sethostname', [170, 161], "x", 1);
raw('setdomainname', [171, 162], "x", 1);
raw('mknod a disk', [133, undef], "/tmp/disk", 060600, 0x0800);
raw('mknodat a disk', [259, 33], $AT_FDCWD, "/tmp/disk2", 060600, 0x0800);

# Kernel surface.
raw('open_by_handle_at', [304, 265], $AT_FDCWD, $handle, 0);
raw('name_to_handle_at', [303, 264], $AT_FDCWD, "/usr", $handle, $mount_id, 0);
raw('keyctl: session keyring', [250, 219], 0, -3, 0);
raw('keyctl: keyring of the uid', [250, 219], 0, -4, 0);
raw('add_key', [248, 217], "user", "k", "v", 1, -4);
raw('request_key', [249, 218], "user", "k", $zeros, -4);
raw('bpf', [321, 280], 0, $zeros, 128);
raw('perf_event_open', [298, 241], pack('I I Q', 1, 112, 0) . "\0" x 96, 0, -1, -1, 0);
raw('io_uring_setup', [425, 425], 8, $zeros);
raw('io_uring_enter', [426, 426], -1, 0, 0, 0, 0, 0);
raw('io_uring_register', [427, 427], -1, 0, 0, 0);
raw('userfaultfd', [323, 282], 1);
raw('read the kernel log (syslog)', [103, 116], 3, $zeros, 64);
raw('settimeofday', [164, 170], $zeros, 0);
raw('clock_settime', [227, 112], 0, pack('q q', time, 0));
raw('kexec_load', [246, 104], 0, 0, 0, 0);
raw('kexec_file_load', [320, 294], -1, -1, 0, 0, 0);
raw('init_module', [175, 105], $zeros, 0, "\0");
raw('finit_module', [313, 273], -1, "\0", 0);
raw('delete_module', [176, 106], "no_such_module_fbx", 0x800);
raw('reboot', [169, 142], 1, 2, 3, 0);
raw('swapon', [167, 224], "/tmp/no-such", 0);
raw('acct', [163, 89], "/tmp/no-such");
raw('quotactl', [179, 60], 0x800001 << 8, "/dev/null", 0, $zeros);
raw('fanotify_init', [300, 262], 0, 0);
raw('vhangup', [153, 58]);
raw('iopl', [172, undef], 3);
raw('ioperm', [173, undef], 0, 1, 1);
raw('second system call table (x32)', [0x40000000 + 39, undef]);
raw('type into the terminal (TIOCSTI)', [16, 29], 0, 0x5412, "x");

# Sockets that a network namespace does not hold.
for my $socket (['AF_PACKET', 17, 3], ['AF_VSOCK', 40, 1], ['AF_ALG', 38, 5], ['AF_XDP', 44, 3], ['AF_RDS', 21, 5], ['raw IPv4', 2, 3], ['raw IPv6', 10, 3]) {
  my ($name, $family, $type) = @$socket;
  try_call("socket $name", sub { my $made; socket($made, $family, $type, $name =~ /^raw/ ? 1 : 0) });
}
for my $cid (1, 2) {
  try_call("AF_VSOCK connect to CID $cid", sub {
    socket(my $made, 40, 1, 0) or return 0;
    return connect($made, pack('S S L L x4', 40, 0, 1024, $cid));
  });
}
# Whatever else this kernel offers: every family that is neither unix, IPv4, IPv6 nor netlink.
try_call('sockets of any other family', sub {
  my @made;
  for my $family (0 .. 63) {
    next if grep { $_ == $family } 1, 2, 10, 16;
    for my $type (1, 2, 3, 5) {
      my $socket;
      push @made, $family if socket($socket, $family, $type, 0);
    }
  }
  return 0 unless @made;
  my %once = map { $_ => 1 } @made;
  return join ' ', 'families', sort { $a <=> $b } keys %once;
});
try_call('add a network interface (netlink)', sub {
  socket(my $netlink, 16, 3, 0) or return 0;
  my $kind = pack('S S a*', 4 + 5, 1, "dummy") . "\0" x 3;
  my $body = pack('C x S i I I', 0, 0, 0, 0, 0) . pack('S S', 4 + length $kind, 18) . $kind;
  send($netlink, pack('L S S L L', 16 + length $body, 16, 0x605, 1, 0) . $body, 0) or return 0;
  recv($netlink, my $answer, 4096, 0);
  my $error = unpack('x16 l', $answer);
  $! = -$error;
  return $error == 0;
});
