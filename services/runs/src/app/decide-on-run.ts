import { Problem, runStream, type StreamRef } from '@fluidbox/contracts';
import { type RunState, runFold } from '@fluidbox/run-stream';
import { type Decided, refuseReport } from '../domain/run';
import type { Ports } from './ports';

/**
 * A decision that appends is checked by the store; one that refuses is not, so it must not rest on a cache that has not heard the newest. It is
 * made again at the head before it is told.
 */
export async function decideOnRun<R>(
  ports: Ports,
  request: { readonly run_id: string; readonly org: string },
  decide: (run: RunState, now: number) => (Decided<R> & { readonly setGeneration?: number }) | Problem,
): Promise<R> {
  const stream = runStream(request.run_id, request.org);
  const attempt = (): Promise<R | Problem> =>
    ports.ledger.decide<RunState, R | Problem>(runFold, stream, (run) => {
      const decided = decide(run, ports.clock.now().getTime());
      return decided instanceof Problem ? { events: [], result: decided } : decided;
    });
  const first = await attempt();
  if (!(first instanceof Problem)) return first;
  await ports.ledger.state(runFold, stream, { fresh: true });
  const second = await attempt();
  if (second instanceof Problem) throw second;
  return second;
}

/** The run as cached, or why a runner of this generation is not listened to, as the head of the stream says. */
export async function reportingRun(
  ports: Ports,
  stream: StreamRef,
  generation: number,
): Promise<{ run: RunState; refusal: Problem | null }> {
  const cached = (await ports.ledger.state(runFold, stream)).state;
  if (refuseReport(cached, generation) === null) return { run: cached, refusal: null };
  const run = (await ports.ledger.state(runFold, stream, { fresh: true })).state;
  return { run, refusal: refuseReport(run, generation) };
}
