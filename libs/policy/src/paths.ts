/** Absolute, `.` and `..` resolved, `//` folded, no trailing slash. Symlinks are the runner's to resolve and report. */
export function normalizePath(path: string, base = '/'): string {
  const joined = path.startsWith('/') ? path : `${base}/${path}`;
  const kept: string[] = [];
  for (const segment of joined.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') kept.pop();
    else kept.push(segment);
  }
  return `/${kept.join('/')}`;
}

/** Compares whole segments: `/workspace-old` is not inside `/workspace`. Both must be normalised. */
export const isInside = (path: string, directory: string): boolean =>
  directory === '/' || path === directory || path.startsWith(`${directory}/`);

export const pathCharsMax = 4096;

/** Devices that keep nothing. */
const harmlessDevices = new Set(['/dev/null', '/dev/stdout', '/dev/stderr', '/dev/stdin', '/dev/zero', '/dev/tty']);
export const isHarmlessDevice = (path: string): boolean => harmlessDevices.has(path);

/** A file that a call would touch. */
export interface PathUse {
  /** Normalised and absolute; as written when it cannot be resolved. */
  readonly path: string;
  readonly access: 'read' | 'write';
  /** `glob`: whatever matches; `maybe`: an argument that looks like a path; `unknown`: only the running shell knows. */
  readonly certainty: 'exact' | 'glob' | 'maybe' | 'unknown';
}
