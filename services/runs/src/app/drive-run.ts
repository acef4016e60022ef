import type { StreamRef } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { nextStep, type Step } from '../domain/next-step';
import type { Ports } from './ports';

/**
 * Brings a run as far as it can go now: step by step until nothing is left to append. Answers when to look again, null when the run is over.
 * `atLeast`: the version that whoever woke us has seen. A cached fold that is behind it is read to the head; otherwise a step is decided from the
 * cache, and a conflict tells what was missed.
 */
export async function driveRun(ports: Ports, stream: StreamRef, options: { atLeast: number }): Promise<number | null> {
  const step = (lastSignAt: number) => (run: Parameters<typeof nextStep>[0]) =>
    nextStep(run, { now: ports.clock.now().getTime(), lastSignAt, silenceMs: ports.heartbeatSilenceMs });
  const cached = await ports.ledger.state(runFold, stream);
  if (cached.version < options.atLeast) await ports.ledger.state(runFold, stream, { fresh: true });
  for (;;) {
    const { state } = await ports.ledger.state(runFold, stream);
    let next: Step = step(ports.heartbeats.lastSignAt(stream.id))(state);
    if (next.events.length === 0) return next.wakeAt;
    // Something is to be done. If it is silence that makes it so, another process may have heard the runner.
    const lastSignAt = await ports.heartbeats.lastSignAnywhere(stream.id);
    next = step(lastSignAt)(state);
    if (next.events.length === 0) return next.wakeAt;
    await ports.ledger.decide(runFold, stream, (run) => {
      const { events, closes } = step(lastSignAt)(run);
      return { events, result: undefined, closes };
    });
  }
}
