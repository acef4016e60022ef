import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-setup-'));
const bin = path.resolve(__dirname, '../bin');
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));

/** The set-up is plain Node and runs outside any transform, so it is tried there too. */
const evaluate = (module: string, expression: string): unknown => {
  const code = `const m = await import(${JSON.stringify(path.join(bin, module))}); console.log(JSON.stringify(${expression} ?? null));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
};

describe("the system's mirror", () => {
  const mirrorOf = (files: Readonly<Record<string, string>>) => {
    const etc = fs.mkdtempSync(path.join(dir, 'apt-'));
    fs.mkdirSync(path.join(etc, 'sources.list.d'));
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(etc, name), text);
    return evaluate('setup/debian.mjs', `m.systemMirror(${JSON.stringify(etc)})`);
  };

  it.each([
    ['one-line', { 'sources.list': 'deb http://mirror.test/debian/ bookworm main\n' }],
    ['one-line with options', { 'sources.list': '# comment\ndeb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian bookworm main\n' }],
    ['deb822', { 'sources.list.d/debian.sources': 'Types: deb\nURIs: http://mirror.test/debian\nSuites: bookworm\n' }],
    [
      'among others',
      {
        'sources.list.d/a.list': 'deb https://vendor.test/apt stable main\n',
        'sources.list': 'deb http://mirror.test/debian bookworm main\n',
      },
    ],
  ])('is found in %s', (_, files) => {
    expect(mirrorOf(files)).toBe('http://mirror.test/debian');
  });

  it('is none when only others are named, security archives included', () => {
    expect(
      mirrorOf({ 'sources.list': 'deb http://mirror.test/debian-security bookworm-security main\n#deb http://off.test/debian x main\n' }),
    ).toBeNull();
  });
});

describe('run.mjs', () => {
  it('refuses a name it does not know, on stderr only', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(bin, 'run.mjs'), 'toString'], { encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/unknown command toString; known: setup, build/);
  });
});

describe('handing over', () => {
  /** What a failed test would leave behind. */
  const ownPids: number[] = [];
  afterAll(() => {
    for (const pid of ownPids)
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended, as it should.
      }
  });

  const handOver = (script: string, cwd?: string) => {
    const file = path.join(dir, `${Math.abs(script.length)}-${fs.readdirSync(dir).length}.cjs`);
    fs.writeFileSync(file, script);
    const code = `const { handOver } = await import(${JSON.stringify(path.join(bin, 'setup/hand-over.mjs'))}); handOver(${JSON.stringify(file)}, ['a b'], process.env, ${JSON.stringify(cwd)});`;
    return spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['pipe', 'pipe', 'inherit'] });
  };

  it('passes arguments, stdin, stdout and the exit code', async () => {
    const child = handOver("process.stdin.on('data', (d) => { console.log(process.argv[2] + d); process.exit(7); })");
    child.stdin.write('!');
    const [[text], [code]] = await Promise.all([once(child.stdout, 'data'), once(child, 'exit')]);
    expect([String(text).trim(), code]).toEqual(['a b!', 7]);
  });

  it('runs the command where the person stands, so that a file it is given is found', async () => {
    const here = fs.realpathSync(dir);
    const child = handOver('process.stdout.write(process.cwd())', here);
    expect(String((await once(child.stdout, 'data'))[0])).toBe(here);
  });

  it('passes signals on and ends by the same signal when the command does', async () => {
    const child = handOver("console.log('up'); setInterval(() => {}, 1e6)");
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[1]).toBe('SIGTERM');
  });

  it('ends with the npm that it came from, whose shell hands no signal on', async () => {
    const command = path.join(dir, 'long.cjs');
    fs.writeFileSync(
      command,
      "process.on('SIGTERM', () => { console.log('told'); process.exit(0); }); console.log(process.pid); setInterval(() => {}, 1e6)",
    );
    const inner = `const { handOver } = await import(${JSON.stringify(path.join(bin, 'setup/hand-over.mjs'))}); handOver(${JSON.stringify(command)}, [], process.env);`;
    const outer = `require('node:child_process').spawn(process.execPath, ['--input-type=module', '-e', ${JSON.stringify(inner)}], { stdio: 'inherit' })`;
    const shell = spawn(process.execPath, ['-e', outer], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, npm_lifecycle_event: 'up' },
    });
    const said: string[] = [];
    shell.stdout.on('data', (text) => {
      said.push(String(text));
      if (said.length > 1) return;
      ownPids.push(Number(/^\d+/.exec(String(text))));
      shell.kill('SIGKILL');
    });
    // The pipe closes when the last of the three has ended.
    await once(shell.stdout, 'end');
    expect(said.join('')).toMatch(/^\d+\ntold\n$/);
  });

  it('lets the command decide what a signal means', async () => {
    const child = handOver("process.on('SIGTERM', () => process.exit(0)); console.log('up'); setInterval(() => {}, 1e6)");
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[0]).toBe(0);
  });
});
