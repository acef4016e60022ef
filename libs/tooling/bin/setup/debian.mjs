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

/** The mirror this system itself uses, so that whatever route it has to Debian is the route we take. */
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

const isDebian = () => osRelease().ID === 'debian' && Boolean(findOnPath('apt-get')) && Boolean(findOnPath('dpkg'));

/** Unpacks `name` of `suite` and returns the folder, or `{reason}` why that is impossible here. */
export function unpackDebianPackage(name, suite) {
  if (!isDebian()) return { reason: 'this is not Debian' };
  const mirror = systemMirror();
  if (!mirror) return { reason: 'no Debian mirror is named in /etc/apt' };
  if (!fs.existsSync(keyring)) return { reason: `${keyring} is missing (package debian-archive-keyring)` };
  const work = path.join(stateDir, `${name}-${suite}`);
  fs.rmSync(work, { recursive: true, force: true });
  for (const dir of ['lists/partial', 'cache/archives/partial', 'deb', 'root']) fs.mkdirSync(path.join(work, dir), { recursive: true });
  fs.writeFileSync(path.join(work, 'status'), '');
  fs.writeFileSync(path.join(work, 'sources.list'), `deb [signed-by=${keyring}] ${mirror} ${suite} main\n`);
  // The system's hooks tidy the system's caches, which a user cannot and this state need not.
  fs.writeFileSync(
    path.join(work, 'apt.conf'),
    '#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n',
  );
  const options = [
    ['Dir::Etc::sourcelist', path.join(work, 'sources.list')],
    ['Dir::Etc::sourceparts', '/dev/null'],
    ['Dir::State', work],
    ['Dir::State::lists', path.join(work, 'lists')],
    ['Dir::State::status', path.join(work, 'status')],
    ['Dir::Cache', path.join(work, 'cache')],
    ['APT::Sandbox::User', process.getuid?.() === 0 ? 'root' : ''],
    ['Acquire::Retries', '2'],
    ['Acquire::Languages', 'none'],
  ].flatMap(([key, value]) => (value === '' ? [] : ['-o', `${key}=${value}`]));
  const apt = (...args) =>
    attempt('apt-get', ['-c', path.join(work, 'apt.conf'), ...options, '-q', ...args], { cwd: path.join(work, 'deb') });
  say(`fetching ${name} from Debian ${suite}`);
  for (const args of [['update'], ['download', name]]) {
    const result = apt(...args);
    if (!result.ok) return { reason: `apt-get ${args.join(' ')} (${suite}): ${result.output.split('\n').slice(-3).join(' / ')}` };
  }
  for (const deb of fs.readdirSync(path.join(work, 'deb'))) {
    const result = attempt('dpkg', ['-x', path.join(work, 'deb', deb), path.join(work, 'root')]);
    if (!result.ok) return { reason: `dpkg -x ${deb}: ${result.output}` };
  }
  return { folder: path.join(work, 'root'), done: () => fs.rmSync(work, { recursive: true, force: true }) };
}
