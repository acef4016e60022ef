/** Options and subcommands. */
export interface Grammar {
  /** Words after the program that name the action: `git push` 1, `gh issue create` 2. */
  readonly subcommands: number;
  /** Program-wide options with a separate value, stepped over when the subcommand is looked for. */
  readonly values?: readonly string[];
  /** Program-wide options without one. */
  readonly flags?: readonly string[];
  /** Options that change nothing about the action, so an allow looks through them. */
  readonly transparent?: readonly string[];
  /** Short spelling → long spelling. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Options have one dash and a long name (`find -delete`): never split into letters. */
  readonly singleDash?: true;
}

const recursiveForce = { '-r': '--recursive', '-R': '--recursive', '-f': '--force' } as const;
export const grammars: Readonly<Record<string, Grammar>> = {
  git: {
    subcommands: 1,
    values: [
      '-C',
      '-c',
      '--git-dir',
      '--work-tree',
      '--namespace',
      '--exec-path',
      '--super-prefix',
      '--config-env',
      '--attr-source',
      '--list-cmds',
    ],
    flags: [
      '-p',
      '--paginate',
      '-P',
      '--no-pager',
      '--bare',
      '--no-replace-objects',
      '--no-lazy-fetch',
      '--no-optional-locks',
      '--no-advice',
      '--literal-pathspecs',
      '--glob-pathspecs',
      '--noglob-pathspecs',
      '--icase-pathspecs',
      '-v',
      '--version',
      '-h',
      '--help',
      '--html-path',
    ],
    transparent: ['--no-pager', '-P', '--no-optional-locks', '--no-advice'],
    aliases: { '-f': '--force' },
  },
  gh: { subcommands: 2, values: ['-R', '--repo', '--hostname'] },
  npm: {
    subcommands: 1,
    values: ['--prefix', '-C', '-w', '--workspace', '--registry', '--userconfig', '--loglevel'],
    flags: ['-s', '--silent', '-q', '--quiet', '--ws', '--workspaces', '-g', '--global', '-d', '--if-present'],
    aliases: { '-g': '--global', '-w': '--workspace' },
  },
  pnpm: {
    subcommands: 1,
    values: ['-C', '--dir', '-F', '--filter'],
    flags: ['-r', '--recursive', '-s', '--silent', '-w', '--workspace-root'],
  },
  yarn: { subcommands: 1, values: ['--cwd'], flags: ['-s', '--silent'] },
  bun: { subcommands: 1, values: ['--cwd'] },
  docker: {
    subcommands: 1,
    values: ['-c', '--context', '-H', '--host', '--config', '-l', '--log-level'],
    flags: ['-D', '--debug', '--tls'],
  },
  podman: { subcommands: 1 },
  kubectl: {
    subcommands: 1,
    values: ['-n', '--namespace', '--context', '--kubeconfig', '--cluster', '--user', '-s', '--server', '--as', '--token', '-v'],
    aliases: { '-n': '--namespace' },
  },
  helm: { subcommands: 1, values: ['-n', '--namespace', '--kube-context', '--kubeconfig'] },
  terraform: { subcommands: 1 },
  aws: { subcommands: 2, values: ['--profile', '--region', '--output', '--endpoint-url'] },
  gcloud: { subcommands: 2, values: ['--project', '--account', '--configuration'] },
  cargo: {
    subcommands: 1,
    values: ['--config', '-Z', '-C', '--color'],
    flags: ['-q', '--quiet', '-v', '--verbose', '--locked', '--offline', '--frozen'],
  },
  go: { subcommands: 1, values: ['-C'], singleDash: true },
  pip: { subcommands: 1 },
  pip3: { subcommands: 1 },
  uv: { subcommands: 1 },
  poetry: { subcommands: 1 },
  brew: { subcommands: 1 },
  apt: { subcommands: 1, values: ['-o', '-c', '-t'], flags: ['-y', '-q', '-qq'] },
  'apt-get': { subcommands: 1, values: ['-o', '-c', '-t'], flags: ['-y', '-q', '-qq'] },
  systemctl: { subcommands: 1, values: ['-H', '-M', '-t', '-p'], flags: ['--user', '--system', '-q'] },
  rm: {
    subcommands: 0,
    flags: [
      '-r',
      '-R',
      '-f',
      '-i',
      '-I',
      '-d',
      '-v',
      '--recursive',
      '--force',
      '--dir',
      '--verbose',
      '--no-preserve-root',
      '--preserve-root',
      '--one-file-system',
    ],
    aliases: { ...recursiveForce, '-d': '--dir', '-v': '--verbose' },
  },
  cp: { subcommands: 0, values: ['-t', '--target-directory', '-S', '--suffix'], aliases: recursiveForce },
  mv: { subcommands: 0, values: ['-t', '--target-directory', '-S', '--suffix'], aliases: { '-f': '--force' } },
  chmod: { subcommands: 0, flags: ['-R', '--recursive', '-v', '-c', '-f'], aliases: { '-R': '--recursive' } },
  chown: { subcommands: 0, flags: ['-R', '--recursive', '-v', '-c', '-f', '-h'], aliases: { '-R': '--recursive' } },
  find: { subcommands: 0, singleDash: true },
  java: { subcommands: 0, singleDash: true },
  gcc: { subcommands: 0, singleDash: true },
  openssl: { subcommands: 1, singleDash: true },
  grep: {
    subcommands: 0,
    values: [
      '-e',
      '-f',
      '-m',
      '-A',
      '-B',
      '-C',
      '--regexp',
      '--file',
      '--max-count',
      '--include',
      '--exclude',
      '--exclude-dir',
      '--context',
      '--label',
      '-d',
      '-D',
    ],
  },
  egrep: { subcommands: 0, values: ['-e', '-f', '-m', '-A', '-B', '-C'] },
  fgrep: { subcommands: 0, values: ['-e', '-f', '-m', '-A', '-B', '-C'] },
  rg: {
    subcommands: 0,
    values: [
      '-e',
      '-f',
      '-m',
      '-A',
      '-B',
      '-C',
      '-g',
      '--glob',
      '-t',
      '--type',
      '-T',
      '--type-not',
      '-r',
      '--replace',
      '-M',
      '-j',
      '--max-depth',
      '-d',
      '--sort',
      '--pre',
      '--pre-glob',
      '--iglob',
      '--regexp',
      '--file',
      '-E',
    ],
  },
  head: { subcommands: 0, values: ['-n', '-c', '--lines', '--bytes'] },
  tail: { subcommands: 0, values: ['-n', '-c', '--lines', '--bytes', '-s', '--pid'] },
  sed: { subcommands: 0, values: ['-e', '--expression', '-f', '--file', '-l'], aliases: { '-i': '--in-place', '-n': '--quiet' } },
  sort: { subcommands: 0, values: ['-k', '-t', '-S', '-T', '-o', '--output', '--key'] },
  cut: { subcommands: 0, values: ['-d', '-f', '-c', '-b'] },
  jq: { subcommands: 0, flags: ['-r', '-c', '-e', '-n', '-s', '-S', '-M', '-C', '-j', '-a', '--tab'] },
  ls: { subcommands: 0, values: ['-I', '--ignore', '-w', '-T'] },
  tree: { subcommands: 0, values: ['-L', '-I', '-P', '-o'] },
  du: { subcommands: 0, values: ['-d', '--max-depth', '--exclude', '-B'] },
  wc: { subcommands: 0 },
  touch: { subcommands: 0, values: ['-d', '-t', '-r', '--date', '--reference'] },
  mkdir: { subcommands: 0, values: ['-m', '--mode'] },
  tee: { subcommands: 0 },
  ln: { subcommands: 0, values: ['-t', '-S'] },
  truncate: { subcommands: 0, values: ['-s', '--size', '-r'] },
  diff: { subcommands: 0, values: ['-U', '-C', '-W', '-x', '-I', '--label'] },
};

/** Other names of the same subcommand: a refusal of one is a refusal of all. */
export const subcommandAliases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  npm: {
    'run-script': 'run',
    rum: 'run',
    urn: 'run',
    t: 'test',
    tst: 'test',
    i: 'install',
    in: 'install',
    add: 'install',
    isntall: 'install',
    x: 'exec',
    un: 'uninstall',
    remove: 'uninstall',
    rm: 'uninstall',
  },
  git: { stage: 'add' },
  cargo: { r: 'run', b: 'build', t: 'test', c: 'check' },
};

/** Spellings without the flag that do the same: `git push origin +main` is a forced push. */
export const impliedFlags: readonly {
  readonly program: string;
  readonly subcommand: string;
  readonly operand: RegExp;
  readonly flag: string;
}[] = [
  { program: 'git', subcommand: 'push', operand: /^\+/, flag: '--force' },
  { program: 'git', subcommand: 'push', operand: /^:./, flag: '--delete' },
];
