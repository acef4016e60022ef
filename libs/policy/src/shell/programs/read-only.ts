/** What the read-only tier runs. A list names the only subcommands; `plain` ones take no operand (`git branch new` creates one). */
export const readOnlyPrograms: Readonly<Record<string, true | { readonly [subcommand: string]: 'any' | 'plain' }>> = {
  ls: true,
  cat: true,
  head: true,
  tail: true,
  wc: true,
  grep: true,
  rg: true,
  pwd: true,
  echo: true,
  true: true,
  cd: true,
  git: { status: 'any', log: 'any', diff: 'any', show: 'any', blame: 'any', branch: 'plain' },
};
export const readOnlyBranchFlags: ReadonlySet<string> = new Set([
  '-a',
  '--all',
  '-r',
  '--remotes',
  '-v',
  '-vv',
  '--verbose',
  '--list',
  '-l',
  '--show-current',
]);
