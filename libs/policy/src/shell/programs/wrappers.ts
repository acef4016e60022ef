/** A program that runs the words behind its own options. */
export interface Wrapper {
  /** Options that take their value as the next word. */
  readonly values?: readonly string[];
  /** Options without a value. Any option in neither list makes the place of the inner command uncertain. */
  readonly flags?: readonly string[];
  /** Operands of its own before the command (`timeout 5 cmd`). */
  readonly operands?: number;
  /** `NAME=value` words may precede the command. */
  readonly assignments?: true;
  /** The inner command is exactly what runs, so an allow of the inner one is enough. */
  readonly transparent?: true;
  /** Options whose value is shell text. */
  readonly scripts?: readonly string[];
  /** The words behind its options are joined and given to a shell. */
  readonly joins?: true;
  /** The inner command gets more words than are written. */
  readonly appends?: true;
  /** The option that moves the working directory. */
  readonly chdir?: readonly string[];
}

export const wrappers: Readonly<Record<string, Wrapper>> = {
  timeout: {
    values: ['-k', '--kill-after', '-s', '--signal'],
    flags: ['--preserve-status', '--foreground', '-v', '--verbose', '-f', '-p'],
    operands: 1,
    transparent: true,
  },
  nice: { values: ['-n', '--adjustment'], transparent: true },
  ionice: { values: ['-c', '--class', '-n', '--classdata'], flags: ['-t', '--ignore'], transparent: true },
  stdbuf: { values: ['-i', '--input', '-o', '--output', '-e', '--error'], transparent: true },
  time: { values: ['-f', '--format'], flags: ['-p', '--portability', '-v', '--verbose', '-q', '--quiet'], transparent: true },
  command: { flags: ['-p'], transparent: true },
  builtin: { transparent: true },
  nohup: {},
  setsid: { flags: ['-c', '--ctty', '-f', '--fork', '-w', '--wait'] },
  exec: { values: ['-a'], flags: ['-c', '-l'] },
  env: {
    values: ['-u', '--unset', '-C', '--chdir'],
    flags: ['-i', '--ignore-environment', '-0', '--null', '-v', '--debug', '-'],
    scripts: ['-S', '--split-string'],
    assignments: true,
    chdir: ['-C', '--chdir'],
  },
  sudo: {
    values: [
      '-u',
      '--user',
      '-g',
      '--group',
      '-h',
      '--host',
      '-p',
      '--prompt',
      '-C',
      '--close-from',
      '-D',
      '--chdir',
      '-R',
      '--chroot',
      '-r',
      '--role',
      '-t',
      '--type',
      '-T',
      '--command-timeout',
      '-U',
      '--other-user',
    ],
    flags: [
      '-n',
      '--non-interactive',
      '-E',
      '--preserve-env',
      '-H',
      '--set-home',
      '-i',
      '--login',
      '-k',
      '-K',
      '-S',
      '--stdin',
      '-s',
      '--shell',
      '-A',
      '-b',
      '-P',
    ],
    assignments: true,
  },
  doas: { values: ['-u', '-C'], flags: ['-n', '-s', '-L'] },
  su: {
    values: ['-s', '--shell', '-g', '--group', '-G', '--supp-group'],
    flags: ['-', '-l', '--login', '-m', '-p'],
    scripts: ['-c', '--command'],
    operands: 1,
  },
  runuser: {
    values: ['-u', '--user', '-g', '--group', '-s', '--shell'],
    flags: ['-l', '--login', '-m', '-p'],
    scripts: ['-c', '--command'],
  },
  chroot: { values: ['--userspec', '--groups'], flags: ['--skip-chdir'], operands: 1 },
  xargs: {
    values: [
      '-a',
      '--arg-file',
      '-d',
      '--delimiter',
      '-E',
      '-I',
      '-L',
      '--max-lines',
      '-n',
      '--max-args',
      '-P',
      '--max-procs',
      '-s',
      '--max-chars',
    ],
    flags: [
      '-0',
      '--null',
      '-o',
      '--open-tty',
      '-p',
      '--interactive',
      '-r',
      '--no-run-if-empty',
      '-t',
      '--verbose',
      '-x',
      '--exit',
      '-i',
      '--replace',
    ],
    appends: true,
  },
  parallel: {
    values: ['-j', '--jobs', '-a', '--arg-file', '-N', '-n', '-I', '-S', '--sshlogin', '--delay', '--timeout', '--workdir', '--wd'],
    flags: ['-k', '--keep-order', '-0', '--null', '-t', '--verbose', '-X', '-m', '--bar', '--will-cite'],
    appends: true,
    joins: true,
  },
  watch: {
    values: ['-n', '--interval', '-q', '--equexit'],
    flags: [
      '-d',
      '--differences',
      '-t',
      '--no-title',
      '-b',
      '--beep',
      '-e',
      '--errexit',
      '-g',
      '--chgexit',
      '-c',
      '--color',
      '-x',
      '--exec',
      '-p',
      '--precise',
      '-w',
    ],
    joins: true,
  },
  strace: {
    values: ['-e', '-o', '-p', '-s', '-u', '-E', '-a', '-b', '-O', '-S', '-P'],
    flags: ['-f', '-ff', '-t', '-tt', '-ttt', '-T', '-v', '-x', '-xx', '-y', '-c', '-C', '-q', '-qq', '-r', '-i', '-k'],
  },
  ltrace: { values: ['-e', '-o', '-p', '-s', '-u', '-a', '-n', '-l'], flags: ['-f', '-t', '-T', '-c', '-C', '-S'] },
  unshare: {
    values: ['-R', '--root', '-w', '--wd', '-S', '--setuid', '-G', '--setgid'],
    flags: [
      '-m',
      '-u',
      '-i',
      '-n',
      '-p',
      '-U',
      '-C',
      '-T',
      '-r',
      '-c',
      '-f',
      '--fork',
      '--map-root-user',
      '--mount',
      '--net',
      '--pid',
      '--user',
    ],
  },
  nsenter: { values: ['-t', '--target', '-S', '-G'], flags: ['-a', '--all', '-m', '-u', '-i', '-n', '-p', '-U', '-C', '-T', '-F'] },
  setpriv: {
    values: ['--reuid', '--regid', '--groups', '--inh-caps', '--ambient-caps', '--bounding-set'],
    flags: ['--no-new-privs', '--clear-groups', '--keep-groups', '--init-groups', '--reset-env'],
  },
  prlimit: { values: ['-p', '--pid', '-o', '--output'], flags: ['--noheadings', '--raw', '--verbose'] },
  taskset: { flags: ['-a', '--all-tasks', '-c', '--cpu-list'], operands: 1 },
  chrt: { values: ['-T', '-P', '-D'], flags: ['-b', '-f', '-i', '-o', '-r', '-d', '-R', '-v'], operands: 1 },
  flock: {
    values: ['-w', '--wait', '--timeout', '-E', '--conflict-exit-code'],
    flags: [
      '-s',
      '--shared',
      '-x',
      '-e',
      '--exclusive',
      '-n',
      '--nb',
      '--nonblock',
      '-u',
      '--unlock',
      '-o',
      '--close',
      '-F',
      '--no-fork',
      '-v',
      '--verbose',
    ],
    scripts: ['-c', '--command'],
    operands: 1,
  },
  script: {
    values: ['-E', '-I', '-O', '-B', '-T', '-m', '-o'],
    flags: ['-a', '-e', '-f', '-q'],
    scripts: ['-c', '--command'],
    operands: 1,
  },
  busybox: {},
  toybox: {},
  fakeroot: { values: ['-l', '-s', '-i', '-b'], flags: ['-u'] },
  proot: { values: ['-r', '-b', '-w', '-R', '-S'], flags: ['-0'] },
  bwrap: {},
  firejail: {},
  'dbus-run-session': {},
  'xvfb-run': { values: ['-n', '-s', '-e', '-f', '-p', '-w'], flags: ['-a'] },
  unbuffer: { flags: ['-p'] },
  'systemd-run': {
    values: ['-p', '--property', '-u', '--unit', '-M', '-H', '-E', '--uid', '--gid', '--working-directory'],
    flags: ['--user', '--scope', '-t', '-q', '-G', '--pty', '--wait', '--collect'],
  },
  entr: { flags: ['-a', '-c', '-d', '-n', '-p', '-r', '-s', '-z'] },
  npx: { values: ['-p', '--package'], flags: ['-y', '--yes', '-n', '--no', '-q', '--quiet', '--no-install'], scripts: ['-c', '--call'] },
  bunx: {},
  corepack: {},
};

/** The same behind a subcommand. */
export const subcommandWrappers: Readonly<Record<string, Wrapper>> = {
  'npm exec': { values: ['-p', '--package', '-w', '--workspace'], flags: ['-y', '--yes', '--'], scripts: ['-c', '--call'] },
  'npm x': { values: ['-p', '--package'], flags: ['-y', '--yes', '--'], scripts: ['-c', '--call'] },
  'pnpm exec': { flags: ['-r', '-c'] },
  'pnpm dlx': { values: ['--package'] },
  'yarn exec': {},
  'yarn dlx': { values: ['-p', '--package'], flags: ['-q'] },
  'uv run': {
    values: ['--with', '-p', '--python', '--project', '--directory'],
    flags: ['-q', '--isolated', '--no-project', '--frozen', '--locked'],
  },
  'poetry run': {},
  'pipenv run': {},
  'bundle exec': {},
  'docker exec': {
    values: ['-e', '--env', '-u', '--user', '-w', '--workdir', '--env-file'],
    flags: ['-i', '-t', '-d', '--interactive', '--tty', '--detach', '--privileged'],
    operands: 1,
  },
  'podman exec': { values: ['-e', '--env', '-u', '--user', '-w', '--workdir'], flags: ['-i', '-t', '-d'], operands: 1 },
  'git bisect run': {},
  'git submodule foreach': { flags: ['--recursive', '-q', '--quiet'], joins: true },
};

export const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash', 'mksh', 'rbash']);
export const shellValueOptions: readonly string[] = ['-o', '+o', '-O', '+O', '--rcfile', '--init-file'];

/** Options of `find` that run the words up to `;` or `+`. */
export const findRuns: ReadonlySet<string> = new Set(['-exec', '-execdir', '-ok', '-okdir']);
