import type { StreamRef } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { nextExpiry, settleOverdue } from '../domain/approval';
import type { Ports } from './ports';

/** Settles what nobody can decide any more; answers when the next approval of the run expires, null when none is pending. */
export async function attendRun(ports: Ports, stream: StreamRef, options: { atLeast: number }): Promise<number | null> {
  const now = (): number => ports.clock.now().getTime();
  const cached = await ports.ledger.state(runFold, stream);
  const { state } = cached.version < options.atLeast ? await ports.ledger.state(runFold, stream, { fresh: true }) : cached;
  for (let more = settleOverdue(state, now()).length > 0; more; ) {
    more = await ports.ledger.decide(runFold, stream, (run) => {
      const events = settleOverdue(run, now());
      return { events, result: events.length > 0 };
    });
  }
  return nextExpiry((await ports.ledger.state(runFold, stream)).state);
}
