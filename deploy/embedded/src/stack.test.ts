import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { serviceNames } from '@fluidbox/contracts';
import { isAlive } from '@fluidbox/tooling/identity';
import { fixtureStack } from './fixtures/stack.fixture';
import { FolderIsHeld } from './holder';
import { homeLayout, repositoryRoot } from './layout';
import { looseSecrets } from './secrets';
import { type RunningStack, startStack } from './stack';
import { liveStack, readUpFile } from './up-file';
import { withStack } from './with-stack';

// One folder for all: every test leaves it free, and the first start of each would cost an initdb.
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-stack-'));
const started: RunningStack[] = [];
async function start(options = fixtureStack(home)): Promise<RunningStack> {
  const stack = await startStack(options);
  started.push(stack);
  return stack;
}
afterEach(async () => {
  for (const stack of started.splice(0)) await stack.stop();
});
afterAll(() => fs.rmSync(home, { recursive: true, force: true }));

/** A stack in a process of its own, up and ready. */
async function stackProcess(): Promise<ChildProcess> {
  const register = path.join(repositoryRoot, 'libs/tooling/process/register.cjs');
  const script = path.join(__dirname, 'fixtures/stack.fixture.ts');
  const child = spawn(process.execPath, ['--conditions=source', '--require', register, script, home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return child;
}

const processesOf = () => {
  const up = readUpFile(homeLayout(home).upFile);
  return (up?.processes ?? []).map(({ pid, started }) => ({ pid, startTime: started }));
};

describe('a stack', () => {
  it('writes up.json when it answers, makes secrets only its owner reads, and leaves nothing running', async () => {
    const { upFile, secrets } = homeLayout(home);
    const stack = await start();
    const parts = processesOf();
    expect(parts).toHaveLength(2);
    expect(parts.every(isAlive)).toBe(true);
    expect((await liveStack(upFile))?.public_url).toBe(stack.up.public_url);
    expect(fs.statSync(secrets).mode & 0o777).toBe(0o700);
    expect(looseSecrets(secrets)).toEqual([]);
    expect(fs.readdirSync(secrets)).toEqual(expect.arrayContaining(['kek', 'admin-token', ...serviceNames.map((name) => `${name}.json`)]));
    await stack.stop();
    expect(parts.some(isAlive)).toBe(false);
    expect(await liveStack(upFile)).toBeUndefined();
  });

  it('refuses a second one on its folder and says who holds it; the folder is free after it', async () => {
    const first = await start();
    const second = startStack(fixtureStack(home));
    await expect(second).rejects.toThrow(FolderIsHeld);
    await expect(second).rejects.toThrow(new RegExp(`held by process ${process.pid} since \\d{4}-`));
    expect(processesOf().every(isAlive)).toBe(true);
    await first.stop();
    const third = await start();
    await third.stop();
  });

  it('killed, is found by the next one, which ends its orphans and takes over', async () => {
    const killed = await stackProcess();
    const orphans = processesOf();
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    expect(orphans.map(isAlive)).toEqual([true, true]);
    expect(await liveStack(homeLayout(home).upFile)).toBeUndefined();

    const said: string[] = [];
    const next = await start(fixtureStack(home, (text) => said.push(text)));
    expect(orphans.map(isAlive)).toEqual([false, false]);
    expect(said).toContain('ended what an earlier stack left behind: nats, postgres');
    await next.stop();
  });

  it('keeps its identity, its keys and its passwords over restarts', async () => {
    const read = (name: string) => fs.readFileSync(path.join(homeLayout(home).secrets, name), 'utf8');
    const first = await start();
    const before = [
      first.up.deployment_id,
      first.up.nats_url,
      first.up.database_host,
      read('kek'),
      read('admin-token'),
      read('token-key.pem'),
      read('gate.json'),
    ];
    await first.stop();
    const second = await start();
    expect([
      second.up.deployment_id,
      second.up.nats_url,
      second.up.database_host,
      read('kek'),
      read('admin-token'),
      read('token-key.pem'),
      read('gate.json'),
    ]).toEqual(before);
    await second.stop();
  });

  it('does not replace a key-encryption key that was lost', async () => {
    await (await start()).stop();
    const kek = path.join(homeLayout(home).secrets, 'kek');
    fs.renameSync(kek, `${kek}.lost`);
    await expect(startStack(fixtureStack(home))).rejects.toThrow(/kek is missing although/);
    fs.renameSync(`${kek}.lost`, kek);
    await start();
  });

  it.each(['postgres', 'nats'])('starts %s again when it is killed, on the same port', async (name) => {
    const restarted = deferred();
    const stack = await start(fixtureStack(home, (text) => /was started again/.test(text) && restarted.resolve(undefined)));
    const victim = stack.up.processes.find((part) => part.name === name);
    process.kill(victim?.pid ?? 0, 'SIGKILL');
    await restarted.promise;
    const now = readUpFile(homeLayout(home).upFile);
    expect(now?.processes.find((part) => part.name === name)?.pid).not.toBe(victim?.pid);
    expect([now?.nats_url, now?.database_host]).toEqual([stack.up.nats_url, stack.up.database_host]);
    await stack.stop();
  });
});

function deferred() {
  let resolve: (value: unknown) => void = () => undefined;
  const promise = new Promise((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe('withStack', () => {
  it('uses the stack that lives and leaves it running', async () => {
    const stack = await start();
    const used = await withStack(fixtureStack(home), async (up) => up.pid_started_at);
    expect(used).toBe(stack.up.pid_started_at);
    expect(await liveStack(homeLayout(home).upFile)).toBeDefined();
    await stack.stop();
  });

  it('waits for a stack that another command is starting, and uses it', async () => {
    const starting = startStack(fixtureStack(home));
    const said: string[] = [];
    const used = await withStack(
      fixtureStack(home, (text) => said.push(text)),
      async (up) => up.pid_started_at,
    );
    const stack = await starting;
    expect(used).toBe(stack.up.pid_started_at);
    expect(said).toEqual([`waiting for the stack of process ${process.pid}`]);
    await stack.stop();
  });

  it('starts one for the duration when none lives, also when the work fails', async () => {
    let parts: ReturnType<typeof processesOf> = [];
    const work = withStack(fixtureStack(home), async () => {
      parts = processesOf();
      throw new Error('the work failed');
    });
    await expect(work).rejects.toThrow('the work failed');
    expect(parts).toHaveLength(2);
    expect(parts.some(isAlive)).toBe(false);
  });
});
