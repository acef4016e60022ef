import os from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { UpFile } from '@fluidbox/contracts';
import { FolderIsHeld } from './holder';
import { homeLayout } from './layout';
import { type RunningStack, type StackOptions, startStack } from './stack';
import { liveStack } from './up-file';

const WAIT_MS_MAX = 120_000;
const POLL_MS = 250;
const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * The stack of the folder when it lives, else one that lives as long as `work`. While another process is starting or stopping one there,
 * we wait for what comes of it.
 */
export async function withStack<T>(options: StackOptions, work: (up: UpFile) => Promise<T>): Promise<T> {
  const { upFile } = homeLayout(options.home);
  const until = Date.now() + WAIT_MS_MAX;
  for (let announced = false; ; announced = true) {
    const live = await liveStack(upFile);
    if (live) return work(live);
    const stack = await startUnlessHeld(options);
    if (!(stack instanceof FolderIsHeld)) return workAndStop(stack, options.say, work);
    if (Date.now() > until) throw stack;
    if (!announced) options.say(`waiting for the stack of process ${stack.holder.pid}`);
    await delay(POLL_MS);
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

async function workAndStop<T>(stack: RunningStack, say: (text: string) => void, work: (up: UpFile) => Promise<T>): Promise<T> {
  const interrupted = endOnSignal(stack, say);
  try {
    return await work(stack.up);
  } finally {
    interrupted.forget();
    await stack.stop();
  }
}

/** A command that is interrupted takes the stack it started with it, and ends as shells expect of an interrupted program. */
function endOnSignal(stack: RunningStack, say: (text: string) => void): { forget(): void } {
  let asked = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (asked) return;
    asked = true;
    say(`${signal}: stopping`);
    void stack.stop().finally(() => process.exit(128 + (os.constants.signals[signal] ?? 0)));
  };
  for (const signal of endingSignals) process.on(signal, onSignal);
  return {
    forget: () => {
      for (const signal of endingSignals) process.off(signal, onSignal);
    },
  };
}
