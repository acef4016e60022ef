import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { type LaunchedRun, type SceneOptions, sandboxScene } from '@fluidbox/runner-lib/testing';

const scene = sandboxScene(path.resolve(__dirname, '..'));

const run = (script: unknown, options?: SceneOptions): Promise<LaunchedRun> =>
  scene.run(typeof script === 'string' ? script : JSON.stringify(script), options);

const bash = (command: string, more: object = {}) => ({ tool: 'Bash', input: { command }, ...more });

describe('the scripted runner in a real sandbox', () => {
  it('does what the gate allows and nothing else', async () => {
    const nonce = randomBytes(16).toString('hex');
    const hashed = (name: string) => `printf ${nonce}${name} | sha256sum | tee /workspace/${name}`;
    const { exitCode, output } = await run(
      {
        steps: [
          bash(hashed('allowed'), { say: 'first', expect: 'ok' }),
          bash(hashed('denied'), { expect: 'denied' }),
          { tool: 'Write', input: { file_path: '/workspace/a.txt', content: "one 'two'\n" }, expect: 'ok' },
          { tool: 'Edit', input: { file_path: '/workspace/a.txt', old_string: 'two', new_string: 'three' }, expect: 'ok' },
          { tool: 'Read', input: { file_path: '/workspace/a.txt' }, expect: { output: "one 'three'" } },
        ],
        summary: 'all done',
      },
      {
        plane: {
          decide: ({ input }) => (JSON.stringify(input).includes('denied') ? { decision: 'deny', message: 'no' } : { decision: 'allow' }),
        },
      },
    );
    expect(scene.control.results).toEqual([{ outcome: 'completed', summary: 'all done' }]);
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: '' });
    expect(scene.control.asked).toHaveLength(5);
    const hash = createHash('sha256').update(`${nonce}allowed`).digest('hex');
    expect(fs.readFileSync(path.join(scene.folder.workspace, 'allowed'), 'utf8')).toContain(hash);
    expect(fs.readdirSync(scene.folder.workspace).sort()).toEqual(['a.txt', 'allowed']);
    expect(scene.control.events.map(({ type }) => type)).toEqual(['agent.message', ...Array(4).fill('tool.completed')]);
    expect(scene.control.beats).toBeGreaterThan(0);
  });

  it('keeps tokens, sockets and the network out of a command', async () => {
    const look = 'env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\\0" " "; ls -la /run /opt; cat /proc/net/dev';
    await run({ steps: [bash(look)] });
    const completed = scene.control.events.find((event) => event.type === 'tool.completed');
    const seen = completed?.type === 'tool.completed' ? (completed.data.summary ?? '') : '';
    expect(seen).toContain('PATH=');
    for (const token of Object.values(scene.control.tokens ?? {})) expect(seen).not.toContain(token);
    expect(seen).not.toMatch(/FLUIDBOX|control\.sock|eth0|main\.js/);
  });

  it('tells the gate where a path leads behind a symlink that the agent made, and says nothing of one that leads nowhere else', async () => {
    const read = (file_path: string) => ({ tool: 'Read', input: { file_path } });
    await run({
      steps: [
        bash('echo a > plain && ln -s /proc/self/environ out && ln -s plain in', { expect: 'ok' }),
        read('/workspace/out'),
        read('/workspace/in'),
        read('/workspace/plain'),
      ],
    });
    expect(scene.control.asked.map(({ resolved_paths }) => resolved_paths)).toEqual([
      undefined,
      ['/proc/self/environ'],
      ['/workspace/plain'],
      undefined,
    ]);
  });

  it('cannot write the workspace on the read-only tier, and can on the trusted one', async () => {
    const script = { steps: [bash('echo x > /workspace/x')], summary: 'done' };
    await run(script, { launch: { env: { FLUIDBOX_TRUST_TIER: 'read_only' } } });
    expect(fs.existsSync(path.join(scene.folder.workspace, 'x'))).toBe(false);
    await scene.control.close();
    fs.rmSync(path.join(scene.folder.gatewayDir, 'control.sock'), { force: true });
    fs.rmSync(path.join(scene.folder.gatewayDir, 'llm.sock'), { force: true });
    fs.rmSync(path.join(scene.folder.dir, 'node'), { force: true });
    for (const name of fs.readdirSync(scene.folder.dir).filter((entry) => entry.startsWith('mount')))
      fs.rmSync(path.join(scene.folder.dir, name), { recursive: true });
    await run(script);
    expect(fs.existsSync(path.join(scene.folder.workspace, 'x'))).toBe(true);
  });

  it('can commit, under the name of the agent', async () => {
    const command = 'git init -q && echo a > a && git add a && git commit -qm first && git log --format=%an:%cn';
    await run({ steps: [bash(command, { expect: { output: 'fluidbox agent:fluidbox agent' } })], summary: 'committed' });
    expect(scene.control.results).toEqual([{ outcome: 'completed', summary: 'committed' }]);
  });

  it('fails the run when an expectation is not met', async () => {
    await run({ steps: [bash('exit 3', { expect: 'ok' })] });
    expect(scene.control.results).toEqual([{ outcome: 'failed', summary: 'step 1 (Bash): expected ok, got error' }]);
  });

  it('fails the step, in words, when the input a person wrote cannot be performed', async () => {
    const write = { tool: 'Write', input: { file_path: '/workspace/a', content: 'a' } };
    await run(
      { steps: [{ ...write, expect: 'ok' }] },
      { plane: { decide: () => ({ decision: 'allow', updated_input: { file_path: '/workspace/b' } }) } },
    );
    expect(scene.control.results).toEqual([{ outcome: 'failed', summary: 'step 1 (Write): expected ok, got error' }]);
    expect(scene.control.events.at(-1)).toMatchObject({
      type: 'tool.completed',
      data: { ok: false, summary: expect.stringMatching(/^the edited input cannot be performed: not as agreed: input\.content: /) },
    });
    expect(fs.readdirSync(scene.folder.workspace)).toEqual([]);
  });

  it('reports a task that is no script', async () => {
    await run('do something');
    expect(scene.control.results[0]?.outcome).toBe('failed');
    expect(scene.control.results[0]?.summary).toContain('JSON script');
  });

  it('asks again under the same id when the gate is lost, and takes padding for waiting', async () => {
    let drops = 0;
    await run(
      { steps: [bash('true', { id: 'call_1', expect: 'ok' })] },
      {
        plane: {
          interfere: (call, response) => {
            if (call !== 'permission') return false;
            drops += 1;
            if (drops === 1) response.destroy();
            else if (drops === 2) response.writeHead(503).end();
            else if (drops === 3) {
              response.writeHead(200).write('  ');
              setTimeout(() => response.destroy(), 50);
            } else response.writeHead(200).end('   {"decision":"allow"}');
            return true;
          },
        },
      },
    );
    expect(drops).toBe(4);
    expect(scene.control.results[0]?.outcome).toBe('completed');
  });

  it('refuses what is neither allow nor deny', async () => {
    await run(
      { steps: [bash('touch /workspace/ran', { expect: 'denied' })] },
      { plane: { interfere: (call, response) => call === 'permission' && Boolean(response.writeHead(200).end('{"decision":"maybe"}')) } },
    );
    expect(scene.control.results[0]?.outcome).toBe('completed');
    expect(fs.existsSync(path.join(scene.folder.workspace, 'ran'))).toBe(false);
  });

  it('ends with code 0 and no result when told to wind down, also before it has begun', async () => {
    const { exitCode } = await run(
      { steps: [bash('sleep 60')] },
      {
        plane: {
          interfere: (call, response) => call === 'heartbeat' && Boolean(response.writeHead(200).end('{"ok":true,"action":"quiesce"}')),
        },
      },
    );
    expect(exitCode).toBe(0);
    expect(scene.control.results).toEqual([]);
  });

  it('ends loudly, with a diagnostic and without a result, when a token is refused for its audience', async () => {
    const { exitCode } = await run(
      { steps: [bash('true')] },
      {
        plane: {
          interfere: (call, response) => call === 'permission' && Boolean(response.writeHead(403).end('{"error":"wrong_audience"}')),
        },
      },
    );
    expect(exitCode).toBe(3);
    expect(scene.control.results).toEqual([]);
    expect(scene.control.events.at(-1)).toMatchObject({ type: 'run.error', data: { code: 'wrong_audience' } });
  });

  it('retries the result until it is stored', async () => {
    let attempts = 0;
    const { exitCode } = await run(
      { steps: [] },
      { plane: { interfere: (call, response) => call === 'result' && ++attempts < 3 && Boolean(response.writeHead(503).end()) } },
    );
    expect(attempts).toBe(3);
    expect(exitCode).toBe(0);
    expect(scene.control.results).toHaveLength(1);
  });

  it.each<[string, (args: string[]) => string[], RegExp]>([
    [
      'shares the host network',
      (args) =>
        args.flatMap((arg) => (arg === '--unshare-all' ? ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts'] : [arg])),
      /interfaces|tcp/,
    ],
    ['shows a host folder', (args) => ['--ro-bind', '/var', '/var', ...args], /\/var/],
    [
      'has no system-call filter',
      (args) => args.filter((arg, index) => arg !== '--seccomp' && args[index - 1] !== '--seccomp'),
      /vsock|Seccomp/,
    ],
    [
      'carries a credential in its environment',
      (args) => ['--setenv', 'AWS_SECRET_ACCESS_KEY', 'x', ...args.filter((arg) => arg !== '--clearenv')],
      /AWS_SECRET_ACCESS_KEY/,
    ],
    [
      'has a writable root',
      (args) =>
        args.filter(
          (arg, index) => !(arg === '--remount-ro' && args[index + 1] === '/') && !(arg === '/' && args[index - 1] === '--remount-ro'),
        ),
      /writable/,
    ],
  ])('refuses a sandbox that %s', async (_what, alter, reason) => {
    await run({ steps: [bash('touch /workspace/ran')] }, { launch: { alter } });
    expect(scene.control.results[0]).toMatchObject({ outcome: 'failed' });
    expect(scene.control.results[0]?.summary).toMatch(reason);
    expect(scene.control.events.at(-1)).toMatchObject({ type: 'run.error', data: { code: 'sandbox_probe_failed' } });
    expect(scene.control.asked).toEqual([]);
    expect(fs.readdirSync(scene.folder.workspace)).toEqual([]);
  });
});
