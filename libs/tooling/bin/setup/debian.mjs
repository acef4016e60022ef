// Programs out of Debian packages, unpacked into the clone with an apt state of our own: nothing on the system changes, and it
// works as any user. Only statically linked programs may come from a newer release than the system's.

import fs from 'node:fs';
import path from 'node:path';
import { findOnPath, readText, say, toolsDir } from './layout.mjs';
import { attempt } from './run-command.mjs';

const stateDir = path.join(toolsDir, 'apt');
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

export const osRelease = () =>
  Object.fromEntries([...(readText('/etc/os-release') ?? '').matchAll(/^(\w+)="?([^"\n]*)"?$/gm)].map(([, key, value]) => [key, value]));

/**
 * The mirror this system itself uses, so that whatever route it has to Debian is the route we take.
 * @public a test asks it in a process of its own
 */
export function systemMirror(sourcesDir = '/etc/apt') {
  const parts = path.join(sourcesDir, 'sources.list.d');
  const files = [
    path.join(sourcesDir, 'sources.list'),
    ...(fs.existsSync(parts) ? fs.readdirSync(parts).map((name) => path.join(parts, name)) : []),
  ];
  const text = files.map((file) => readText(file) ?? '').join('\n');
  const uris = [...text.matchAll(/^\s*(?:URIs:|deb(?:\s+\[[^\]]*\])?)\s+(\S+)/gm)].map(([, uri]) => uri.replace(/\/+$/, ''));
  return uris.find((uri) => /\/debian$/.test(uri));
}

const isDebian = () => osRelease().ID === 'debian';

/** What apt is told to read: one suite of the system's own mirror on Debian, the system's sources on its relatives. */
function sourcesOptions(work, suite) {
  if (!isDebian()) return { options: {} };
  const mirror = systemMirror();
  if (!mirror) return { reason: 'no Debian mirror is named in /etc/apt' };
  if (!fs.existsSync(keyring)) return { reason: `${keyring} is missing (package debian-archive-keyring)` };
  const list = path.join(work, 'sources.list');
  fs.writeFileSync(list, `deb [signed-by=${keyring}] ${mirror} ${suite} main\n`);
  return { options: { 'Dir::Etc::sourcelist': list, 'Dir::Etc::sourceparts': '/dev/null' } };
}

function privateState(work) {
  fs.rmSync(work, { recursive: true, force: true });
  for (const dir of ['lists/partial', 'cache/archives/partial', 'deb', 'root']) fs.mkdirSync(path.join(work, dir), { recursive: true });
  fs.writeFileSync(path.join(work, 'status'), '');
  // The system's hooks tidy the system's caches, which a user cannot and this state need not.
  const hooks = ['APT::Update::Pre-Invoke', 'APT::Update::Post-Invoke', 'APT::Update::Post-Invoke-Success'];
  fs.writeFileSync(path.join(work, 'apt.conf'), hooks.map((hook) => `#clear ${hook};\n`).join(''));
  return {
    'Dir::State': work,
    'Dir::State::lists': path.join(work, 'lists'),
    'Dir::State::status': path.join(work, 'status'),
    'Dir::Cache': path.join(work, 'cache'),
    'Acquire::Retries': '2',
    'Acquire::Languages': 'none',
    // As root apt would fetch as a user who cannot enter our folder.
    ...(process.getuid?.() === 0 ? { 'APT::Sandbox::User': 'root' } : {}),
  };
}

/** Unpacks `name` (on Debian: of `suite`) and returns the folder, or `{reason}` why that is impossible here. */
export function unpackDebianPackage(name, suite) {
  if (!findOnPath('apt-get') || !findOnPath('dpkg')) return { reason: 'there is no apt-get here' };
  const work = path.join(stateDir, name);
  const state = privateState(work);
  const sources = sourcesOptions(work, suite);
  if (sources.reason) return sources;
  const options = Object.entries({ ...state, ...sources.options }).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const apt = (...args) =>
    attempt('apt-get', ['-c', path.join(work, 'apt.conf'), ...options, '-q', ...args], { cwd: path.join(work, 'deb') });
  say(isDebian() ? `fetching ${name} from Debian ${suite}` : `fetching the system's package ${name}`);
  // One broken source among the system's must not matter when the package comes from another: the download decides.
  const update = apt('update');
  const download = apt('download', name);
  if (!download.ok) return { reason: `apt-get: ${lastLine(update.ok ? download.output : update.output)}` };
  for (const deb of fs.readdirSync(path.join(work, 'deb'))) {
    const unpacked = attempt('dpkg', ['-x', path.join(work, 'deb', deb), path.join(work, 'root')]);
    if (!unpacked.ok) return { reason: `dpkg -x ${deb}: ${lastLine(unpacked.output)}` };
  }
  return { folder: path.join(work, 'root'), done: () => fs.rmSync(work, { recursive: true, force: true }) };
}

const lastLine = (text) => text.split('\n').at(-1);
