import type { Reservation } from '../domain/admission';
import { type Gap, gapEvent } from '../domain/coverage';
import type { Answer, Breach, ModelCall, ModelRoute, ScreenedRequest } from '../domain/dialect';
import type { Estimate } from '../domain/estimate';
import { ModelRequestRefused, refusals } from '../domain/refusal';
import { settle, settlePessimistically } from '../domain/settlement';
import { costMicroUsd, noUsage } from '../domain/usage';
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
 * Bytes go through as they come. Only the last event waits: before it leaves, the usage and every tool call of the answer are in the ledger. A
 * breach stops the stream before the bytes that carry it.
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
  let failure: unknown;
  let stopped = false;
  exchange.head(answer.status, { ...answer.headers, 'cache-control': 'no-cache' });
  try {
    for await (const chunk of answer.body) {
      const sign = meter.push(chunk);
      stopped = sign.kind === 'stop';
      if (stopped) break;
      if (sign.kind === 'finished') {
        if (sign.finishedAt > 0) await exchange.write(chunk.subarray(0, sign.finishedAt));
        await bookOnce();
        await exchange.write(chunk.subarray(sign.finishedAt));
      } else await exchange.write(chunk);
    }
  } catch (error) {
    failure = error;
  }
  const complete = failure === undefined && !stopped && booking !== undefined;
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

/** A breach that came after the last event: the answer is booked already, the gap is not. */
const bookBreachAfterEnd = (ports: Ports, { caller }: Relay, { breach }: Answer): Promise<boolean> =>
  book(ports, caller.stream, (run) => {
    if (breach === null) return [];
    const gap = gapOf(caller, breach);
    return run.modelCalls.get(gap.toolCallId)?.closed ? [] : [gapEvent(gap)];
  });

async function relayJson(ports: Ports, relay: Relay): Promise<void> {
  const { answer, exchange, route, request } = relay;
  const body = await collect(answer.body).catch(async (error: unknown) => {
    await bookPessimistically(ports, relay);
    exchange.cut();
    throw error;
  });
  const read = body === null ? null : route.dialect.readAnswer(parse(body), request);
  if (body === null || read === null) {
    await bookPessimistically(ports, relay);
    throw new ModelRequestRefused(refusals.upstreamUnusable('the model provider answered with a body that cannot be metered'));
  }
  await bookAnswer(ports, relay, answer.status, { ...read, final: true });
  if (read.breach !== null && coverageModeOf(relay.caller.spec) !== 'report')
    throw new ModelRequestRefused(refusals.coverageGap(describe(read.breach)));
  exchange.send(answer.status, answer.headers, body);
}

/** The runner hung up before the provider answered: the provider has read the request and will charge that. */
export const bookGivenUp = (ports: Ports, relay: Omit<Relay, 'answer'>): Promise<void> =>
  bookAnswer(ports, relay, clientClosedRequest, { usage: noUsage, stopReason: null, calls: [], breach: null, final: false });

async function bookAnswer(ports: Ports, relay: Omit<Relay, 'answer'>, status: number, answer: Answer & { final: boolean }): Promise<void> {
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

async function collect(body: AsyncIterable<Buffer>): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > jsonAnswerBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
