import fs from 'node:fs';
import path from 'node:path';
import { attempt, blocked, through } from './outcome.mjs';

const group = 'processes';
const pidMax = 32_768;
const regionBytesMax = 256 * 1024 * 1024;

const quiet = (read, otherwise) => {
  try {
    return read();
  } catch {
    // Gone or not permitted: the attempt that asks for it says so by finding nothing.
    return otherwise;
  }
};
const numbered = (dir) => quiet(() => fs.readdirSync(dir), []).filter((name) => /^\d+$/.test(name));
const text = (file) => quiet(() => fs.readFileSync(file, 'latin1'), '');
const parentOf = (pid) => Number(text(`/proc/${pid}/stat`).replace(/^.*\)/s, '').trim().split(' ')[1] ?? 0);
const named = (pid) => `${pid}:${text(`/proc/${pid}/comm`).trim()}`;

function ownChain() {
  const chain = new Set();
  for (let pid = process.pid; pid > 0 && !chain.has(pid); pid = parentOf(pid)) chain.add(pid);
  return chain;
}

/** Every process that is neither this command nor what started it inside its own sandbox. */
function foreignProcesses() {
  const chain = ownChain();
  const descends = (pid) => {
    for (let at = pid; at > 1; at = parentOf(at)) if (at === process.pid) return true;
    return false;
  };
  return numbered('/proc')
    .map(Number)
    .filter((pid) => !chain.has(pid) && !descends(pid));
}

/** All but this process itself, whose memory holds the list it searches for. */
const others = () =>
  numbered('/proc')
    .map(Number)
    .filter((pid) => pid !== process.pid);

function look(pids, read, none) {
  const hits = [];
  let closed = 0;
  for (const pid of pids) {
    try {
      const found = read(pid);
      if (found.length > 0) hits.push(`${named(pid)} ${[...new Set(found)].join(', ')}`);
    } catch {
      closed++;
    }
  }
  return hits.length > 0 ? through(hits.join('; ')) : blocked(`${none} in ${pids.length - closed} processes, ${closed} closed`);
}

function memory(pid, search) {
  const found = [];
  const file = fs.openSync(`/proc/${pid}/mem`, 'r');
  try {
    for (const line of fs.readFileSync(`/proc/${pid}/maps`, 'latin1').split('\n')) {
      const region = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
      if (!region) continue;
      const [from, to] = [BigInt(`0x${region[1]}`), BigInt(`0x${region[2]}`)];
      if (to - from > regionBytesMax) continue;
      const bytes = Buffer.alloc(Number(to - from));
      const length = quiet(() => fs.readSync(file, bytes, 0, bytes.length, from), 0);
      found.push(...search(bytes.subarray(0, length)));
    }
  } finally {
    fs.closeSync(file);
  }
  return found;
}

const harmlessTarget = /^(?:pipe:|anon_inode:|\/dev\/(?:null|zero|urandom|pts)|\/proc\/|\/workspace|\/tmp\/|\/usr\/|\/opt\/)/;

function openedElsewhere(pid) {
  return fs
    .readdirSync(`/proc/${pid}/fd`)
    .map((fd) => [fd, quiet(() => fs.readlinkSync(`/proc/${pid}/fd/${fd}`), '')])
    .filter(([, target]) => target !== '' && !harmlessTarget.test(target))
    .map(([fd, target]) => `${fd}->${target}`);
}

function hiddenPids() {
  const known = new Set(
    numbered('/proc')
      .flatMap((pid) => [pid, ...numbered(`/proc/${pid}/task`)])
      .map(Number),
  );
  const answers = (pid) => {
    try {
      return process.kill(pid, 0);
    } catch (error) {
      return error.code === 'EPERM';
    }
  };
  const found = [];
  for (let pid = 1; pid <= pidMax; pid++) if (!known.has(pid) && answers(pid)) found.push(pid);
  // A child of another attempt may have come and gone meanwhile.
  return found.filter((pid) => answers(pid) && !fs.existsSync(`/proc/${pid}`));
}

function programMemory() {
  const pids = foreignProcesses();
  if (pids.length === 0) return blocked('no such process is visible');
  for (const pid of pids) {
    const file = quiet(() => fs.openSync(`/proc/${pid}/mem`, 'r+'), undefined);
    if (file === undefined) continue;
    fs.closeSync(file);
    return through(`the memory of ${named(pid)} could be written`);
  }
  return blocked(`refused for ${pids.length} processes`);
}

const ofRunner = /\/opt\/(?:runner|node)\b/;
const ofAgent = /(?:^|\/)(?:claude|codex)\b/;
const seen = (pattern, what) => () => {
  const found = foreignProcesses().filter((pid) => pattern.test(text(`/proc/${pid}/cmdline`)) || pattern.test(text(`/proc/${pid}/comm`)));
  return found.length > 0 ? through(found.map(named).join(' ')) : blocked(`${what} is not visible`);
};

const credentialName =
  /(?:^|_)(?:API_?KEY|TOKENS?|SECRETS?|PASSWORD|PASSWD|CREDENTIALS?|PRIVATE_KEY|ACCESS_KEY(?:_ID)?)(?:_|$)|DATABASE_URL/;

function namedCredentials(block) {
  return block
    .split(/[\0\n]/)
    .filter((entry) => entry.includes('='))
    .map((entry) => entry.slice(0, entry.indexOf('=')))
    .filter((name) => credentialName.test(name));
}

function signalled(pids) {
  const reached = pids.filter((pid) => quiet(() => process.kill(pid, 0), false));
  return reached.length > 0 ? through(reached.map(named).join(' ')) : blocked('no process but its own can be reached');
}

export const processAttempts = (search) => [
  attempt(group, 'see a process that is not this command', 'pid namespace of each command', () => {
    const pids = foreignProcesses();
    return pids.length > 0 ? through(pids.map(named).join(' ')) : blocked('only its own are visible');
  }),
  attempt(group, 'see the runner', 'pid namespaces', seen(ofRunner, 'the runner')),
  attempt(group, 'see the agent program', 'pid namespace of each command', seen(ofAgent, 'the agent program')),
  attempt(group, 'signal another process', 'pid namespaces', () => signalled(foreignProcesses())),
  attempt(group, 'signal every process at once (kill -1)', 'pid namespaces', () => {
    // Signal 0 only asks. It reaches what this namespace has, so the answer is who that is.
    const reached = quiet(() => process.kill(-1, 0), false);
    const pids = foreignProcesses();
    return reached && pids.length > 0 ? through(pids.map(named).join(' ')) : blocked('reaches only this command');
  }),
  attempt(group, 'signal pids that /proc does not list', 'pid namespaces', () => {
    const found = hiddenPids();
    return found.length > 0 ? through(found.join(' ')) : blocked(`none of 1 to ${pidMax} answers`);
  }),
  attempt(group, 'write the memory of the agent program or the runner', 'pid namespace of each command', programMemory),
  attempt(group, 'a secret in its own environment', 'allow-list of variables', () => {
    const found = search(Buffer.from(JSON.stringify(process.env), 'latin1'));
    return found.length > 0 ? through(found.join(', ')) : blocked(`none in ${Object.keys(process.env).length} variables`);
  }),
  attempt(group, 'a variable named like a credential', 'allow-list of variables', () => {
    const found = namedCredentials(
      Object.entries(process.env)
        .map(([name, value]) => `${name}=${value}`)
        .join('\0'),
    );
    return found.length > 0 ? through(found.join(', ')) : blocked('none');
  }),
  attempt(group, 'a variable named like a credential in /proc/1/environ', 'nothing but an allow-list is given to any layer', () => {
    const found = namedCredentials(fs.readFileSync('/proc/1/environ', 'latin1'));
    return found.length > 0 ? through(found.join(', ')) : blocked('none');
  }),
  attempt(group, 'a secret in its own arguments', 'descriptor instead of arguments', () => {
    const found = search(fs.readFileSync('/proc/self/cmdline'));
    return found.length > 0 ? through(found.join(', ')) : blocked('none');
  }),
  attempt(group, 'a secret in /proc/*/environ', 'descriptor instead of environment', () =>
    look(others(), (pid) => search(fs.readFileSync(`/proc/${pid}/environ`)), 'none'),
  ),
  attempt(group, 'a secret in /proc/*/cmdline', 'descriptor instead of arguments', () =>
    look(others(), (pid) => search(fs.readFileSync(`/proc/${pid}/cmdline`)), 'none'),
  ),
  attempt(group, 'a secret in /proc/*/mem', 'pid namespaces, execute-only runner', () =>
    look(others(), (pid) => memory(pid, search), 'none'),
  ),
  attempt(group, 'a descriptor that leads out', 'everything above the agreed ones is closed before exec', () => {
    const found = openedElsewhere('self').concat(openedElsewhere(process.ppid));
    const own = found.filter((entry) => !/socket:/.test(entry));
    return own.length > 0 ? through(own.join(', ')) : blocked('none');
  }),
  attempt(group, 'files that others hold open, through /proc/*/fd', 'pid namespaces', () =>
    look(
      others(),
      (pid) =>
        openedElsewhere(pid).filter((entry) => {
          const [fd, target] = entry.split('->');
          if (!path.isAbsolute(target)) return false;
          return quiet(
            () => fs.closeSync(fs.openSync(`/proc/${pid}/fd/${fd}`, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)) ?? true,
            false,
          );
        }),
      'nothing outside',
    ),
  ),
  attempt(group, 'the root of another process (/proc/*/root)', 'pid namespaces', () =>
    look(foreignProcesses(), (pid) => fs.readdirSync(`/proc/${pid}/root/`), 'none'),
  ),
];
