/** What `git diff-tree --numstat -z` says of one file; null counts = binary. */
export interface FileStat {
  readonly insertions: number | null;
  readonly deletions: number | null;
}

/** Parses `--numstat -z`: `ins TAB del TAB path NUL`, or for a rename `ins TAB del TAB NUL old NUL new NUL`. */
export function parseNumstat(text: string): FileStat[] {
  const stats: FileStat[] = [];
  const fields = text.split('\0');
  for (let at = 0; at < fields.length; at++) {
    const match = /^(\d+|-)\t(\d+|-)\t([\s\S]*)$/.exec(fields[at] ?? '');
    if (match === null) continue;
    stats.push({ insertions: match[1] === '-' ? null : Number(match[1]), deletions: match[2] === '-' ? null : Number(match[2]) });
    if (match[3] === '') at += 2;
  }
  return stats;
}

const sectionStart = 'diff --git ';

/**
 * Cuts a diff that is too long after its last whole file, so that what is left still applies. One character per byte (latin1). A line of
 * content never starts with `diff --git `: it begins with a space, `+`, `-` or a base85 length.
 */
export function cutAtFile(diff: string, bytesMax: number): { text: string; files: number } {
  const text = diff.length <= bytesMax ? diff : diff.slice(0, diff.slice(0, bytesMax).lastIndexOf(`\n${sectionStart}`) + 1);
  let files = text.startsWith(sectionStart) ? 1 : 0;
  for (let at = text.indexOf(`\n${sectionStart}`); at !== -1; at = text.indexOf(`\n${sectionStart}`, at + 1)) files += 1;
  return { text, files };
}
