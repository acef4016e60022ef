import type { StreamRef } from '@fluidbox/contracts';
import { accountChanges, type RunState, runFold } from '@fluidbox/run-stream';
import { failureToTell, nextStep, type Step, type Watch } from '../domain/next-step';
import type { Ports } from './ports';

/** As much as a runner may say about its own end. */
const summaryCharsMax = 4_000;

/**
 * Brings a run as far as it can go now: step by step until nothing is left to append. Answers when to look again, null when the run is over.
 * `atLeast`: the version that whoever woke us has seen. A cached fold that is behind it is read to the head; otherwise a step is decided from the
 * cache, and a conflict tells what was missed.
 */
export async function driveRun(ports: Ports, stream: StreamRef, options: { atLeast: number }): Promise<number | null> {
  const step = (lastSignAt: number, failure?: Watch['failure']) => (run: RunState) =>
    nextStep(run, {
      now: ports.clock.now().getTime(),
      lastSignAt,
      silenceMs: ports.heartbeatSilenceMs,
      ...(failure === undefined ? {} : { failure }),
    });
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
    const failure = await readFailure(ports, stream, state);
    await ports.ledger.decide(runFold, stream, (run) => {
      // It failed while we looked: the next round reads why.
      if (failureToTell(run) !== (failure?.seq ?? null)) return { events: [], result: undefined };
      const { events, closes } = step(lastSignAt, failure)(run);
      return { events, result: undefined, closes, accounts: accountChanges(run, stream.org, events) };
    });
  }
}

async function readFailure(ports: Ports, stream: StreamRef, run: RunState): Promise<Watch['failure']> {
  const seq = failureToTell(run);
  if (seq === null) return undefined;
  const content = await ports.ledger.content(stream, seq, 'rest');
  const text = (content as { stderr_tail?: unknown } | null)?.stderr_tail;
  return { seq, text: typeof text === 'string' ? text.trim().slice(0, summaryCharsMax) : null };
}
