/**
 * A path below a tree's root, one character per byte (latin1): file names are bytes, and a name that is no UTF-8 must not hide a file
 * from the evidence.
 */
export type BytePath = string;

/** What git can record of a file; owner, time and other mode bits are no content. */
type FileMode = '100644' | '100755' | '120000';

export interface ManifestEntry {
  readonly path: BytePath;
  readonly mode: FileMode;
  readonly sha256: string;
  readonly size: number;
}

/** The manifest as text, one line per file in path order: its SHA-256 names the tree. */
export function manifestText(entries: readonly ManifestEntry[]): string {
  const sorted = [...entries].sort((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0));
  return sorted.map(({ path, mode, sha256, size }) => `${mode} ${sha256} ${size} ${JSON.stringify(path)}\n`).join('');
}

export interface TreeLimits {
  readonly filesMax: number;
  readonly bytesMax: number;
  /** One file: what is read into memory at once. */
  readonly fileBytesMax: number;
}

/** Why an entry path may not be written, or null. `.git` in any spelling would be configuration that a later git obeys. */
export function refusePath(path: BytePath): string | null {
  if (path === '' || path.length > 4000) return 'is empty or too long';
  if (path.startsWith('/')) return 'is absolute';
  if (path.includes('\0')) return 'holds a NUL';
  for (const part of path.split('/')) {
    if (part === '' || part === '.' || part === '..') return 'has an empty, . or .. part';
    if (part.length > 255) return 'has a part that is too long';
    if (isGitFolder(part)) return 'names a .git folder';
  }
  return null;
}

export const isGitFolder = (part: string): boolean => part.toLowerCase() === '.git';

/** What stands at a path, as the symlink check needs it. */
export type LookUp = (path: BytePath) => 'file' | 'dir' | 'missing' | { readonly target: BytePath };

const linkHopsMax = 40;

/**
 * Whether following the link at `path` stays inside the tree, links on the way included. Checked against what really stands there:
 * a target that looks harmless as text can leave through another link.
 */
export function linkStaysInside(path: BytePath, lookUp: LookUp): boolean {
  const at: string[] = [];
  const todo = path.split('/');
  for (let hops = 0; todo.length > 0; ) {
    const part = todo.shift() ?? '';
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (at.length === 0) return false;
      at.pop();
      continue;
    }
    const found = lookUp([...at, part].join('/'));
    if (typeof found === 'object') {
      hops += 1;
      if (hops > linkHopsMax || found.target.startsWith('/')) return false;
      todo.unshift(...found.target.split('/'));
      continue;
    }
    at.push(part);
  }
  return true;
}
