import { budgetMonthOf, Problem } from '@fluidbox/contracts';
import { accountChanges, runFold } from '@fluidbox/run-stream';
import type { LimitedAccount } from '../domain/accounts';
import { type Admission, admit, type Reservation } from '../domain/admission';
import type { Estimate } from '../domain/estimate';
import { ModelRequestRefused, refusals } from '../domain/refusal';
import type { Caller } from './authorize';
import type { Ports } from './ports';
import { idleModelCallsMaxOf } from './run-rules';

/** A lost wake-up must not cost the whole wait. */
const lookAgainMs = 1_000;

/** Holds what the request may cost, or refuses it. Waits while others hold what it needs. */
export async function reserve(
  ports: Pick<Ports, 'ledger' | 'clock' | 'ids' | 'queue' | 'settings' | 'accounts'>,
  caller: Caller,
  estimate: Estimate,
  hungUp: AbortSignal,
): Promise<Reservation> {
  const reservationId = ports.ids.uuid();
  const { stream, generation, spec } = caller;
  const idleMax = idleModelCallsMaxOf(spec);
  const attempt = (accounts: readonly LimitedAccount[]): Promise<Admission | 'no_room'> =>
    ports.ledger
      .decide(runFold, stream, (run) => {
        const admission = admit(run, { reservationId, generation, estimate, idleMax, accounts, now: ports.clock.now().getTime() });
        return { ...admission, accounts: accountChanges(run, stream.org, admission.events) };
      })
      .catch((error: unknown) => {
        if (error instanceof Problem && error.code === 'budget_exhausted') return 'no_room';
        throw error;
      });
  const limits = (): Promise<readonly LimitedAccount[]> =>
    ports.accounts.limitedOf(stream.org, spec.agent.name, budgetMonthOf(ports.clock.now().getTime()));
  let patienceMs = ports.settings.reservationWaitMs;
  // Nearly always there is room in the accounts, so they are looked at only when the append was refused for want of it; that is what checks them.
  let accounts: readonly LimitedAccount[] = [];
  let isHead = false;
  for (;;) {
    let admission = await attempt(accounts);
    if (admission === 'no_room') {
      accounts = await limits();
      admission = await attempt(accounts);
    }
    // Taken by somebody else between the look and the append.
    if (admission === 'no_room') admission = { kind: 'wait' };
    switch (admission.kind) {
      case 'admitted':
        return admission.reservation;
      case 'refused':
        throw new ModelRequestRefused(admission.refusal);
      case 'wait': {
        // That nothing is free is checked by no append, so it must not rest on a fold that has not heard what was settled elsewhere.
        if (!isHead) {
          await ports.ledger.state(runFold, stream, { fresh: true });
          isHead = true;
          continue;
        }
        if (patienceMs <= 0 || hungUp.aborted) throw new ModelRequestRefused(refusals.budgetReserved());
        const began = performance.now();
        await ports.queue.wait(caller.stream.id, Math.min(patienceMs, lookAgainMs), hungUp);
        patienceMs -= performance.now() - began;
        isHead = false;
        if (accounts.length > 0) accounts = await limits();
      }
    }
  }
}
