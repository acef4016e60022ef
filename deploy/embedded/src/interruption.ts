import os from 'node:os';
import { EmbeddedFailure } from './embedded-failure';

const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Somebody asked the program to end. */
export class Interrupted extends EmbeddedFailure {
  /** As shells expect of a program that a signal ended. */
  readonly exitCode: number;
  constructor(signal: NodeJS.Signals) {
    super(`${signal}: stopped`);
    this.exitCode = 128 + (os.constants.signals[signal] ?? 0);
  }
}

export interface Interruption {
  /** Aborts at the first signal, with an `Interrupted` as its reason. */
  readonly signal: AbortSignal;
  /** Rejects at the first signal. */
  readonly interrupted: Promise<never>;
  forget(): void;
}

/** From now on a request to end is ours to fulfil. Further ones are ignored meanwhile: a terminal and npm both send one. */
export function listenForInterruption(): Interruption {
  const controller = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void => controller.abort(new Interrupted(signal));
  for (const signal of endingSignals) process.on(signal, onSignal);
  const interrupted = new Promise<never>((_, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
  });
  // Who only looks at the signal must not be ended by a rejection nobody waits for.
  interrupted.catch(() => undefined);
  return {
    signal: controller.signal,
    interrupted,
    forget: () => {
      for (const signal of endingSignals) process.off(signal, onSignal);
    },
  };
}
