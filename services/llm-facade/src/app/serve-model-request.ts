import { budgetMonthOf } from '@fluidbox/contracts';
import type { ModelRoute, ScreenedRequest } from '../domain/dialect';
import { estimateOf, outputWithin } from '../domain/estimate';
import { isDeep } from '../domain/json';
import { ModelRequestRefused, type Refusal, refusals } from '../domain/refusal';
import { release, settlePessimistically } from '../domain/settlement';
import { askUpstreams, type Served } from './ask-upstreams';
import type { Caller } from './authorize';
import { book, bookSpend } from './book';
import { checkCoverage } from './check-coverage';
import { type Exchange, type Ports, type UpstreamAnswer, UpstreamFailed } from './ports';
import { bookGivenUp, type Relay, relayAnswer } from './relay-answer';
import { relayUnmetered } from './relay-unmetered';
import { reserve } from './reserve';
import { offersTool } from './run-rules';

/** From an authorised request to its answer: screen → coverage → reserve → send → relay and book. */
export async function serveModelRequest(
  ports: Ports,
  caller: Caller,
  route: ModelRoute,
  exchange: Exchange,
  stopping: AbortSignal,
): Promise<void> {
  const { dialect, kind } = route;
  if (caller.spec.harness.dialect !== dialect.id) throw new ModelRequestRefused(refusals.noSuchPath(route.path));
  const request = screenBody(caller, route, await readBody(ports, exchange));
  const org = caller.stream.org;
  if ((await ports.upstreams.of(org, dialect.id)).length === 0)
    throw new ModelRequestRefused(refusals.noProviderKey(dialect.provider.keyVariable));
  const givenUp = [exchange.hungUp, stopping];
  const headers = {
    ...dialect.forwardedHeaders(exchange.headers),
    'content-type': 'application/json',
    accept: request.stream ? 'text/event-stream' : 'application/json',
  };
  /** Looked up anew, because a request may have waited for its budget: a key that was removed meanwhile is not used. */
  const ask = async (bodyOf: () => Buffer, bookLost: () => Promise<string | null>) =>
    askUpstreams(ports, await ports.upstreams.of(org, dialect.id), {
      caller,
      streamed: request.stream,
      send: (upstream, firstByteMs) => upstream.send({ path: route.path, headers, body: bodyOf(), givenUp, firstByteMs }),
      bookLost,
    });
  if (kind === 'count_tokens') {
    const { answer, served } = await ask(
      () => request.body,
      async () => null,
    ).catch(refuseFailure);
    return relayUnmetered(answer, route, exchange, served);
  }

  await checkCoverage(ports, caller, request.toolResults);
  const { price } = caller.spec.price_table;
  if (price === null && (await isCostLimited(ports, caller))) throw new ModelRequestRefused(refusals.unknownPrice(caller.spec.model));
  const estimate = estimateOf(request.body.length, request.outputTokensMax, price, request.cachesForAnHour);
  const held = { reservation: await reserve(ports, caller, estimate, exchange.hungUp) };
  const startedAt = ports.clock.now().getTime();
  const body = (): Buffer => {
    const within = outputWithin({ outputTokens: request.outputTokensMax, estimate, price }, held.reservation);
    return within === request.outputTokensMax ? request.body : dialect.withOutputMax(request.body, within);
  };
  /** What an upstream may have charged is closed in full; the next one is asked within what the budgets then still admit. */
  const bookLost = async (): Promise<string> => {
    const { reservationId } = held.reservation;
    await book(ports, caller.stream, (run) => settlePessimistically(run, reservationId));
    held.reservation = await reserve(ports, caller, estimate, exchange.hungUp);
    return reservationId;
  };

  let asked: { readonly answer: UpstreamAnswer; readonly served: Served };
  try {
    asked = await ask(body, bookLost);
  } catch (error) {
    await bookFailure(ports, { caller, route, request, reservation: held.reservation, estimate, startedAt, exchange }, error);
    return refuseFailure(error);
  }
  const { answer, served } = asked;
  const { reservation } = held;
  if (answer.status >= 400) {
    await bookSpend(ports, caller, reservation, 0, (run) => release(run, reservation.reservationId, 'refused_upstream'));
    return relayUnmetered(answer, route, exchange, served);
  }
  await relayAnswer(ports, { caller, route, request, reservation, estimate, startedAt, answer, served, exchange });
}

/** What has no price cannot be held to a limit of money, of the run or of an account that it spends from. */
async function isCostLimited({ accounts, clock }: Ports, { spec, stream }: Caller): Promise<boolean> {
  if (spec.budgets.max_cost_micro_usd !== null) return true;
  return (await accounts.limitedOf(stream.org, spec.agent.name, budgetMonthOf(clock.now().getTime()))).length > 0;
}

/**
 * Nothing sent: nothing spent. Given up by the runner before a streamed answer began: what was sent is charged. Anything else may have been
 * charged in full: of an answer in one piece nobody knows how much was written when the runner hung up.
 */
async function bookFailure(ports: Ports, relay: Omit<Relay, 'answer' | 'served'>, error: unknown): Promise<void> {
  const { reservationId } = relay.reservation;
  // Refused by us: the list of upstreams could not be read.
  if (error instanceof ModelRequestRefused || (error instanceof UpstreamFailed && !error.sent))
    await bookSpend(ports, relay.caller, relay.reservation, 0, (run) => release(run, reservationId, 'not_sent'));
  else if (relay.request.stream && relay.exchange.hungUp.aborted) await bookGivenUp(ports, relay);
  else await book(ports, relay.caller.stream, (run) => settlePessimistically(run, reservationId));
}

async function readBody(ports: Ports, exchange: Exchange): Promise<unknown> {
  const encoding = exchange.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new ModelRequestRefused(refusals.compressed(encoding));
  const body = await exchange.readBody(ports.settings.bodyBytesMax);
  if (body === 'too_large') throw new ModelRequestRefused(refusals.tooLarge(ports.settings.bodyBytesMax));
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    throw new ModelRequestRefused(refusals.invalid('body: must be JSON'));
  }
  if (isDeep(value)) throw new ModelRequestRefused(refusals.invalid('body: is nested too deeply'));
  return value;
}

function screenBody(caller: Caller, { dialect, kind }: ModelRoute, body: unknown): ScreenedRequest {
  const screened = dialect.screen(body, kind, { model: caller.spec.model, offers: (tool) => offersTool(caller.spec, tool) });
  if (!screened.ok) throw new ModelRequestRefused(screened.refusal);
  return screened.request;
}

function refuseFailure(error: unknown): never {
  if (!(error instanceof UpstreamFailed)) throw error;
  throw new ModelRequestRefused(refusalOf(error));
}
const refusalOf = (error: UpstreamFailed): Refusal =>
  refusals.upstreamUnavailable(`the model provider cannot be reached: ${error.message}`);
