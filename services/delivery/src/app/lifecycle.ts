import type { Clock } from '@fluidbox/service-kit';
import type { Courier } from './courier';
import type { DeliveryTable } from './ports';

export interface LifecyclePorts {
  readonly courier: Pick<Courier, 'wake' | 'stop'>;
  readonly deliveries: Pick<DeliveryTable, 'forgetSettledBefore'>;
  readonly clock: Clock;
  readonly record: () => Promise<void>;
  readonly closeConnections: () => void;
  readonly onFailure: (doing: string, error: unknown) => void;
}

const tidyMs = 3_600_000;
/** The ledger keeps for ever that something was delivered; how, for this long. */
const keptMs = 30 * 86_400_000;

/** At start: what a stopped process left due or unrecorded. Every hour: the same, and old deliveries go. */
export function lifecycle(ports: LifecyclePorts): { start(): Promise<void>; stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  const tidy = (): void => {
    ports.record().catch((error: unknown) => ports.onFailure('recording', error));
    const before = new Date(ports.clock.now().getTime() - keptMs);
    ports.deliveries.forgetSettledBefore(before).catch((error: unknown) => ports.onFailure('forgetting old deliveries', error));
  };
  return {
    async start() {
      tidy();
      timer = setInterval(tidy, tidyMs);
      timer.unref();
      ports.courier.wake();
    },
    async stop() {
      clearInterval(timer);
      await ports.courier.stop();
      ports.closeConnections();
    },
  };
}
