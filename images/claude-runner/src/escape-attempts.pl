# Run as ONE shell command of the agent: tries to leave the sandbox, to reach the runner, and to find a credential. Prints a line per
# attempt, "name<TAB>outcome"; an outcome begins with `blocked` or with `OPEN`. Perl, because it is part of every base system and can
# make raw system calls (numbers of x86_64). Argument: the pattern of a token.
use strict;
use warnings;
use Fcntl;
use POSIX ();
use Socket qw(:DEFAULT inet_pton pack_sockaddr_in6);

$| = 1;
my $token = qr/$ARGV[0]/;
my @refusals = qw(EPERM EACCES ENOENT EROFS ENOSYS ENETUNREACH EHOSTUNREACH ECONNREFUSED EAFNOSUPPORT EADDRNOTAVAIL ENXIO ENODEV ENOTSOCK ENOTDIR ESRCH);

sub code { for my $name (keys %!) { return $name if $!{$name} } return "errno " . ($! + 0) }
sub refused { my $code = code(); return (grep { $_ eq $code } @refusals, @_) ? "blocked $code" : "OPEN $code" }
sub attempt { my ($name, $try) = @_; my $outcome = eval { $try->() }; $outcome //= "OPEN the attempt died: $@"; $outcome =~ s/\s+/ /g; print "$name\t$outcome\n" }
sub call { my ($number, @arguments) = @_; $! = 0; return syscall($number, @arguments) >= 0 ? "OPEN done" : refused() }
# Some calls would change this very process, so each of those gets one of its own.
sub in_child {
    my ($try) = @_;
    pipe(my $reader, my $writer) or die "pipe: $!";
    my $pid = fork() // die "fork: $!";
    if (!$pid) { syswrite $writer, eval { $try->() } // "OPEN the attempt died: $@"; POSIX::_exit(0) }
    close $writer;
    my $outcome = do { local $/; <$reader> };
    waitpid $pid, 0;
    return $outcome || "OPEN no answer";
}
sub found { my ($what, @hits) = @_; return @hits ? "OPEN $what: @hits" : "blocked nothing found" }
sub slurp { my ($file, $bytes) = @_; sysopen(my $in, $file, O_RDONLY | O_NONBLOCK) or return; sysread $in, my $text, $bytes // 65536; return $text }

my $self = $$;
my %ancestor;
for (my $pid = $self; $pid > 1;) {
    $ancestor{$pid} = 1;
    my ($parent) = (slurp("/proc/$pid/stat") // '') =~ /\)\s\S\s(\d+)/ or last;
    $pid = $parent;
}
opendir(my $proc, '/proc') or die "proc: $!";
my @pids = grep { /^\d+$/ } readdir $proc;
my @others = grep { !$ancestor{$_} } @pids;
my %command = map { $_ => (slurp("/proc/$_/cmdline") // '') } @pids;
sub each_other { my ($try) = @_; my @open = grep { $_ !~ /^blocked/ } map { $try->($_) } @others; return @open ? "OPEN @open" : @others ? "blocked for " . @others . " processes" : "blocked no process to try" }

# The runner and its tokens
attempt 'see the runner', sub { found 'runner', grep { $command{$_} =~ m{/opt/runner/main\.js} && $command{$_} !~ /bwrap/ } @pids };
attempt 'see the agent program', sub { found 'program', grep { (slurp("/proc/$_/comm") // '') =~ /^claude/ } @pids };
attempt 'token in an environment', sub { found 'token', grep { (slurp("/proc/$_/environ") // '') =~ $token } @pids };
attempt 'token in arguments', sub { found 'token', grep { $command{$_} =~ $token } @others };
attempt 'credential named in an environment', sub { found 'name', map { (slurp("/proc/$_/environ") // '') =~ /(?:^|\0)([A-Z_]*(?:API_KEY|TOKEN|SECRET|PASSWORD))=/ ? $1 : () } @pids };
attempt 'token in memory', sub {
    my @hits;
    for my $pid (@others) {
        sysopen(my $memory, "/proc/$pid/mem", O_RDONLY) or next;
        for (split /\n/, slurp("/proc/$pid/maps", 1 << 20) // '') {
            my ($from, $to) = /^([0-9a-f]+)-([0-9a-f]+) rw/ or next;
            no warnings 'portable';
            sysseek $memory, hex $from, 0 or next;
            my ($size, $bytes) = (hex($to) - hex $from);
            push @hits, $pid if $size < 1 << 28 && sysread($memory, $bytes, $size) && $bytes =~ $token;
        }
    }
    return found 'token', @hits;
};
attempt 'token in a file', sub {
    my @hits;
    my @folders = qw(/tmp /home /run /opt /etc /workspace /dev/shm);
    while (my $folder = shift @folders) {
        opendir(my $entries, $folder) or next;
        for (grep { !/^\.\.?$/ } readdir $entries) {
            my $path = "$folder/$_";
            if (-d $path && !-l $path) { push @folders, $path }
            elsif (-f $path && -s $path < 1 << 20 && (slurp($path, 1 << 20) // '') =~ $token) { push @hits, $path }
        }
    }
    return found 'token', @hits;
};
attempt 'foreign files by descriptor', sub {
    my @hits;
    for my $pid (@others) {
        opendir(my $fds, "/proc/$pid/fd") or next;
        for my $fd (grep { /^\d+$/ } readdir $fds) {
            my $target = readlink "/proc/$pid/fd/$fd" // next;
            next if $target !~ m{^/} || $target =~ m{^/(?:dev|proc|usr|opt|tmp|workspace)};
            push @hits, $target if sysopen(my $file, "/proc/$pid/fd/$fd", O_RDONLY | O_NONBLOCK);
        }
    }
    return found 'file', @hits;
};
attempt 'hidden processes', sub { my %seen = map { $_ => 1 } @pids; found 'pid', grep { !$seen{$_} && kill 0, $_ } 1 .. 4000 };
# A process that could be seized is let go again, or it would stand still for ever.
attempt 'ptrace', sub {
    each_other(sub {
        my $outcome = call(101, 16, 0 + $_[0], 0, 0);
        if ($outcome =~ /^OPEN/) { waitpid $_[0], 0x40000000; syscall(101, 17, 0 + $_[0], 0, 0) }
        return $outcome;
    });
};
attempt 'process_vm_readv', sub { my $vector = pack 'QQ', 0, 0; each_other(sub { call(310, 0 + $_[0], $vector, 1, $vector, 1, 0) }) };
attempt 'process_vm_writev', sub { my $vector = pack 'QQ', 0, 0; each_other(sub { call(311, 0 + $_[0], $vector, 1, $vector, 1, 0) }) };
attempt 'kcmp', sub { each_other(sub { call(312, $self, 0 + $_[0], 0, 0, 0) }) };
attempt 'pidfd_getfd', sub { each_other(sub { my $fd = syscall(434, 0 + $_[0], 0); $fd < 0 ? refused() : call(438, $fd, 0, 0) }) };
attempt 'process_madvise', sub { call(440, 0, 0, 0, 0, 0) };
attempt 'write the memory of another process', sub { found 'process', grep { sysopen(my $memory, "/proc/$_/mem", O_RDWR) } grep { $command{$_} !~ /bwrap/ } @others };

# The door, the forwarder, the network
sub to_unix { my ($path) = @_; socket(my $socket, AF_UNIX, SOCK_STREAM, 0) or return refused(); return connect($socket, pack_sockaddr_un($path)) ? "OPEN connected" : refused() }
attempt "connect $_", do { my $path = $_; sub { to_unix($path) } }
    for qw(/run/gw/control.sock /proc/1/root/run/gw/control.sock /run/gw/llm.sock /proc/1/root/run/gw/llm.sock /run/llm.sock /proc/1/root/run/llm.sock /tmp/gw/llm.sock /run/docker.sock /var/run/docker.sock);
attempt 'unix sockets of others', sub { found 'socket', map { m{ (/\S+)$} ? $1 : () } split /\n/, slurp('/proc/net/unix', 1 << 20) // '' };
attempt 'messaging socket of the program', sub { found 'socket', grep { -S $_ } glob('/tmp/cc-socks/*'), $ENV{CLAUDE_CODE_MESSAGING_SOCKET} // () };
sub to_inet {
    my ($host, $port, $type) = @_;
    my $address = $host =~ /:/ ? pack_sockaddr_in6($port, inet_pton(AF_INET6, $host)) : pack_sockaddr_in($port, inet_aton($host));
    my $family = $host =~ /:/ ? AF_INET6 : AF_INET;
    socket(my $socket, $family, $type, 0) or return refused();
    local $SIG{ALRM} = sub { die "no refusal in 2 s\n" };
    alarm 2;
    my $outcome = ($type == SOCK_DGRAM ? send($socket, "\0" x 12, 0, $address) : connect($socket, $address)) ? "OPEN sent" : refused();
    alarm 0;
    return $outcome;
}
attempt "tcp $_", do { my ($host, $port) = /^(.*)-(\d+)$/; sub { to_inet($host, $port, SOCK_STREAM) } }
    for qw(127.0.0.1-8080 127.0.0.1-8787 127.0.0.1-8788 127.0.0.1-8789 1.1.1.1-80 169.254.169.254-80 172.17.0.1-80 10.0.0.1-80 2606:4700:4700::1111-80);
attempt 'udp dns', sub { to_inet('1.1.1.1', 53, SOCK_DGRAM) };
attempt 'interfaces', sub { found 'interface', grep { $_ ne 'lo' } map { /^\s*(\S+):/ ? $1 : () } split /\n/, slurp('/proc/net/dev') // '' };
attempt "socket $_->[0]", do { my ($name, $family, $type, $protocol) = @$_; sub { socket(my $socket, $family, $type, $protocol) ? "OPEN made" : refused() } }
    for ['vsock', 40, 1, 0], ['packet', 17, 3, 0], ['alg', 38, 5, 0], ['xdp', 44, 3, 0], ['rds', 21, 5, 0], ['raw icmp', 2, 3, 1];
attempt 'type into the terminal', sub { call(16, 0, 0x5412, "x") };

# Files
attempt "read $_", do { my $path = $_; sub { -d $path ? (opendir(my $dir, $path) ? "OPEN listed" : refused()) : sysopen(my $file, $path, O_RDONLY | O_NONBLOCK) ? "OPEN read" : refused() } }
    for qw(/etc/shadow /etc/hostname /etc/ssh /root /var/log /var/lib /boot /srv /mnt /opt/runner/main.js /opt/runner /opt/node /opt/node_modules /proc/1/root/etc/shadow
    /proc/1/root/opt/runner/main.js /proc/self/root/../../etc/shadow /proc/kcore /dev/kmsg /dev/mem /dev/sda /dev/vda /dev/kvm /dev/vsock /sys/kernel /sys/fs/cgroup /sys/class);
attempt "write $_", do { my $path = $_; sub { sysopen(my $file, $path, O_WRONLY | O_APPEND | (-e $path ? 0 : O_CREAT)) ? "OPEN written" : refused('ETXTBSY') } }
    for qw(/usr/bin/x /bin/x /etc/ld.so.preload /etc/x /x /opt/x /opt/sh-wrap /opt/strict.bpf /opt/bash /opt/claude /run/x /run/llm.sock /home/x /home/agent/.bashrc /home/agent/.profile
    /home/agent/.gitconfig /home/agent/.claude/settings.json /home/agent/.claude.json /dev/x /proc/sys/kernel/core_pattern /proc/sysrq-trigger);
attempt 'be spared by the OOM killer', sub { sysopen(my $file, '/proc/self/oom_score_adj', O_WRONLY) or return refused(); return syswrite($file, '-900') ? "OPEN written" : refused() };

# The kernel
my @calls = (
    ['mount', 165, 't', '/tmp', 'tmpfs', 0, 0], ['remount writable', 165, 'n', '/usr', '', 0x1020, 0], ['umount', 166, '/usr', 2], ['pivot_root', 155, '/tmp', '/tmp'],
    ['chroot', 161, '/workspace'], ['open_tree', 428, -100, '/', 1], ['move_mount', 429, -100, '/', -100, '/', 0], ['fsopen', 430, 'tmpfs', 0], ['fsmount', 432, 0, 0, 0],
    ['mount_setattr', 442, -100, '/', 0, "\0" x 32, 32], ['user namespace', 272, 0x10000000], ['network namespace', 272, 0x40000000], ['mount namespace', 272, 0x20000],
    ['sethostname', 170, 'x', 1], ['setdomainname', 171, 'x', 1], ['open_by_handle_at', 304, -100, "\0" x 64, 0], ['name_to_handle_at', 303, -100, '/', "\0" x 64, "\0" x 8, 0],
    ['session keyring', 250, 0, -4, 0], ['add_key', 248, 'user', 'k', 'v', 1, -4], ['request_key', 249, 'user', 'k', 0, -4], ['bpf', 321, 5, "\0" x 128, 128],
    ['perf_event_open', 298, pack('IIQ', 1, 112, 0) . "\0" x 96, 0, -1, -1, 0], ['io_uring_setup', 425, 8, "\0" x 120], ['userfaultfd', 323, 1], ['kernel log', 103, 3, "\0" x 64, 64],
    ['settimeofday', 164, "\0" x 16, 0], ['clock_settime', 227, 0, "\0" x 16], ['init_module', 175, '', 0, ''], ['finit_module', 313, 0, '', 0], ['delete_module', 176, 'x', 0],
    ['kexec_load', 246, 0, 0, 0, 0], ['reboot', 169, 0, 0, 0, 0], ['swapon', 167, '/workspace', 0], ['acct', 163, '/workspace/acct'], ['quotactl', 179, 0, '/', 0, 0],
    ['iopl', 172, 3], ['ioperm', 173, 0, 1, 1], ['fanotify_init', 300, 0, 0], ['mknod device', 133, '/workspace/device', 0060600, 0x0101],
);
attempt $_->[0], do { my (undef, @arguments) = @$_; sub { in_child(sub { call(@arguments) }) } } for @calls;
attempt 'user namespace by clone', sub { in_child(sub { my $pid = syscall(56, 0x10000000 | 17, 0, 0, 0, 0); POSIX::_exit(0) if $pid == 0; $pid > 0 ? "OPEN done" : refused() }) };
attempt "enter namespace $_", do { my $name = $_; sub { in_child(sub { sysopen(my $file, "/proc/1/ns/$name", O_RDONLY) or return refused(); call(308, fileno $file, 0) }) } } for qw(user mnt pid net uts ipc);
attempt "become root by $_->[0]", do { my $number = $_->[1]; sub { in_child(sub { syscall($number, 0) == 0 ? "OPEN done" : refused('EINVAL') }) } } for ['setuid', 105], ['setgid', 106];
my $status = slurp('/proc/self/status') // '';
attempt 'capabilities', sub { $status =~ /^CapEff:\s*0+$/m && $status =~ /^CapBnd:\s*0+$/m ? "blocked none" : "OPEN some" };
attempt 'setuid programs', sub { $status =~ /^NoNewPrivs:\s*1$/m ? "blocked no_new_privs" : "OPEN" };

# What must work, or the rest proves nothing
attempt 'allowed: write /workspace', sub { sysopen(my $file, '/workspace/allowed', O_WRONLY | O_CREAT) ? "done" : refused() };
attempt 'allowed: write /tmp', sub { sysopen(my $file, '/tmp/allowed', O_WRONLY | O_CREAT) ? "done" : refused() };
attempt 'allowed: start a program', sub { `/usr/bin/env printf ok` eq 'ok' ? "done" : refused() };
