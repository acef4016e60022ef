import { setTimeout as delay } from 'node:timers/promises';
import type { UpFile } from '@fluidbox/contracts';
import { FolderIsHeld } from './holder';
import { listenForInterruption } from './interruption';
import { homeLayout } from './layout';
import { type RunningStack, type StackOptions, startStack } from './stack';
import { liveStack } from './up-file';

const WAIT_MS_MAX = 120_000;
const POLL_MS = 250;

/**
 * The stack of the folder when it lives, else one that lives as long as `work`. While another process is starting or stopping one there,
 * we wait for what comes of it. A command that is interrupted takes the stack it started with it (rejects with `Interrupted`).
 */
export async function withStack<T>(options: StackOptions, work: (up: UpFile) => Promise<T>): Promise<T> {
  const { upFile } = homeLayout(options.home);
  const until = Date.now() + WAIT_MS_MAX;
  for (let announced = false; ; announced = true) {
    const live = await liveStack(upFile);
    if (live) return work(live);
    const outcome = await workOnOwnStack(options, work);
    if (!('heldBy' in outcome)) return outcome.result;
    if (Date.now() > until) throw outcome.heldBy;
    if (!announced) options.say(`waiting for the stack of process ${outcome.heldBy.holder.pid}`);
    await delay(POLL_MS);
  }
}

async function workOnOwnStack<T>(
  options: StackOptions,
  work: (up: UpFile) => Promise<T>,
): Promise<{ result: T } | { heldBy: FolderIsHeld }> {
  // Before the start: what has been started when Ctrl-C comes has to be ended too.
  const { signal, interrupted, forget } = listenForInterruption();
  try {
    const stack = await startUnlessHeld({ ...options, signal });
    if (stack instanceof FolderIsHeld) return { heldBy: stack };
    try {
      return { result: await Promise.race([work(stack.up), interrupted]) };
    } finally {
      await stack.stop();
    }
  } finally {
    forget();
  }
}

async function startUnlessHeld(options: StackOptions): Promise<RunningStack | FolderIsHeld> {
  try {
    return await startStack(options);
  } catch (error) {
    if (error instanceof FolderIsHeld) return error;
    throw error;
  }
}
