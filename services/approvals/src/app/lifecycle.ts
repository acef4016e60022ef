import type { StreamRef } from '@fluidbox/contracts';
import type { StreamLoop } from '@fluidbox/service-kit';

export interface LifecyclePorts {
  readonly loop: StreamLoop;
  readonly runsWithTimers: () => Promise<readonly { readonly stream: StreamRef; readonly dueAt: number }[]>;
}

/**
 * At start the timers are set again from the table: one query, and no run is read before it is due. What became due meanwhile, by time or because its run
 * ended, is due now.
 */
export const lifecycle = ({ loop, runsWithTimers }: LifecyclePorts): { start(): Promise<void>; stop(): Promise<void> } => ({
  async start() {
    for (const { stream, dueAt } of await runsWithTimers()) loop.schedule(stream, dueAt);
    loop.poll();
  },
  stop: () => loop.stop(),
});
