import type { StreamRef } from '@fluidbox/contracts';
import type { StreamLoop } from '@fluidbox/service-kit';

export interface LifecyclePorts {
  readonly loop: StreamLoop;
  readonly runsWithTimers: () => Promise<readonly StreamRef[]>;
}

/** At start every run with a pending approval is attended as if it had just moved: what expired meanwhile is settled, the rest gets its timer. */
export const lifecycle = ({ loop, runsWithTimers }: LifecyclePorts): { start(): Promise<void>; stop(): Promise<void> } => ({
  async start() {
    for (const stream of await runsWithTimers()) loop.wake(stream, Number.POSITIVE_INFINITY);
  },
  stop: () => loop.stop(),
});
