import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { EmbeddedFailure } from './embedded-failure';

const NOBODY = 65_534;

/**
 * Postgres refuses to run as root. A user namespace that maps us to `nobody` satisfies it without creating a user and without changing
 * the owner of a file: outside the namespace it is still us, so a folder of mode 0700 stays reachable.
 */
export function asAllowedUser(command: string, args: readonly string[]): { command: string; args: readonly string[] } {
  if (process.getuid?.() !== 0) return { command, args };
  return { command: 'unshare', args: ['-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--', command, ...args] };
}

/** Why Postgres cannot run here as root, with the fix; undefined when it can. */
export function denyPostgresAsRoot(dir: string): string | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const probe = spawnSync('unshare', ['-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--', 'true'], { encoding: 'utf8' });
  if (probe.error)
    return 'Postgres does not run as root and unshare (util-linux) is missing. Fix: install util-linux, or run as an ordinary user';
  if (probe.status !== 0) {
    return `Postgres does not run as root and user namespaces are off (${probe.stderr.trim()}). Fix: run as an ordinary user, or sysctl user.max_user_namespaces=10000`;
  }
  const closed = folderClosedToUs(dir);
  return closed && `Postgres, as root in a user namespace, cannot enter ${closed}. Fix: chmod o+x ${closed}, or run as its owner`;
}

/** Inside the namespace root's right to enter any folder is gone: a folder of another user must be open to others. */
function folderClosedToUs(dir: string): string | undefined {
  for (let at = path.resolve(dir); ; at = path.dirname(at)) {
    const stat = fs.statSync(at, { throwIfNoEntry: false });
    if (stat && stat.uid !== 0 && (stat.mode & 0o001) === 0) return at;
    if (at === path.dirname(at)) return undefined;
  }
}

export function requirePostgresUser(dir: string): void {
  const reason = denyPostgresAsRoot(dir);
  if (reason) throw new EmbeddedFailure(reason);
}
