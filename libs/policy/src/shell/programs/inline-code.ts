/** Code given inline, which no shell rule can look into: the options, or the subcommand, that it stands behind. */
export const inlineCode: Readonly<Record<string, readonly string[]>> = {
  python: ['-c'],
  python3: ['-c'],
  python2: ['-c'],
  node: ['-e', '--eval', '-p', '--print'],
  deno: ['eval'],
  bun: ['-e', '--eval'],
  perl: ['-e', '-E'],
  ruby: ['-e'],
  php: ['-r'],
  lua: ['-e'],
  Rscript: ['-e'],
  osascript: ['-e'],
};
