import os from 'node:os';
import type { UpFile } from '@fluidbox/contracts';
import { homeLayout } from './layout';
import { type RunningStack, type StackOptions, startStack } from './stack';
import { liveStack } from './up-file';

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The stack of the folder when it lives, else one that lives as long as `work`. */
export async function withStack<T>(options: StackOptions, work: (up: UpFile) => Promise<T>): Promise<T> {
  const live = await liveStack(homeLayout(options.home).upFile);
  if (live) return work(live);
  const stack = await startStack(options);
  const interrupted = endOnSignal(stack, options.say);
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
