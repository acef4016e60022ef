import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { isAlive } from '@fluidbox/tooling/identity';
import { fixtureStack } from './fixtures/stack.fixture';
import { Interrupted, listenForInterruption } from './interruption';
import { homeLayout } from './layout';
import { startStack } from './stack';
import { readUpFile } from './up-file';
import { withStack } from './with-stack';

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-interrupted-'));
afterAll(() => fs.rmSync(home, { recursive: true, force: true }));

/** jest gives its tests a copy of `process` that real signals do not reach. */
const receive = (signal: NodeJS.Signals) => process.emit(signal, signal);

describe('an interruption', () => {
  it('is heard once, with the exit code shells expect, and no more after it was forgotten', async () => {
    const { signal, interrupted, forget } = listenForInterruption();
    receive('SIGTERM');
    await expect(interrupted).rejects.toMatchObject({ exitCode: 143 });
    expect(signal.aborted).toBe(true);
    receive('SIGTERM');
    forget();
    expect(process.listenerCount('SIGTERM')).toBe(0);
  });

  it('during the start of a stack ends what has been started', async () => {
    const controller = new AbortController();
    const start = startStack({
      ...fixtureStack(home, (text) => text.startsWith('starting Postgres') && controller.abort(new Interrupted('SIGINT'))),
      signal: controller.signal,
    });
    await expect(start).rejects.toBeInstanceOf(Interrupted);
    expect(fs.readdirSync(homeLayout(home).pids)).toEqual([]);
    expect(readUpFile(homeLayout(home).upFile)).toBeUndefined();
  });

  it('takes the stack with it that a command had started', async () => {
    let parts: { pid: number; startTime: string }[] = [];
    const command = withStack(fixtureStack(home), async (up) => {
      parts = up.processes.map(({ pid, started }) => ({ pid, startTime: started }));
      receive('SIGINT');
      return new Promise<never>(() => undefined);
    });
    await expect(command).rejects.toMatchObject({ exitCode: 130 });
    expect(parts).toHaveLength(2);
    expect(parts.some(isAlive)).toBe(false);
  });
});
