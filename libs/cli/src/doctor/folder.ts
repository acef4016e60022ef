import fs from 'node:fs';
import path from 'node:path';
import { bindablePort, denyPostgresUser, folderHolder, homeLayout, liveStack, looseSecrets, readUpFile } from '@fluidbox/embedded';
import { type Finding, missing, ok, warn } from './finding';

const GIB = 1024 ** 3;
const DISK_BYTES_MIN = 1 * GIB;
const DISK_BYTES_GOOD = 5 * GIB;
const wellKnownPorts = [8787, 8788, 8789];

function existingAncestor(dir: string): string {
  let at = path.resolve(dir);
  while (!fs.existsSync(at)) at = path.dirname(at);
  return at;
}

export function checkDisk(home: string): Finding {
  const { bavail, bsize } = fs.statfsSync(existingAncestor(home));
  const free = bavail * bsize;
  const found = `${(free / GIB).toFixed(1)} GiB free for ${home}`;
  if (free < DISK_BYTES_MIN) return missing('disk', found, 'free at least 1 GiB, or set FLUIDBOX_HOME to a larger disk');
  return free < DISK_BYTES_GOOD ? warn('disk', found, 'free 5 GiB: runs keep workspaces and artifacts') : ok('disk', found);
}

export function checkFolder(home: string): Finding {
  const ancestor = existingAncestor(home);
  try {
    fs.accessSync(ancestor, fs.constants.W_OK);
  } catch {
    return missing('folder', `${ancestor} is not ours to write`, `chown it, or set FLUIDBOX_HOME to a folder of yours`);
  }
  const reason = denyPostgresUser(home);
  if (reason === undefined) return ok('folder', home);
  const [found = reason, fix = ''] = reason.split(' Fix: ');
  return missing('folder', found, fix);
}

export async function checkStack(home: string): Promise<Finding> {
  const layout = homeLayout(home);
  const holder = folderHolder(layout);
  const held = holder && `process ${holder.pid} holds the folder since ${holder.since}`;
  const live = await liveStack(layout.upFile);
  if (live) return ok('stack', `${held ?? `process ${live.pid}`}; it answers at ${live.public_url}`);
  if (held === undefined) return ok('stack', 'not running');
  const found = readUpFile(layout.upFile) ? `${held} but does not answer` : `${held} and is starting or stopping`;
  return warn('stack', found, `look into ${layout.logs}, or end it with: kill ${holder?.pid}`);
}

export async function checkPorts(home: string): Promise<Finding> {
  const up = readUpFile(homeLayout(home).upFile);
  const ours = up ? [up.public_url, up.control_url, up.llm_url].map((url) => Number(new URL(url).port)) : [];
  const taken: number[] = [];
  for (const port of wellKnownPorts) if (!ours.includes(port) && (await bindablePort(port)) === undefined) taken.push(port);
  if (taken.length === 0) return ok('ports', `${wellKnownPorts.join(', ')} are free or ours`);
  return warn(
    'ports',
    `${taken.join(', ')} taken; up takes free ones instead`,
    'set FLUIDBOX_PUBLIC_PORT, FLUIDBOX_CONTROL_PORT, FLUIDBOX_LLM_PORT to fixed ones',
  );
}

export function checkSecrets(home: string): Finding {
  const { secrets } = homeLayout(home);
  if (!fs.existsSync(secrets)) return ok('secrets', 'none yet; up makes them');
  const loose = looseSecrets(secrets);
  if (loose.length === 0) return ok('secrets', `${secrets}, readable by their owner only`);
  return missing('secrets', `others can read ${loose.join(', ')}`, `chmod 600 ${path.join(secrets, '*')}`);
}
