import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { EmbeddedFailure } from './embedded-failure';

const NOBODY = 65_534;

/** Postgres refuses to run as root, and as a user that has no name (`docker run --user 1234`). */
function needsAnotherName(): boolean {
  if (process.getuid?.() === 0) return true;
  try {
    os.userInfo();
    return false;
  } catch {
    return true;
  }
}

/**
 * A user namespace that maps us to `nobody` satisfies Postgres without creating a user and without changing the owner of a file:
 * outside the namespace it is still us, so a folder of mode 0700 stays reachable.
 */
export function asAllowedUser(command: string, args: readonly string[]): { command: string; args: readonly string[] } {
  if (!needsAnotherName()) return { command, args };
  return { command: 'unshare', args: ['-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--', command, ...args] };
}

/** Why Postgres cannot run here as this user, with the fix; undefined when it can. */
export function denyPostgresUser(dir: string): string | undefined {
  if (!needsAnotherName()) return undefined;
  const probe = spawnSync('unshare', ['-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--', 'true'], { encoding: 'utf8' });
  if (probe.error)
    return 'Postgres does not run as root or as a user without a name, and unshare (util-linux) is missing. Fix: install util-linux, or run as an ordinary user';
  if (probe.status !== 0) {
    return `Postgres does not run as root or as a user without a name, and user namespaces are off (${probe.stderr.trim()}). Fix: run as an ordinary user, or sysctl user.max_user_namespaces=10000`;
  }
  const closed = folderClosedToUs(dir);
  return closed && `Postgres, in a user namespace, cannot enter ${closed}. Fix: chmod o+x ${closed}, or run as its owner`;
}

/** Inside the namespace even root has no right to enter any folder: one of another user must be open to others. */
function folderClosedToUs(dir: string): string | undefined {
  for (let at = path.resolve(dir); ; at = path.dirname(at)) {
    const stat = fs.statSync(at, { throwIfNoEntry: false });
    if (stat && stat.uid !== process.getuid?.() && (stat.mode & 0o001) === 0) return at;
    if (at === path.dirname(at)) return undefined;
  }
}

export function requirePostgresUser(dir: string): void {
  const reason = denyPostgresUser(dir);
  if (reason) throw new EmbeddedFailure(reason);
}
