import { setTimeout as delay } from 'node:timers/promises';
import type { ManagedChild } from './child-process';

const BACKOFF_MS = { first: 100, max: 5_000 };
/** Lived this long: what made it end before is taken for over. */
const HEALTHY_MS = 30_000;

export interface Supervised {
  readonly name: string;
  current(): ManagedChild;
  stop(): Promise<void>;
}

export interface SupervisionOptions {
  readonly name: string;
  readonly first: ManagedChild;
  /** Starts it anew; rejects when it does not come up. */
  readonly start: () => Promise<ManagedChild>;
  readonly onRestart?: (child: ManagedChild) => void;
  readonly say: (text: string) => void;
}

/** Keeps one process running: when it ends unasked it is started again, ever more slowly while it keeps ending. */
export function supervise({ name, first, start, onRestart, say }: SupervisionOptions): Supervised {
  let child = first;
  let startedAt = Date.now();
  const stopping = new AbortController();
  let backoffMs: number = BACKOFF_MS.first;

  const startAgain = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      if (Date.now() - startedAt > HEALTHY_MS) backoffMs = BACKOFF_MS.first;
      await delay(backoffMs, undefined, { signal: stopping.signal });
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MS.max);
      try {
        child = await start();
        startedAt = Date.now();
        onRestart?.(child);
        say(`${name} was started again`);
        return;
      } catch (error) {
        say(`${name} did not start again: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  };
  const watch = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const { code, signal } = await child.exited;
      if (stopping.signal.aborted) return;
      say(`${name} ended (${signal ?? `exit ${code}`}); starting it again`);
      await startAgain();
    }
  };
  const watching = watch().catch((error: unknown) => {
    // The wait between two starts is cut short by stop(); anything else is a bug that must be seen.
    if (!stopping.signal.aborted) throw error;
  });
  return {
    name,
    current: () => child,
    stop: async () => {
      stopping.abort();
      await child.end();
      await watching;
      // A start that was under way when we were asked to stop has come up meanwhile.
      await child.end();
    },
  };
}
