import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type SandboxFixture, secretCanary, startSandboxFixture, until } from '../../testing/sandbox-fixture';
import { runFiles } from '../files';
import { groupFolders, killProcess } from './cgroups';
import { LocalProvider } from './local-provider';

let fixture: SandboxFixture;
beforeAll(async () => {
  process.env.DATABASE_URL = 'postgres://canary';
  process.env.FUTURE_SECRET_X = 'canary2';
  fixture = await startSandboxFixture();
});
afterAll(async () => {
  delete process.env.DATABASE_URL;
  delete process.env.FUTURE_SECRET_X;
  await fixture.close();
});

/** Processes of a sandbox that are not zombies: of its uid, and in a pid namespace below ours. */
function processesOf(uid: number | null): string[] {
  return fs.readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
      return (
        new RegExp(`^Uid:\\s+${uid ?? process.getuid?.()}\\s`, 'm').test(status) &&
        /^NSpid:\s+\d+\s+\d/m.test(status) &&
        !/^State:\s+Z/m.test(status)
      );
    } catch {
      return false;
    }
  });
}

const shell = (command: string): string =>
  `require('node:child_process').spawnSync('/usr/bin/bash', ['-c', ${JSON.stringify(command)}], { encoding: 'utf8' })`;

describe('an outer sandbox', () => {
  it('starts the runner with the door, the workspace and its secrets, and reports its exit', async () => {
    const plan = fixture.newPlan();
    const state = await fixture.run(
      plan,
      `
      const http = require('node:http');
      const get = (socketPath) => new Promise((resolve, reject) => http.get({ socketPath, path: '/internal/hello' }, (r) => { let b = ''; r.on('data', (d) => b += d); r.on('end', () => resolve(b)); }).on('error', reject));
      report([secrets.tool, await get('/run/gw/control.sock'), await get('/run/gw/llm.sock'), process.getuid()]);
      console.error('last words'); process.exit(3);`,
    );
    expect(state.status === 'live' || state.status === 'ended').toBe(true);
    const exit = await fixture.exit(plan);
    expect(exit).toMatchObject({ status: 'ended', exit: { cause: 'exited', exit_code: 3, signal: null, generation: 1 } });
    expect(exit.status === 'ended' && exit.exit.stderr_tail).toContain('last words');
    const report = (await fixture.report(plan)) as unknown[];
    expect(report.slice(0, 3)).toEqual([secretCanary, 'hello from control', 'hello from llm']);
    expect(report[3]).not.toBe(0);
    expect(fixture.requests).toEqual(expect.arrayContaining(['control GET /internal/hello', 'llm GET /internal/hello']));
  });

  // H-SB-01
  it('[SANDBOX-2] shows nothing of the host environment and no token, also not through /proc', async () => {
    const plan = fixture.newPlan();
    await fixture.run(
      plan,
      `
      const read = (f) => { try { return fs.readFileSync(f, 'utf8'); } catch (e) { return e.code; } };
      const all = fs.readdirSync('/proc').filter((p) => /^[0-9]+$/.test(p)).map((p) => read('/proc/' + p + '/environ') + read('/proc/' + p + '/cmdline')).join();
      const child = ${shell('env; cat /proc/self/environ; cat /proc/1/environ; for p in /proc/[0-9]*; do cat $p/environ $p/cmdline; ls -l $p/fd; done 2>&1 </dev/null')};
      report({ names: Object.keys(process.env).sort(), all: all + child.stdout, inherited: ${shell('ls /proc/self/fd')}.stdout, pid1: fs.readdirSync('/proc/1/fd').map((fd) => fs.readlinkSync('/proc/1/fd/' + fd)), fds: fs.readdirSync('/proc/self/fd').map((fd) => { try { return fs.readlinkSync('/proc/self/fd/' + fd) } catch (e) { return e.code } }) });
      process.exit(0);`,
    );
    const report = (await fixture.report(plan)) as { names: string[]; all: string; fds: string[]; inherited: string; pid1: string[] };
    expect(report.all).not.toMatch(/canary/);
    expect(report.all).toMatch(/FLUIDBOX_SESSION_ID/);
    // A child of the runner inherits its three streams (the fourth is the listing itself), and pid 1 keeps no channel and no file of the host.
    expect(report.inherited).toBe('0\n1\n2\n3\n');
    expect(report.fds.filter((target) => !/^(pipe:|socket:|anon_inode:|\/dev\/null$|ENOENT$)/.test(target))).toEqual([]);
    expect(report.pid1.filter((target) => !/^(pipe:|socket:|anon_inode:|\/dev\/null$)/.test(target))).toEqual([]);
    expect(report.pid1.length).toBeLessThanOrEqual(5);
    expect(report.names).toEqual([
      'FLUIDBOX_AUTONOMY',
      'FLUIDBOX_CONTROL_URL',
      'FLUIDBOX_LLM_URL',
      'FLUIDBOX_MODEL',
      'FLUIDBOX_SESSION_ID',
      'FLUIDBOX_TOKENS_FD',
      'FLUIDBOX_TRUST_TIER',
      'FLUIDBOX_WORKSPACE',
      'HARNESS_ROW',
      'HOME',
      'LANG',
      'PATH',
      'PWD',
    ]);
    await fixture.exit(plan);
  });

  // H-SB-02
  it('[SANDBOX-1] has no way out but the door', async () => {
    const plan = fixture.newPlan();
    await fixture.run(
      plan,
      `
      const net = require('node:net'), dgram = require('node:dgram');
      const tcp = (host, port) => new Promise((resolve) => { const s = net.connect({ host, port, timeout: 3000 }, () => resolve('connected')); s.on('error', (e) => resolve(e.code)); s.on('timeout', () => resolve('timeout')); });
      const udp = (host, type) => new Promise((resolve) => { const s = dgram.createSocket(type); s.on('error', (e) => resolve(e.code)); s.send('x', 53, host, (e) => resolve(e ? e.code : 'sent')); });
      const outer = ${JSON.stringify(fs.readFileSync(fixture.upFile, 'utf8'))};
      const curl = ${shell("curl --noproxy '*' -m 3 http://1.1.1.1/ ; echo $?; curl -m 3 http://169.254.169.254/; echo $?; getent hosts x.canary.example; echo $?")};
      report([await tcp('1.1.1.1', 53), await tcp('169.254.169.254', 80), await tcp('2606:4700:4700::1111', 53), await udp('1.1.1.1', 'udp4'), await udp('2606:4700:4700::1111', 'udp6'),
        await tcp('127.0.0.1', Number(new URL(JSON.parse(outer).control_url).port)), fs.readdirSync('/sys/class/net', { throwIfNoEntry: false }) ?? 'none'].slice(0, 6).concat(fs.readFileSync('/proc/net/dev', 'utf8').split('\\n').slice(2).map((l) => l.split(':')[0].trim()).filter(Boolean), curl.stdout));
      process.exit(0);`.replace("fs.readdirSync('/sys/class/net', { throwIfNoEntry: false }) ?? 'none'", "'none'"),
    );
    const report = (await fixture.report(plan)) as string[];
    expect(report.slice(0, 6)).toEqual(['ENETUNREACH', 'ENETUNREACH', 'ENETUNREACH', 'ENETUNREACH', 'ENETUNREACH', 'ECONNREFUSED']);
    expect(report[6]).toBe('lo');
    expect(report[7]).toMatch(/^(7|28|127)\n(7|28|127)\n2\n$/);
  });

  it('sees no host files, and can write only where it should', async () => {
    const plan = fixture.newPlan();
    await fixture.run(
      plan,
      `
      const write = (f) => { try { fs.writeFileSync(f, 'x'); return 'written'; } catch (e) { return e.code; } };
      report({ top: fs.readdirSync('/').sort(), writes: ['/etc/ld.so.preload', '/x', '/usr/x', '/opt/runner/x', '/run/gw/x', '/dev/x', '/workspace/x', '/tmp/x', '/home/agent/x'].map(write), node: write('/opt/node'),
        readNode: (() => { try { return fs.readFileSync('/opt/node').length } catch (e) { return e.code } })(), mounts: fs.readFileSync('/proc/self/mountinfo', 'utf8') });
      process.exit(0);`,
    );
    const report = (await fixture.report(plan)) as { top: string[]; writes: string[]; node: string; readNode: string; mounts: string };
    expect(report.top.filter((name) => !/^(bin|sbin|lib\w*)$/.test(name))).toEqual([
      'dev',
      'etc',
      'home',
      'opt',
      'proc',
      'run',
      'tmp',
      'usr',
      'workspace',
    ]);
    expect(report.writes.slice(0, 6)).not.toContain('written');
    expect(report.writes.slice(6)).toEqual(['written', 'written', 'written']);
    expect(report.readNode).toBe('EACCES');
  });

  it.each([
    ['read-only for the read_only trust tier', true, 'EROFS'],
    ['writable for the trusted one', false, 'WROTE'],
  ] as const)('keeps the workspace %s', async (_what, readOnlyWorkspace, outcome) => {
    const plan = fixture.newPlan({ readOnlyWorkspace });
    await fixture.run(
      plan,
      `try { fs.writeFileSync('/workspace/x', ''); console.error('WROTE'); } catch (e) { console.error(e.code); } process.exit(0);`,
    );
    const exit = await fixture.exit(plan);
    expect(exit.status === 'ended' && exit.exit.stderr_tail).toContain(outcome);
    expect(fs.existsSync(`${plan.workspaceDir}/x`)).toBe(!readOnlyWorkspace);
  });

  it('can start a bubblewrap inside, but no tracer, keyring or vsock', async () => {
    const plan = fixture.newPlan();
    await fixture.run(
      plan,
      `
      const inner = ${shell("bwrap --unshare-user --unshare-all --disable-userns --cap-drop ALL --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev --size 1048576 --tmpfs /tmp -- /usr/bin/bash -c 'echo inner $$'")};
      const vsock = ${shell('perl -MErrno -e \'socket(my $s, 40, 1, 0) and print "created" or print "refused: $!"\'')};
      report([inner.stdout, inner.stderr, vsock.stdout, fs.readFileSync('/proc/self/status', 'utf8')]);
      process.exit(0);`,
    );
    const [inner, innerError, vsock, status] = (await fixture.report(plan)) as string[];
    expect([inner, innerError]).toEqual(['inner 2\n', '']);
    expect(vsock).toContain('refused');
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^Seccomp:\s+2$/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
  });
});

describe('limits', () => {
  it('bounds processes', async () => {
    const plan = fixture.newPlan({ limits: { pids: 40 } });
    await fixture.run(
      plan,
      `
      const bomb = ${shell("perl -e 'for (1..100) { my $p = fork; last unless defined $p; if (!$p) { close STDOUT; close STDERR; sleep 60; exit } $n++ } print $n'")};
      report(Number(bomb.stdout)); process.exit(0);`,
    );
    const forked = await fixture.report(plan);
    expect(forked).toBeGreaterThan(5);
    expect(forked).toBeLessThan(40);
    await fixture.exit(plan);
  });

  it('bounds memory over all processes, and says how', async () => {
    const plan = fixture.newPlan({ limits: { memoryBytes: 200 * 1024 ** 2 } });
    const state = await fixture.run(
      plan,
      `const kept = []; for (let i = 0; i < 60; i++) kept.push(Buffer.alloc(10 * 1024 ** 2, 1)); console.error('ATE IT ALL'); process.exit(0);`,
    );
    if (state.status === 'live') expect(['cgroup1', 'cgroup2', 'rlimit']).toContain(state.started.isolation.limits);
    const exit = await fixture.exit(plan);
    expect(exit.status === 'ended' && exit.exit.stderr_tail).not.toContain('ATE IT ALL');
    expect(exit.status === 'ended' && exit.exit.exit_code).not.toBe(0);
  });
});

const daemons = `${shell('setsid nohup bash -c "trap : TERM INT HUP; while :; do sleep 1; done" >/dev/null 2>&1 & disown -a')}; report('up'); hold();`;

describe('the end of a sandbox', () => {
  it('ends the whole tree when told to stop, and removes its groups', async () => {
    const plan = fixture.newPlan();
    expect((await fixture.run(plan, daemons)).status).toBe('live');
    await fixture.report(plan);
    expect(processesOf(plan.uid).length).toBeGreaterThan(2);
    expect(await fixture.provider.stop(plan.runDir)).toMatchObject({ status: 'ended', exit: { cause: 'stopped' } });
    expect(processesOf(plan.uid)).toEqual([]);
    expect(fs.existsSync(`/sys/fs/cgroup/memory/fluidbox/test-${plan.runId}`)).toBe(false);
  });

  it('is noticed as lost when the supervisor is killed, and nothing of it survives', async () => {
    const plan = fixture.newPlan();
    const state = await fixture.run(plan, daemons);
    await fixture.report(plan);
    expect(state.status).toBe('live');
    if (state.status === 'live') killProcess(state.pid);
    expect(await fixture.exit(plan)).toMatchObject({ status: 'lost', generation: 1, sandboxId: plan.sandboxId });
    await until(() => (processesOf(plan.uid).length > 0 ? undefined : true));
    expect(await fixture.provider.stop(plan.runDir)).toMatchObject({ status: 'lost' });
    expect(fs.existsSync(`/sys/fs/cgroup/memory/fluidbox/test-${plan.runId}`)).toBe(false);
  });

  it('leaves groups behind when its supervisor is terminated, which the next start removes; those of a live one stay', async () => {
    // A deployment of its own: other tests of this machine have groups, too.
    const [ended, live] = [fixture.newPlan(), fixture.newPlan()].map((plan) => ({ ...plan, deploymentId: `tidy-${process.pid}` }));
    if (ended === undefined || live === undefined) throw new Error('no plans');
    const groups = () =>
      groupFolders()
        .filter(({ name }) => name.startsWith(`tidy-${process.pid}-`))
        .map(({ name }) => name.slice(-36));
    const state = await fixture.run(ended, daemons);
    await fixture.run(live, daemons);
    if (state.status !== 'live') throw new Error(`not live but ${state.status}`);
    const limited = state.started.isolation.limits !== 'rlimit';
    process.kill(state.pid, 'SIGTERM');
    await until(() => (processesOf(ended.uid).length > 0 ? undefined : true));
    expect(groups().includes(ended.runId)).toBe(limited);
    fixture.provider.removeLeftGroups(ended.deploymentId, path.dirname(ended.runDir));
    expect(groups()).not.toContain(ended.runId);
    expect(groups().includes(live.runId)).toBe(limited);
    expect(fixture.provider.look(live.runDir).status).toBe('live');
  });

  it('comes by itself when the lease has been dead for ten minutes', async () => {
    const plan = fixture.newPlan();
    await fixture.run(plan, daemons);
    fixture.provider.writeLease(plan.runDir, { generation: 1, valid_until: new Date(Date.now() - 601_000).toISOString(), stop: false });
    expect(await fixture.exit(plan)).toMatchObject({ status: 'ended', exit: { cause: 'lease_dead' } });
  });

  it('ends the older sandbox when the next generation starts, never two at once', async () => {
    const plan = fixture.newPlan();
    await fixture.run(plan, daemons);
    const next = { ...plan, generation: 2, sandboxId: `local-${plan.runId}-2` };
    fixture.provider.writeLease(plan.runDir, { generation: 2, valid_until: new Date(Date.now() + 900_000).toISOString(), stop: false });
    expect(await fixture.run(next, 'hold();')).toMatchObject({ status: 'live', generation: 2 });
    fixture.provider.writeLease(plan.runDir, { generation: 1, valid_until: new Date(0).toISOString(), stop: true });
    expect(fixture.provider.look(plan.runDir)).toMatchObject({ status: 'live', generation: 2 });
    await fixture.provider.stop(plan.runDir);
  });

  it('reports a sandbox that could not be made as failed, with the reason', async () => {
    const plan = { ...fixture.newPlan(), binds: [{ src: '/nonexistent', dest: '/opt/x' }] };
    expect(await fixture.run(plan, 'hold();')).toMatchObject({
      status: 'ended',
      exit: { cause: 'failed', stderr_tail: expect.stringContaining('/nonexistent') },
    });
  });
});

describe('a supervisor that comes too late', () => {
  it('starts nothing when the next generation was asked for meanwhile', async () => {
    const plan = fixture.newPlan();
    fixture.provider.writeLease(plan.runDir, { generation: 2, valid_until: new Date(Date.now() + 900_000).toISOString(), stop: false });
    expect(await fixture.run(plan, 'report("started"); hold();')).toMatchObject({ status: 'ended', exit: { cause: 'failed' } });
    expect(fs.existsSync(`${plan.workspaceDir}/report.json`)).toBe(false);
    expect(fixture.provider.look(plan.runDir)).toEqual({ status: 'none' });
  });
});

describe('a service that has inherited descriptors', () => {
  it('passes none of them on', async () => {
    const plan = fixture.newPlan();
    fs.mkdirSync(runFiles(plan.runDir).door, { recursive: true });
    const secret = `${fixture.dir}/inherited`;
    fs.writeFileSync(secret, 'canary');
    const task = `const has = (fd) => { try { fs.fstatSync(fd); return true; } catch { return false; } }; report([has(77), ${shell('ls /proc/self/fd')}.stdout]); process.exit(0);`;
    const child = spawn('bash', ['-c', 'exec 77<>"$1"; exec "$2" "$3"', 'service', secret, process.execPath, fixture.supervisorScript], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    child.stdin.end(JSON.stringify({ plan, secrets: { tool: 't', control: 'c', llm: 'l', task } }));
    expect(await fixture.report(plan)).toEqual([false, '0\n1\n2\n3\n']);
    await fixture.exit(plan);
  });
});

describe('a scheduler that comes back', () => {
  it('finds a sandbox that another process started, alive and its door open, also after up.json moved', async () => {
    const plan = fixture.newPlan();
    const script = `const code = ${JSON.stringify('hold();')};`;
    const child = spawn(
      process.execPath,
      [
        '-e',
        `
      ${script}
      const { spawn } = require('node:child_process');
      const s = spawn(process.execPath, [${JSON.stringify(fixture.supervisorScript)}], { cwd: '/', env: { PATH: process.env.PATH }, detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
      s.stdin.end(${JSON.stringify(JSON.stringify({ plan, secrets: { tool: 't', control: 'c', llm: 'l', task: 'setInterval(() => require("node:http").get({ socketPath: "/run/gw/control.sock", path: "/after-restart" }).on("error", () => undefined), 50)' } }))}, () => process.kill(process.pid, 'SIGKILL'));`,
      ],
      { stdio: 'ignore' },
    );
    fs.mkdirSync(runFiles(plan.runDir).door, { recursive: true });
    await new Promise((resolve) => child.once('exit', resolve));
    const provider = new LocalProvider(fixture.supervisorScript);
    await until(() => (provider.look(plan.runDir).status === 'live' ? true : undefined));
    await until(() => (fixture.requests.includes('control GET /after-restart') ? true : undefined));
    expect(await provider.stop(plan.runDir)).toMatchObject({ status: 'ended', exit: { cause: 'stopped' } });
  });
});
