interface Hazard {
  readonly program: string;
  readonly subcommands?: readonly string[];
  readonly flags: readonly string[];
}

/** Flags that make a harmless program run another one or write a file. Without `subcommands` they hold anywhere. */
export const hazards: readonly Hazard[] = [
  { program: 'git', flags: ['-c', '--config-env', '--exec-path'] },
  {
    program: 'git',
    subcommands: ['diff', 'log', 'show', 'format-patch', 'stash', 'whatchanged', 'diff-tree', 'diff-index', 'diff-files'],
    flags: ['--output', '--ext-diff', '--textconv'],
  },
  { program: 'git', subcommands: ['grep'], flags: ['-O', '--open-files-in-pager'] },
  { program: 'git', subcommands: ['archive'], flags: ['-o', '--output', '--exec', '--remote'] },
  {
    program: 'git',
    subcommands: ['fetch', 'pull', 'push', 'clone', 'ls-remote'],
    flags: ['-u', '--upload-pack', '--receive-pack', '--exec'],
  },
  { program: 'git', subcommands: ['rebase'], flags: ['-x', '--exec'] },
  { program: 'git', subcommands: ['difftool', 'mergetool'], flags: ['-x', '--extcmd'] },
  { program: 'rg', flags: ['--pre', '--hostname-bin'] },
  { program: 'fd', flags: ['-x', '--exec', '-X', '--exec-batch'] },
  { program: 'find', flags: ['-delete', '-fprint', '-fprint0', '-fprintf', '-fls'] },
  {
    program: 'tar',
    flags: [
      '--to-command',
      '-I',
      '--use-compress-program',
      '--checkpoint-action',
      '--rsh-command',
      '-F',
      '--info-script',
      '--new-volume-script',
    ],
  },
  { program: 'sort', flags: ['-o', '--output', '--compress-program'] },
  { program: 'rsync', flags: ['-e', '--rsh', '--rsync-path'] },
  { program: 'man', flags: ['-P', '--pager', '-H', '--html'] },
  { program: 'tree', flags: ['-o'] },
  { program: 'sed', flags: ['-i', '--in-place'] },
  { program: 'less', flags: ['-o', '-O', '--log-file', '-k', '--lesskey-file'] },
  { program: 'file', flags: ['-C', '--compile'] },
  { program: 'date', flags: ['-s', '--set'] },
  { program: 'zip', flags: ['-T', '-TT', '--unzip-command'] },
  { program: 'npm', flags: ['--script-shell', '--node-options'] },
  { program: 'go', flags: ['-exec', '-toolexec', '-vettool'] },
];

export const hazardsByProgram: ReadonlyMap<string, readonly Hazard[]> = new Map(
  hazards.map(({ program }) => [program, hazards.filter((row) => row.program === program)]),
);
