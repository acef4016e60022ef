import { accountChanges, runFold } from '@fluidbox/run-stream';
import { settlePessimistically } from '../domain/settlement';
import type { Ports } from './ports';

/** Reservations whose facade died would hold budget for ever: after their time they are settled as if all of it was spent. */
export async function sweepReservations(ports: Pick<Ports, 'ledger' | 'clock' | 'openRuns' | 'log' | 'queue'>): Promise<number> {
  let settled = 0;
  for (const stream of await ports.openRuns()) {
    const now = ports.clock.now().getTime();
    const { state } = await ports.ledger.state(runFold, stream);
    for (const { reservationId, expiresAt } of [...state.reservations.values()]) {
      if (expiresAt > now) continue;
      try {
        await ports.ledger.decide(runFold, stream, (run) => {
          const events = settlePessimistically(run, reservationId, { lost: true });
          return { events, accounts: accountChanges(run, stream.org, events), result: null };
        });
        settled += 1;
        ports.queue.wake(stream.id);
      } catch (error) {
        ports.log.warn(
          { run_id: stream.id, reservation_id: reservationId, err: error },
          'an expired reservation was not settled; it is tried again',
        );
      }
    }
  }
  return settled;
}
