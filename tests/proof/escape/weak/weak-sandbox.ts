import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { EscapeRow, writeAttempts } from '../run-escape';

const secret = 'fbx-stand-in-secret-0123456789';

/**
 * The attempts in a sandbox that keeps next to nothing apart: one namespace for stand-ins and attempts, every capability in it, no filter,
 * a writable root. It runs below an unprivileged host uid and in namespaces of its own, so that what gets through here reaches nothing real.
 */
export async function attemptsInWeakSandbox(): Promise<EscapeRow[]> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-weak-'));
  const [workspace, host, runner] = ['workspace', 'host', 'runner'].map((name) => path.join(dir, name)) as [string, string, string];
  const uid = process.getuid?.() === 0 ? 20_000 + (process.pid % 10_000) : null;
  try {
    for (const folder of [workspace, host, runner]) fs.mkdirSync(folder);
    fs.writeFileSync(path.join(host, 'shadow'), secret);
    fs.copyFileSync(path.join(__dirname, 'stand-in.cjs'), path.join(runner, 'main.js'));
    fs.copyFileSync(path.join(__dirname, 'start.sh'), path.join(runner, 'start.sh'));
    writeAttempts(workspace, {
      secrets: [{ name: 'the stand-in secret', hex: Buffer.from(secret).toString('hex') }],
      urls: { 'stand-in': 'http://127.0.0.1:8080' },
      databaseSocket: '/run/database.sock',
      hostPaths: [{ name: 'a file of the host', path: '/host/shadow' }],
    });
    if (uid !== null)
      for (const file of ['', ...fs.readdirSync(dir, { recursive: true, encoding: 'utf8' })]) fs.chownSync(path.join(dir, file), uid, uid);
    const identity = uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
    // biome-ignore format: one line per thought reads better than one per word
    await promisify(execFile)('setpriv', [
      ...identity, '--pdeathsig', 'KILL', 'bwrap', '--unshare-all', '--uid', '0', '--gid', '0', '--cap-add', 'ALL', '--die-with-parent', '--new-session',
      '--ro-bind', '/usr', '/usr', ...systemLinks(), '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp',
      '--dir', '/etc', '--dir', '/run', '--dir', '/home/agent', '--dir', '/opt', '--bind', workspace, '/workspace', '--ro-bind', host, '/host',
      '--ro-bind', runner, '/opt/runner', '--clearenv', '--setenv', 'PATH', '/usr/sbin:/usr/bin:/sbin:/bin', '--setenv', 'HOME', '/home/agent', '--', 'bash', '/opt/runner/start.sh', secret,
    ], { timeout: 60_000, env: { PATH: process.env.PATH, BOX_TOKEN: secret } });
    const results = fs.readFileSync(path.join(workspace, 'escape/results.jsonl'), 'utf8');
    return results
      .trim()
      .split('\n')
      .map((line) => EscapeRow.parse(JSON.parse(line)));
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

const systemLinks = (): string[] =>
  ['bin', 'sbin', 'lib', 'lib64'].flatMap((name) => {
    const found = fs.lstatSync(`/${name}`, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return found.isSymbolicLink() ? ['--symlink', fs.readlinkSync(`/${name}`), `/${name}`] : ['--ro-bind', `/${name}`, `/${name}`];
  });
