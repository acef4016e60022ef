import { runStream } from '@fluidbox/contracts';
import type { StreamLoop } from '@fluidbox/service-kit';
import type { Heartbeats } from './heartbeats';

const flushEveryMs = 5_000;

export interface LifecyclePorts {
  readonly loop: StreamLoop;
  readonly heartbeats: Heartbeats;
  readonly openRuns: () => Promise<readonly { runId: string; org: string }[]>;
  readonly onFlushFailure: (error: unknown) => void;
}

/** At start every open run is driven from its stream as if it had just moved; that is all there is to recovery. */
export function lifecycle(ports: LifecyclePorts): { start(): Promise<void>; stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  const flush = (): Promise<void> => ports.heartbeats.flush().catch(ports.onFlushFailure);
  return {
    async start() {
      for (const { runId, org } of await ports.openRuns()) ports.loop.wake(runStream(runId, org), Number.POSITIVE_INFINITY);
      timer = setInterval(() => void flush(), flushEveryMs);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await ports.loop.stop();
      await flush();
    },
  };
}
