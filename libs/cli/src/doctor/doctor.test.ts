import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { repositoryRoot } from '@fluidbox/embedded';
import { checkDisk, checkSecrets, checkStack } from './folder';
import { checkBubblewrap, checkCgroups, checkSeccomp, checkUserNamespaces } from './isolation';
import { type Machine, thisMachine } from './machine';
import { checkGit, checkNatsServer, checkNode, checkRootTools } from './programs';
import { isHealthy, reportLines } from './report';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-doctor-'));
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));

/** A machine where everything is right, except what a test says. */
const machine = (wrong: Partial<Machine> = {}): Machine => ({
  platform: 'linux',
  arch: 'x64',
  nodeVersion: '20.19.0',
  isRoot: false,
  osId: 'debian',
  which: (name) => `/usr/bin/${name}`,
  run: () => ({ ok: true, output: 'bubblewrap 0.8.0' }),
  read: (file) => (file.endsWith('actions_avail') ? 'kill errno log allow' : undefined),
  isWritable: () => true,
  ...wrong,
});
const lacking = (missingName: string): Partial<Machine> => ({ which: (name) => (name === missingName ? undefined : `/usr/bin/${name}`) });
const failing = (output: string): Partial<Machine> => ({ run: (_, args) => ({ ok: args.includes('--version'), output }) });
const reading = (files: Readonly<Record<string, string>>): Partial<Machine> => ({
  ...failing('Operation not permitted'),
  read: (file) => files[file],
});

describe('programs', () => {
  it.each([
    ['18.20.0', 'missing'],
    ['20.18.9', 'missing'],
    ['20.19.0', 'ok'],
    ['24.0.0', 'ok'],
  ])('node %s is %s', (nodeVersion, status) => {
    expect(checkNode(machine({ nodeVersion })).status).toBe(status);
  });

  it('names git and how this system installs it', () => {
    expect(checkGit(machine(lacking('git')))).toMatchObject({ status: 'missing', fix: 'sudo apt-get install git' });
    expect(checkGit(machine({ ...lacking('git'), osId: 'fedora', isRoot: true }))).toMatchObject({ fix: 'dnf install git' });
    expect(checkGit(machine()).status).toBe('ok');
  });

  it('tells an old nats-server from a new one and from none', () => {
    const program = (name: string, version: string) => {
      fs.mkdirSync(path.join(dir, name), { recursive: true });
      fs.writeFileSync(path.join(dir, name, 'nats-server'), `#!/bin/sh\necho nats-server: v${version}\n`, { mode: 0o755 });
      return path.join(dir, name);
    };
    const [old, recent] = [program('old', '2.9.10'), program('recent', '2.10.27')];
    expect(checkNatsServer(machine(), old)).toMatchObject({
      status: 'missing',
      found: expect.stringContaining('2.9.10'),
      fix: expect.stringContaining('npm run setup'),
    });
    expect(checkNatsServer(machine(), `${old}:${recent}`)).toMatchObject({ status: 'ok', found: expect.stringContaining('2.10.27') });
    expect(checkNatsServer(machine({ osId: 'arch' }), dir)).toMatchObject({
      status: 'missing',
      found: 'not found',
      fix: expect.stringContaining('pacman'),
    });
  });

  it('asks for unshare and setpriv only as root', () => {
    expect(checkRootTools(machine(lacking('setpriv')))).toEqual([]);
    expect(checkRootTools(machine({ ...lacking('setpriv'), isRoot: true })).map(({ status }) => status)).toEqual(['ok', 'missing']);
  });
});

describe('isolation', () => {
  it('needs bwrap, and a sandbox that really starts', () => {
    expect(checkBubblewrap(machine(lacking('bwrap')))).toMatchObject({ status: 'missing', fix: 'sudo apt-get install bubblewrap' });
    expect(checkBubblewrap(machine(failing('No permissions to create new namespace'))).status).toBe('missing');
    expect(checkBubblewrap(machine(failing('Unknown option --disable-userns')))).toMatchObject({
      found: expect.stringContaining('older than 0.8'),
    });
    expect(checkBubblewrap(machine()).status).toBe('ok');
  });

  it.each([
    ['/proc/sys/user/max_user_namespaces', '0', /max_user_namespaces=10000/],
    ['/proc/sys/kernel/unprivileged_userns_clone', '0', /unprivileged_userns_clone=1/],
    ['/proc/sys/kernel/apparmor_restrict_unprivileged_userns', '1', /apparmor_restrict_unprivileged_userns=0/],
  ])('names the switch that forbids user namespaces: %s', (file, value, fix) => {
    const finding = checkUserNamespaces(machine(reading({ [file]: value })));
    expect(finding.status).toBe('missing');
    expect(finding.fix).toMatch(fix);
    expect(checkUserNamespaces(machine()).status).toBe('ok');
  });

  it('knows the processors the filter is written for', () => {
    expect(checkSeccomp(machine()).status).toBe('ok');
    expect(checkSeccomp(machine({ arch: 'riscv64' })).status).toBe('missing');
    expect(checkSeccomp(machine({ read: () => undefined })).status).toBe('missing');
  });

  it('tells cgroup v2, v1 and none apart; none only warns', () => {
    const v2 = { '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory pids' };
    const v1 = Object.fromEntries(['memory', 'pids', 'cpu'].map((name) => [`/sys/fs/cgroup/${name}/cgroup.procs`, '']));
    expect(checkCgroups(machine(reading(v2)))).toMatchObject({ status: 'ok', found: 'v2' });
    expect(checkCgroups(machine(reading({ ...v1, '/sys/fs/cgroup/cgroup.controllers': 'hugetlb' })))).toMatchObject({
      status: 'ok',
      found: 'v1',
    });
    expect(checkCgroups(machine({ ...reading(v1), isWritable: () => false })).status).toBe('warn');
    expect(checkCgroups(machine(reading({})))).toMatchObject({ status: 'warn', found: expect.stringContaining('none') });
  });
});

describe('folder', () => {
  it('finds a secret that others can read', () => {
    const home = path.join(dir, 'home');
    fs.mkdirSync(path.join(home, 'secrets'), { recursive: true });
    const file = path.join(home, 'secrets/kek');
    fs.writeFileSync(file, 'x', { mode: 0o600 });
    expect(checkSecrets(home).status).toBe('ok');
    fs.chmodSync(file, 0o640);
    expect(checkSecrets(home)).toMatchObject({
      status: 'missing',
      found: expect.stringContaining('kek'),
      fix: expect.stringContaining('chmod 600'),
    });
  });

  it('says that no stack runs, and how much disk is free, for a folder that does not exist yet', async () => {
    const home = path.join(dir, 'nothing/here');
    expect(await checkStack(home)).toMatchObject({ status: 'ok', found: 'not running' });
    expect(checkDisk(home).found).toMatch(/GiB free/);
    expect(fs.existsSync(home)).toBe(false);
  });
});

describe('report', () => {
  it('fails for what is missing, not for a warning', () => {
    const warning = { name: 'a', status: 'warn', found: 'b', fix: 'c' } as const;
    expect(isHealthy([warning])).toBe(true);
    expect(isHealthy([warning, { ...warning, status: 'missing' }])).toBe(false);
    expect(reportLines([{ ...warning, status: 'missing' }]).join('\n')).toContain('fix: c');
  });
});

describe('fluidbox doctor', () => {
  const doctor = (searchPath: string) => {
    const register = path.join(repositoryRoot, 'libs/tooling/process/register.cjs');
    const args = ['--conditions=source', '--require', register, path.join(repositoryRoot, 'libs/cli/src/main.ts'), 'doctor', '--json'];
    const env = { PATH: searchPath, FLUIDBOX_HOME: path.join(dir, 'fresh') };
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env, timeout: 60_000 });
    const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: { name: string; status: string; fix?: string }[] };
    return { exitCode: status, ok, of: (name: string) => findings.find((finding) => finding.name === name) };
  };

  it('exits 1 and names git with its fix when git is not on PATH, and finds it when it is', () => {
    const { which } = thisMachine(process.env);
    const without = path.join(dir, 'doctored');
    fs.mkdirSync(without);
    for (const name of ['unshare', 'setpriv', 'true', 'bwrap', 'sh']) {
      const file = which(name);
      if (file) fs.symlinkSync(file, path.join(without, name));
    }
    const doctored = doctor(without);
    expect(doctored.exitCode).toBe(1);
    expect(doctored.ok).toBe(false);
    expect(doctored.of('git')).toMatchObject({ status: 'missing', fix: expect.stringContaining('git') });
    expect(doctor(process.env.PATH ?? '').of('git')).toMatchObject({ status: 'ok' });
  });
});
