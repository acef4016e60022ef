import type { FailedUpstream } from '@fluidbox/contracts';
import { type AttemptEnd, failoverTimes, verdictOn } from '../domain/failover';
import type { Caller } from './authorize';
import { type NamedUpstream, type Ports, type Upstream, type UpstreamAnswer, UpstreamFailed } from './ports';

/** Who answered, and who was asked in vain before. */
export interface Served {
  readonly upstream: string | null;
  readonly attempts: readonly FailedUpstream[];
}

export interface Asking {
  readonly caller: Caller;
  readonly streamed: boolean;
  /** `firstByteMs`: undefined where nobody stands behind it, and never did. */
  send(upstream: Upstream, firstByteMs: number | undefined): Promise<UpstreamAnswer>;
  /** The upstream may charge what it was sent and nobody knows: that is booked before the next one is asked. Answers where. */
  bookLost(): Promise<string | null>;
}

/**
 * Asks one upstream after the other until one begins to answer. Of an answer whose head has come nothing is asked again: from there on bytes go to the runner.
 * The last one's answer or failure is the runner's, whatever it is.
 */
export async function askUpstreams(
  ports: Pick<Ports, 'log' | 'settings' | 'upstreams'>,
  upstreams: readonly NamedUpstream[],
  asking: Asking,
): Promise<{ answer: UpstreamAnswer; served: Served }> {
  const { streamMs, wholeMs, totalMs } = ports.settings.failover ?? failoverTimes;
  const ownMs = asking.streamed ? streamMs : wholeMs;
  const began = performance.now();
  const attempts: FailedUpstream[] = [];
  for (const [at, { name, upstream }] of upstreams.entries()) {
    const leftMs = Math.max(1, Math.ceil(totalMs - (performance.now() - began)));
    const isLast = at === upstreams.length - 1;
    let answer: UpstreamAnswer | undefined;
    let error: unknown;
    try {
      answer = await asking.send(upstream, name === null ? undefined : isLast ? leftMs : Math.min(ownMs, leftMs));
    } catch (thrown) {
      error = thrown;
    }
    const end = endOf(answer, error);
    const isOver = isLast || name === null || performance.now() - began >= totalMs;
    const verdict = isOver ? 'done' : verdictOn(end);
    if (name === null || verdict === 'done') {
      if (answer === undefined) throw error;
      return { answer, served: { upstream: name, attempts } };
    }
    answer?.discard();
    const lost = verdict === 'next_charged' ? await asking.bookLost() : null;
    attempts.push({ upstream: name, ...outcomeOf(end), ...(lost === null ? {} : { reservation_id: lost }) });
    ports.log.warn(
      { run_id: asking.caller.stream.id, upstream: name, ...outcomeOf(end), err: error, failed_attempts: ports.upstreams.countFailure() },
      'an upstream failed before its answer began; the next one is asked',
    );
  }
  throw new UpstreamFailed(false, 'there is no upstream to ask', { cause: null });
}

function endOf(answer: UpstreamAnswer | undefined, error: unknown): AttemptEnd {
  if (answer !== undefined) return { kind: 'answered', status: answer.status };
  if (!(error instanceof UpstreamFailed)) return { kind: 'lost' };
  if (!error.sent) return { kind: 'not_sent' };
  return { kind: error.timedOut ? 'timeout' : 'lost' };
}

const outcomeOf = (end: AttemptEnd): Pick<FailedUpstream, 'outcome' | 'status'> =>
  end.kind === 'answered' ? { outcome: 'status', status: end.status } : { outcome: end.kind === 'timeout' ? 'timeout' : 'unreachable' };
