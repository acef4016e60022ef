import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { identify, isAlive } from '../process/identity.cjs';
import { holderOf, tryLock } from '../process/pid-lock.cjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-lock-'));
const module_ = path.resolve(__dirname, '../process/pid-lock.cjs');
let count = 0;
const newFile = () => path.join(dir, `lock-${count++}`);

afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));

/** A process that takes the lock and says so. */
async function otherHolder(file: string) {
  const code = `const {tryLock}=require(${JSON.stringify(module_)});console.log(tryLock(${JSON.stringify(file)}).release?'mine':'held');setInterval(()=>{},1e6)`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [answer] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, answer: answer.toString().trim() };
}

describe('process identity', () => {
  it('knows a living process and not one that has ended', async () => {
    const child = spawn('sleep', ['60']);
    const identity = identify(child.pid ?? 0);
    expect(isAlive(identity)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isAlive(identity)).toBe(false);
  });

  it('does not take a later process with the same pid for the first', () => {
    expect(isAlive({ pid: process.pid, startTime: 'before' })).toBe(false);
    expect(isAlive(identify())).toBe(true);
  });
});

describe('pid lock', () => {
  it('is refused while a living process holds it, naming the holder, and free after its release', () => {
    const file = newFile();
    const first = tryLock(file, { mode: 'up' });
    expect(tryLock(file).holder).toMatchObject({ pid: process.pid, mode: 'up' });
    first.release?.();
    expect(holderOf(file)).toBeUndefined();
    expect(tryLock(file).release).toBeDefined();
  });

  it('passes on when its holder was killed', async () => {
    const file = newFile();
    const { child, answer } = await otherHolder(file);
    expect(answer).toBe('mine');
    expect(tryLock(file).holder?.pid).toBe(child.pid);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(tryLock(file).release).toBeDefined();
  });

  it('goes to exactly one of many who find a dead holder', async () => {
    const file = newFile();
    fs.writeFileSync(file, JSON.stringify({ pid: process.pid, startTime: 'before', since: 'then' }));
    const others = await Promise.all(Array.from({ length: 6 }, () => otherHolder(file)));
    expect(others.map(({ answer }) => answer).sort()).toEqual(['held', 'held', 'held', 'held', 'held', 'mine']);
    for (const { child } of others) child.kill('SIGKILL');
    expect(fs.readdirSync(dir).filter((name) => name.includes('.dead-') || name.includes('.draft-'))).toEqual([]);
  });

  it('does not release what another has taken since', () => {
    const file = newFile();
    const first = tryLock(file);
    fs.rmSync(file);
    tryLock(file);
    first.release?.();
    expect(holderOf(file)?.pid).toBe(process.pid);
  });
});
