import fs from 'node:fs';
import path from 'node:path';
import { attempt, blocked, broken, codeOf, disclosed, through, works } from './outcome.mjs';

const group = 'files';
const notMounted = 'host files are not mounted';
const fileBytesMax = 64 * 1024 * 1024;

const hostFiles = [
  '/etc/shadow',
  '/etc/passwd',
  '/etc/ssh',
  '/etc/resolv.conf',
  '/root',
  '/var',
  '/var/log',
  '/boot',
  '/srv',
  '/mnt',
  '/media',
  '/opt/runner/main.js',
  '/opt/node_modules',
  '/run/gw',
  '/proc/1/root/etc/shadow',
  '/proc/1/root/opt/runner/main.js',
  '/proc/self/root/../../etc/shadow',
  '/proc/1/cwd/../../etc/shadow',
  '/proc/kcore',
  '/proc/kmsg',
  '/dev/kmsg',
  '/dev/mem',
  '/dev/vsock',
  '/dev/sda',
  '/dev/vda',
  '/dev/fuse',
  '/dev/net/tun',
  '/dev/kvm',
  '/sys/kernel',
  '/sys/fs/cgroup',
  '/sys/class/net',
];

/** Opens without reading on: some of these would block. */
function read(file) {
  if (fs.statSync(file).isDirectory()) return through(`listed ${fs.readdirSync(file).length} entries`);
  const descriptor = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  try {
    fs.readSync(descriptor, Buffer.alloc(1), 0, 1, null);
    return through('opened');
  } catch (error) {
    return through(`opened, reading said ${codeOf(error)}`);
  } finally {
    fs.closeSync(descriptor);
  }
}

const write = (file) => () => {
  const existed = fs.existsSync(file);
  fs.closeSync(
    fs.openSync(file, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK | (existed ? fs.constants.O_APPEND : fs.constants.O_CREAT)),
  );
  if (!existed) fs.unlinkSync(file);
  return through('written');
};

const home = process.env.HOME ?? '/home/agent';
const readOnlyRoot = 'read-only root';
const readOnlyHome = 'HOME is read-only for commands';
const written = [
  ['/x', readOnlyRoot],
  ['/etc/x', readOnlyRoot],
  ['/etc/ld.so.preload', readOnlyRoot],
  ['/usr/bin/x', readOnlyRoot],
  ['/usr/bin/bash', readOnlyRoot],
  ['/opt/x', readOnlyRoot],
  ['/opt/claude', readOnlyRoot],
  ['/opt/sh-wrap', readOnlyRoot],
  ['/opt/bash', readOnlyRoot],
  ['/opt/strict.bpf', readOnlyRoot],
  ['/run/x', readOnlyRoot],
  ['/home/x', readOnlyHome],
  [`${home}/.bashrc`, readOnlyHome],
  [`${home}/.profile`, readOnlyHome],
  [`${home}/.claude/settings.json`, readOnlyHome],
  [`${home}/.claude/x`, readOnlyHome],
  ['/dev/x', '/dev is read-only'],
  ['/proc/sys/kernel/core_pattern', 'no capabilities'],
  ['/proc/sys/kernel/hostname', 'no capabilities'],
  ['/proc/sysrq-trigger', 'no capabilities'],
  ['/sys/kernel/uevent_helper', 'not mounted'],
  ['/sys/fs/cgroup/cgroup.procs', 'not mounted'],
];

/** The function that every later command sources: an approved command that could change it would change what the next one means. */
function poisonSnapshot() {
  const folder = path.join(home, '.claude/shell-snapshots');
  const files = fs.readdirSync(folder);
  for (const name of files) fs.appendFileSync(path.join(folder, name), '');
  if (files.length > 0) return through(files.join(' '));
  fs.writeFileSync(path.join(folder, 'x'), '');
  return through('a file could be added');
}

function* filesUnder(dir, except) {
  let entries = [];
  try {
    entries = fs.readdirSync(dir, { withFileTypes: true });
  } catch {
    // Not permitted: nothing in it can be read either.
    return;
  }
  for (const entry of entries) {
    const file = path.join(dir, entry.name);
    if (file === except) continue;
    if (entry.isDirectory()) yield* filesUnder(file, except);
    else if (entry.isFile()) yield file;
  }
}

function secretsIn(search, dirs, except) {
  const hits = [];
  let looked = 0;
  for (const dir of dirs) {
    for (const file of filesUnder(dir, except)) {
      try {
        if (fs.statSync(file).size > fileBytesMax) continue;
        looked++;
        const found = search(fs.readFileSync(file));
        if (found.length > 0) hits.push(`${file}: ${found.join(', ')}`);
      } catch {
        // Not permitted, or gone.
      }
    }
  }
  return hits.length > 0 ? through(hits.join('; ')) : blocked(`none in ${looked} files`);
}

const expectedAtTop = new Set('usr bin sbin lib lib32 lib64 libx32 proc dev tmp home etc run opt workspace'.split(' '));
const expectedDevices = new Set('core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero console'.split(' '));

const unexpected = (dir, expected) => () => {
  const found = fs.readdirSync(dir).filter((name) => !expected.has(name));
  return found.length > 0 ? through(found.join(' ')) : blocked('only what belongs there');
};

function plantedLink() {
  const link = path.join('/tmp', `link-${process.pid}`);
  fs.symlinkSync('/etc/shadow', link);
  try {
    return read(link);
  } finally {
    fs.unlinkSync(link);
  }
}

/** A bind mount tells every process where it comes from: names only, what they name is not there. */
const namesHost = (file, hostPaths) => () => {
  const text = fs.readFileSync(file, 'utf8');
  const found = hostPaths.filter(({ path: host }) => text.includes(host)).map(({ path: host }) => host);
  return found.length > 0 ? disclosed(found.join(' ')) : blocked('names none of the host’s folders');
};

function namesHostGroups() {
  const groups = fs
    .readFileSync('/proc/self/cgroup', 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(':').slice(1).join(':'));
  const found = groups.filter((line) => !/^[^:]*:\/$/.test(line));
  return found.length > 0 ? through(found.join(' ')) : blocked('its own root only');
}

const mustWrite = (file) => () => {
  try {
    fs.writeFileSync(file, 'x');
    fs.unlinkSync(file);
    return works('written and removed');
  } catch (error) {
    return broken(codeOf(error));
  }
};

export const fileAttempts = ({ hostPaths, ownFolder }, search) => [
  ...hostFiles.map((file) => attempt(group, `read ${file}`, notMounted, () => read(file))),
  ...hostPaths.map(({ name, path: file }) => attempt(group, `read ${name}`, notMounted, () => read(file))),
  attempt(
    group,
    'names of host folders in the mount table',
    'not closed: a bind mount shows the name of its source',
    namesHost('/proc/self/mountinfo', hostPaths),
  ),
  attempt(group, 'groups of the host in /proc/self/cgroup', 'cgroup namespace', namesHostGroups),
  attempt(group, 'folders of the host at /', notMounted, unexpected('/', expectedAtTop)),
  attempt(group, 'homes other than its own', notMounted, unexpected('/home', new Set([path.basename(home)]))),
  attempt(group, 'devices of the host', 'a /dev of its own', unexpected('/dev', expectedDevices)),
  attempt(group, 'read /etc/shadow through a link of its own', notMounted, plantedLink),
  attempt(group, 'a secret in a file of HOME, /run, /etc or /opt', 'tokens are never written', () =>
    secretsIn(search, ['/home', '/run', '/etc', '/opt']),
  ),
  attempt(group, 'a secret in a file of /tmp or /dev/shm', 'a /tmp of its own', () => secretsIn(search, ['/tmp', '/dev/shm'])),
  attempt(group, 'a secret in the workspace', 'tokens are never written', () => secretsIn(search, ['/workspace'], ownFolder)),
  ...written.map(([file, closedBy]) => attempt(group, `write ${file.replace(home, 'HOME')}`, closedBy, write(file))),
  attempt(group, 'poison the shell start-up snapshot', readOnlyHome, poisonSnapshot),
  attempt(group, 'must work: write /workspace', '-', mustWrite('/workspace/.can-write')),
  attempt(group, 'must work: write /tmp', '-', mustWrite('/tmp/can-write')),
];
