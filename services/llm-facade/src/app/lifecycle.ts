import type { Ports } from './ports';
import type { RequestsInFlight } from './requests-in-flight';
import { sweepReservations } from './sweep-reservations';

const sweepEveryMs = 60_000;
const stopGraceMs = 5_000;

export function lifecycle(ports: Ports, requests: RequestsInFlight): { start(): Promise<void>; stop(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<unknown> = Promise.resolve();
  const sweep = (): void => {
    sweeping = sweeping
      .then(() => sweepReservations(ports))
      .catch((error: unknown) => ports.log.error({ err: error }, 'expired reservations could not be looked for; it is tried again'));
  };
  return {
    async start() {
      timer = setInterval(sweep, sweepEveryMs);
      timer.unref();
      // What a dead facade left is settled at the next start, not a minute later.
      sweep();
    },
    async stop() {
      clearInterval(timer);
      await sweeping;
      await requests.drain(stopGraceMs);
      await ports.upstreams.close();
    },
  };
}
