import { runFold } from '@fluidbox/run-stream';
import { admit, type Reservation } from '../domain/admission';
import type { Estimate } from '../domain/estimate';
import { ModelRequestRefused, refusals } from '../domain/refusal';
import type { Caller } from './authorize';
import type { Ports } from './ports';

/** A lost wake-up must not cost the whole wait. */
const lookAgainMs = 1_000;

/** Holds what the request may cost, or refuses it. Waits while others hold what it needs. */
export async function reserve(
  ports: Pick<Ports, 'ledger' | 'clock' | 'ids' | 'queue' | 'settings'>,
  caller: Caller,
  estimate: Estimate,
  hungUp: AbortSignal,
): Promise<Reservation> {
  const reservationId = ports.ids.uuid();
  let patienceMs = ports.settings.reservationWaitMs;
  for (;;) {
    const admission = await ports.ledger.decide(runFold, caller.stream, (run) =>
      admit(run, { reservationId, generation: caller.generation, estimate, now: ports.clock.now().getTime() }),
    );
    switch (admission.kind) {
      case 'admitted':
        return admission.reservation;
      case 'refused':
        throw new ModelRequestRefused(admission.refusal);
      case 'wait': {
        if (patienceMs <= 0 || hungUp.aborted) throw new ModelRequestRefused(refusals.budgetReserved());
        const began = performance.now();
        await ports.queue.wait(caller.stream.id, Math.min(patienceMs, lookAgainMs), hungUp);
        patienceMs -= performance.now() - began;
      }
    }
  }
}
