import type { Reservation } from '../domain/admission';
import { type Gap, gapEvent } from '../domain/coverage';
import type { Answer, Breach, ModelCall, ModelRoute, ScreenedRequest } from '../domain/dialect';
import type { Estimate } from '../domain/estimate';
import { isDeep } from '../domain/json';
import { ModelRequestRefused, refusals } from '../domain/refusal';
import { settle, settlePessimistically } from '../domain/settlement';
import { costMicroUsd, noUsage } from '../domain/usage';
import type { Served } from './ask-upstreams';
import type { Caller } from './authorize';
import { book, bookSpend, emittedCalls, ledgerCallId, ledgerTool } from './book';
import type { Exchange, Ports, UpstreamAnswer } from './ports';
import { coverageModeOf } from './run-rules';

export interface Relay {
  readonly caller: Caller;
  readonly route: ModelRoute;
  readonly request: ScreenedRequest;
  readonly reservation: Reservation;
  readonly estimate: Estimate;
  readonly startedAt: number;
  readonly answer: UpstreamAnswer;
  readonly served: Served;
  readonly exchange: Exchange;
}

/** As nginx writes it; there is no status of the provider. */
const clientClosedRequest = 499;
const jsonAnswerBytesMax = 32 * 1024 * 1024;

/** Passes the answer to the runner and books it, in an order that a crash cannot turn into unbooked spend or an unseen call. */
export async function relayAnswer(ports: Ports, relay: Relay): Promise<void> {
  if (relay.answer.contentType === 'text/event-stream') return relayStream(ports, relay);
  if (relay.answer.contentType === 'application/json') return relayJson(ports, relay);
  relay.answer.discard();
  await bookPessimistically(ports, relay);
  throw new ModelRequestRefused(
    refusals.upstreamUnusable(`the model provider answered with ${relay.answer.contentType || 'no content type'}, which cannot be metered`),
  );
}

/**
 * Bytes go through as they come. Only the last event of an answer that calls a tool waits: before it leaves, its calls are in the ledger, because the
 * gate may be asked about them at once. An answer without a call ends for the runner while it is booked: until then its reservation holds what it may
 * have cost, and if this process dies in between it is charged in full. A breach stops the stream before the bytes that carry it.
 */
async function relayStream(ports: Ports, relay: Relay): Promise<void> {
  const { answer, exchange, route, request } = relay;
  const meter = route.dialect.streamMeter(request, { stopsAtBreach: coverageModeOf(relay.caller.spec) !== 'report' });
  let booking: Promise<void> | undefined;
  // Once, also when it failed: a second attempt could book the same answer twice.
  const bookOnce = (): Promise<void> => {
    booking ??= bookAnswer(ports, relay, answer.status, meter.result());
    return booking;
  };
  const bookThenWrite = async (bytes: Buffer, finishedAt: number): Promise<void> => {
    await exchange.write(bytes.subarray(0, finishedAt));
    await bookOnce();
    await exchange.write(bytes.subarray(finishedAt));
  };
  let failure: unknown;
  let stopped = false;
  exchange.head(answer.status, { ...answer.headers, 'cache-control': 'no-cache' });
  try {
    await answer.read((bytes) => {
      const sign = meter.push(bytes);
      if (sign.kind === 'stop') {
        stopped = true;
        answer.discard();
        return undefined;
      }
      if (sign.kind === 'finished') {
        if (!endsBeforeItIsBooked(meter.result())) return bookThenWrite(bytes, sign.finishedAt);
        const written = exchange.write(bytes);
        // Its failure is met below.
        bookOnce().catch(() => undefined);
        return written;
      }
      return exchange.write(bytes);
    });
  } catch (error) {
    failure = error;
  }
  const complete = failure === undefined && !stopped && booking !== undefined;
  if (complete && endsBeforeItIsBooked(meter.result())) {
    exchange.end();
    return bookBehind(ports, relay, bookOnce());
  }
  try {
    await bookOnce();
    if (stopped && meter.result().breach !== null) await bookBreachAfterEnd(ports, relay, meter.result());
  } finally {
    if (complete) exchange.end();
    else exchange.cut();
  }
  if (failure !== undefined && !exchange.hungUp.aborted) {
    ports.log.warn(
      { run_id: relay.caller.stream.id, reservation_id: relay.reservation.reservationId, err: failure },
      'a model stream was cut; what was seen of it is booked',
    );
  }
}

/** Nobody can be asked about a call of it. */
const endsBeforeItIsBooked = ({ calls, breach }: Answer): boolean => calls.length === 0 && breach === null;

/** The answer has left, so there is nobody to tell; what it cost stays reserved until that is charged. */
async function bookBehind(ports: Ports, { caller, reservation }: Relay, booking: Promise<void>): Promise<void> {
  try {
    await booking;
  } catch (error) {
    ports.log.error(
      { run_id: caller.stream.id, reservation_id: reservation.reservationId, err: error },
      'an answer of a model could not be booked; what was reserved for it is charged later',
    );
  }
}

/** A breach that came after the last event: the answer is booked already, the gap is not. */
const bookBreachAfterEnd = (ports: Ports, { caller }: Relay, { breach }: Answer): Promise<boolean> =>
  book(ports, caller.stream, (run) => {
    if (breach === null) return [];
    const gap = gapOf(caller, breach);
    return run.modelCalls.get(gap.toolCallId)?.closed ? [] : [gapEvent(gap)];
  });

async function relayJson(ports: Ports, relay: Relay): Promise<void> {
  const { answer, exchange, route, request } = relay;
  const body = await collect(answer).catch(async (error: unknown) => {
    await bookPessimistically(ports, relay);
    exchange.cut();
    throw error;
  });
  const read = body === null ? null : route.dialect.readAnswer(parse(body), request);
  if (body === null || read === null) {
    await bookPessimistically(ports, relay);
    throw new ModelRequestRefused(refusals.upstreamUnusable('the model provider answered with a body that cannot be metered'));
  }
  const bookRead = (): Promise<void> => bookAnswer(ports, relay, answer.status, { ...read, final: true });
  if (endsBeforeItIsBooked(read)) {
    try {
      exchange.send(answer.status, answer.headers, body);
    } finally {
      await bookBehind(ports, relay, bookRead());
    }
    return;
  }
  await bookRead();
  if (read.breach !== null && coverageModeOf(relay.caller.spec) !== 'report')
    throw new ModelRequestRefused(refusals.coverageGap(describe(read.breach)));
  exchange.send(answer.status, answer.headers, body);
}

/** The runner hung up before the provider answered: the provider has read the request and will charge that. */
export const bookGivenUp = (ports: Ports, relay: Omit<Relay, 'answer' | 'served'>): Promise<void> =>
  bookAnswer(ports, relay, clientClosedRequest, { usage: noUsage, stopReason: null, calls: [], breach: null, final: false });

async function bookAnswer(
  ports: Ports,
  relay: Omit<Relay, 'answer' | 'served'> & { readonly served?: Served },
  status: number,
  answer: Answer & { final: boolean },
): Promise<void> {
  const { caller, reservation } = relay;
  const gaps = answer.breach === null ? [] : [gapOf(caller, answer.breach)];
  // The call of a breach counts as emitted too, though its arguments were never read.
  const unread: ModelCall[] =
    answer.breach === null ? [] : [{ toolCallId: answer.breach.toolCallId, tool: answer.breach.tool, input: null, rawInput: '' }];
  const calls = await emittedCalls(ports, caller, [...answer.calls, ...unread]);
  // An answer that was cut before it said what it read is charged for what was sent.
  const inputKnown = answer.final || answer.usage.inputTokens + answer.usage.cacheReadTokens + answer.usage.cacheWriteTokens > 0;
  const now = ports.clock.now().getTime();
  const accounts = await ports.recentLimits.of(caller.stream.org, caller.spec.agent.name, reservation.month, now);
  const usage = inputKnown ? answer.usage : { ...answer.usage, inputTokens: relay.estimate.inputTokens };
  const { price } = caller.spec.price_table;
  await bookSpend(ports, caller, reservation, price === null ? null : costMicroUsd(price, usage), (run) =>
    settle(run, {
      reservation,
      model: caller.spec.model,
      price,
      status,
      stopReason: answer.stopReason?.slice(0, 64) ?? null,
      usage,
      basis: answer.final ? 'usage' : 'estimated',
      calls,
      gaps,
      reportOnly: coverageModeOf(caller.spec) === 'report',
      accounts,
      agentId: relay.route.dialect.agentIdOf(relay.exchange.headers),
      durationMs: Math.max(0, now - relay.startedAt),
      ...relay.served,
    }),
  );
}

const bookPessimistically = (ports: Ports, { caller, reservation }: Relay): Promise<boolean> =>
  book(ports, caller.stream, (run) => settlePessimistically(run, reservation.reservationId));

function gapOf(caller: Caller, breach: Breach): Gap {
  return {
    toolCallId: ledgerCallId(breach.toolCallId),
    tool: ledgerTool(caller, breach.tool),
    class: breach.kind === 'provider_executed' ? 'provider_executed' : 'uncovered',
    reportOnly: breach.kind !== 'unreadable' && coverageModeOf(caller.spec) === 'report',
  };
}

const describe = (breach: Breach): string =>
  breach.kind === 'dropped_tool'
    ? `the model called ${breach.tool}, which this session may not use`
    : 'the provider executed a call that nobody decided';

async function collect(answer: UpstreamAnswer): Promise<Buffer | null> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  await answer.read((piece) => {
    bytes += piece.length;
    if (bytes > jsonAnswerBytesMax) answer.discard();
    else pieces.push(piece);
    return undefined;
  });
  return bytes > jsonAnswerBytesMax ? null : Buffer.concat(pieces, bytes);
}

function parse(body: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isDeep(value) ? null : value;
  } catch {
    return null;
  }
}
