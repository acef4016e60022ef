import { runStream } from '@fluidbox/contracts';
import type { StreamLoop } from '@fluidbox/service-kit';
import type { Heartbeats } from './heartbeats';

const flushEveryMs = 5_000;
const sweepEveryMs = 5 * 60_000;

export interface LifecyclePorts {
  readonly loop: StreamLoop;
  readonly heartbeats: Heartbeats;
  readonly openRuns: () => Promise<readonly { runId: string; org: string }[]>;
  /** Erases what was promised or has outlived its retention. */
  readonly sweep: () => Promise<void>;
  readonly onSweepFailure: (error: unknown) => void;
  readonly onFlushFailure: (error: unknown) => void;
}

/** At start every open run is driven from its stream as if it had just moved; that is all there is to recovery. */
export function lifecycle(ports: LifecyclePorts): { start(): Promise<void>; stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let sweeper: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> | null = null;
  const flush = (): Promise<void> => ports.heartbeats.flush().catch(ports.onFlushFailure);
  const sweep = (): void => {
    sweeping ??= ports
      .sweep()
      .catch(ports.onSweepFailure)
      .finally(() => {
        sweeping = null;
      });
  };
  return {
    async start() {
      for (const { runId, org } of await ports.openRuns()) ports.loop.wake(runStream(runId, org), Number.POSITIVE_INFINITY);
      timer = setInterval(() => void flush(), flushEveryMs);
      timer.unref();
      sweep();
      sweeper = setInterval(sweep, sweepEveryMs);
      sweeper.unref();
    },
    async stop() {
      clearInterval(timer);
      clearInterval(sweeper);
      await ports.loop.stop();
      await sweeping;
      await flush();
    },
  };
}
