// One set-up at a time per clone. Whoever comes second waits, then finds everything ready.

import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pidLock from '../../process/pid-lock.cjs';
import { say, toolsDir } from './layout.mjs';

const POLL_MS = 200;

export async function withTurn(work) {
  fs.mkdirSync(toolsDir, { recursive: true });
  const file = path.join(toolsDir, 'setup.lock');
  let announced;
  for (;;) {
    const { release, holder } = pidLock.tryLock(file);
    if (release) {
      try {
        return await work();
      } finally {
        release();
      }
    }
    if (announced !== holder.pid) say(`waiting for process ${holder.pid}, which has been setting up since ${holder.since}`);
    announced = holder.pid;
    await delay(POLL_MS);
  }
}
