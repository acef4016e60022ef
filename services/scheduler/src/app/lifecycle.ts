import type { StreamRef } from '@fluidbox/contracts';
import type { StreamLoop } from '@fluidbox/service-kit';

export interface LifecyclePorts {
  readonly loop: StreamLoop;
  /** Runs of the table and of the folders on this host that belong to this deployment. */
  readonly knownRuns: () => Promise<readonly StreamRef[]>;
  /** Why this host is not fit for sandboxes, or null. */
  readonly hostRefusal: () => string | null;
  readonly onRefusal: (reason: string) => void;
  /** Removes what sandboxes that ended without their supervisor left on this host. */
  readonly tidyHost: () => void;
}

/**
 * At start each run that has a row or a folder here is driven as if it had just moved: live sandboxes are adopted, those without a live run are
 * ended. Stopping leaves the sandboxes alone.
 */
export const lifecycle = (ports: LifecyclePorts): { start(): Promise<void>; stop(): Promise<void> } => ({
  async start() {
    const refusal = ports.hostRefusal();
    if (refusal !== null) ports.onRefusal(refusal);
    // Before anything starts: a sandbox that is just being made has nothing in it either.
    ports.tidyHost();
    for (const stream of await ports.knownRuns()) ports.loop.wake(stream, Number.POSITIVE_INFINITY);
  },
  stop: () => ports.loop.stop(),
});
