// The two programs npm has no package for: nats-server and bubblewrap.

import fs from 'node:fs';
import path from 'node:path';
import { osRelease, unpackDebianPackage } from './debian.mjs';
import { binDir, findOnPath, say } from './layout.mjs';
import { attempt } from './run-command.mjs';

const NATS_VERSION_MIN = [2, 10];
// Go programs are static, so the package of a newer release runs on an older one; bookworm's own is 2.9.
const NATS_SUITE = 'trixie';

const natsIsNewEnough = (file) => {
  const [, major, minor] = /v?(\d+)\.(\d+)\./.exec(attempt(file, ['--version']).stdout) ?? [];
  return (
    major !== undefined &&
    (Number(major) > NATS_VERSION_MIN[0] || (Number(major) === NATS_VERSION_MIN[0] && Number(minor) >= NATS_VERSION_MIN[1]))
  );
};

/** Moves one program of an unpacked package to .fluidbox/tools/bin, where every command looks first. */
function takeProgram(unpacked, candidates, name) {
  const source = candidates.map((candidate) => path.join(unpacked.folder, candidate)).find((file) => fs.existsSync(file));
  if (!source) return `the package holds none of ${candidates.join(', ')}`;
  fs.mkdirSync(binDir, { recursive: true });
  fs.copyFileSync(source, path.join(binDir, `${name}.new`));
  fs.chmodSync(path.join(binDir, `${name}.new`), 0o755);
  fs.renameSync(path.join(binDir, `${name}.new`), path.join(binDir, name));
  unpacked.done();
  return undefined;
}

const searchPath = () => `${binDir}${path.delimiter}${process.env.PATH ?? ''}`;

/** Why nats-server is missing and what to do, or undefined when it is there. */
export function ensureNatsServer() {
  const installed = findOnPath('nats-server', searchPath());
  if (installed && natsIsNewEnough(installed)) return undefined;
  const unpacked = unpackDebianPackage('nats-server', NATS_SUITE);
  const reason = unpacked.reason ?? takeProgram(unpacked, ['usr/bin/nats-server', 'usr/sbin/nats-server'], 'nats-server');
  if (reason === undefined && natsIsNewEnough(path.join(binDir, 'nats-server'))) return undefined;
  if (reason === undefined) fs.rmSync(path.join(binDir, 'nats-server'), { force: true });
  const how = process.platform === 'darwin' ? 'brew install nats-server' : 'install nats-server 2.10 or newer and put it on PATH';
  return `nats-server >= ${NATS_VERSION_MIN.join('.')} is missing (${reason ?? 'the one of this system is older or does not run'}). Fix: ${how}`;
}

const bubblewrapFix = () => {
  const { ID = '', ID_LIKE = '' } = osRelease();
  const family = `${ID} ${ID_LIKE}`;
  if (process.platform !== 'linux') return 'run fluidbox on Linux: the local sandbox needs Linux namespaces';
  if (/debian|ubuntu/.test(family)) return 'sudo apt-get install bubblewrap';
  if (/fedora|rhel|centos/.test(family)) return 'sudo dnf install bubblewrap';
  if (/arch/.test(family)) return 'sudo pacman -S bubblewrap';
  if (/alpine/.test(family)) return 'apk add bubblewrap';
  if (/suse/.test(family)) return 'sudo zypper install bubblewrap';
  return 'install bubblewrap 0.8 or newer with the package manager of your system';
};

function installBubblewrapAsRoot() {
  if (process.getuid?.() !== 0 || !findOnPath('apt-get')) return false;
  say('installing bubblewrap with apt-get');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = () =>
    attempt('apt-get', ['-q', '-y', '-o', 'DPkg::Lock::Timeout=120', 'install', '--no-install-recommends', 'bubblewrap'], { env });
  if (install().ok) return true;
  // The package lists may be empty (images drop them) or older than the mirror.
  attempt('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=120', 'update'], { env });
  return install().ok;
}

/** Why bubblewrap is missing and what to do, or undefined when it is there. */
export function ensureBubblewrap() {
  if (findOnPath('bwrap', searchPath())) return undefined;
  if (installBubblewrapAsRoot() && findOnPath('bwrap')) return undefined;
  const unpacked = unpackDebianPackage('bubblewrap', osRelease().VERSION_CODENAME ?? 'stable');
  const reason = unpacked.reason ?? takeProgram(unpacked, ['usr/bin/bwrap'], 'bwrap');
  if (reason === undefined && attempt(path.join(binDir, 'bwrap'), ['--version']).ok) return undefined;
  return `bubblewrap is missing (${reason ?? 'the unpacked program does not run here'}). Fix: ${bubblewrapFix()}`;
}
