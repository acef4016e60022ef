import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { launcherEnvironment, stageFolder, stageSources } from './launcher';

/** What this host offers, or the one thing to do about it. The local provider never runs anything unsandboxed. */
export type HostCheck = { readonly ok: true; readonly bubblewrap: string } | { readonly ok: false; readonly reason: string };

function findProgram(name: string, searchPath: string): string | null {
  const found = `${searchPath}:${launcherEnvironment.PATH}`
    .split(':')
    .filter(Boolean)
    .map((folder) => path.join(folder, name))
    .find(isExecutable);
  return found === undefined ? null : fs.realpathSync(found);
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

const requiredPrograms: ReadonlyArray<readonly [name: string, fix: string]> = [
  ['bwrap', 'install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap)'],
  ['bash', 'install bash'],
  ['setpriv', 'install util-linux (Debian, Ubuntu: apt-get install util-linux)'],
  ['prlimit', 'install util-linux (Debian, Ubuntu: apt-get install util-linux)'],
  ['choom', 'install util-linux (Debian, Ubuntu: apt-get install util-linux)'],
  ['git', 'install git'],
];

/**
 * Tries a sandbox in a sandbox, as a run has it: under the uid of a run, with its own /proc at both levels, and with bubblewrap staged, since
 * it may lie where that uid cannot go. `searchPath`: the service's PATH.
 */
export function checkHost(uid: number | null, isRoot: boolean, searchPath: string): HostCheck {
  if (process.platform !== 'linux') return refuse('the local sandbox needs Linux namespaces', 'run fluidbox on Linux');
  for (const [name, fix] of requiredPrograms) if (findProgram(name, searchPath) === null) return refuse(`${name} is not on PATH`, fix);
  if (isRoot && uid === null) {
    return refuse(
      'this user namespace maps too few uids for sandboxes',
      'map uids 30000 to 59999 into this container, or start fluidbox as an ordinary user',
    );
  }
  const bubblewrap = findProgram('bwrap', searchPath) ?? '';
  const stage = uid === null ? null : stageFolder([bubblewrap]);
  const inner = stage === null ? bubblewrap : path.join(stage, 'bwrap');
  const sandbox = [inner, ...nestable];
  const [command = '', ...args] = [
    ...(stage === null
      ? []
      : ['unshare', '--mount', '--propagation', 'private', 'bash', '-c', stageSources, 'fluidbox-check', stage, bubblewrap, 'bwrap', '--']),
    ...['setpriv', ...(uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']), '--no-new-privs'],
    ...[...sandbox, ...sandbox, 'true'],
  ];
  const run = spawnSync(command, args, { cwd: '/', env: launcherEnvironment, encoding: 'utf8', timeout: 20_000 });
  if (run.status === 0) return { ok: true, bubblewrap };
  const said = (run.stderr || run.error?.message || `exit ${run.status}`).trim();
  return refuse(`bubblewrap cannot make a sandbox in a sandbox here (${said})`, namespaceFix(said));
}

const nestable = [
  '--unshare-user',
  '--unshare-pid',
  '--unshare-net',
  '--unshare-ipc',
  '--unshare-uts',
  '--cap-drop',
  'ALL',
  '--ro-bind',
  '/',
  '/',
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--',
];

const refuse = (reason: string, fix: string): HostCheck => ({ ok: false, reason: `${reason}. Fix: ${fix}` });

const sysctl = (name: string): string | null => {
  try {
    return fs.readFileSync(`/proc/sys/${name}`, 'utf8').trim();
  } catch {
    return null;
  }
};

function namespaceFix(said: string): string {
  if (sysctl('kernel/unprivileged_userns_clone') === '0') return 'sudo sysctl -w kernel.unprivileged_userns_clone=1';
  if (sysctl('user/max_user_namespaces') === '0') return 'sudo sysctl -w user.max_user_namespaces=15000';
  if (sysctl('kernel/apparmor_restrict_unprivileged_userns') === '1')
    return 'sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (or give bwrap an AppArmor profile with `userns,`)';
  if (/mount proc/.test(said)) return 'start fluidbox where /proc is not masked (in Docker: --security-opt systempaths=unconfined)';
  return 'allow unprivileged user namespaces (in Docker: --security-opt seccomp=unconfined, or run on the host)';
}
