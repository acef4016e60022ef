import { budgetMonthOf } from '@fluidbox/contracts';
import type { ModelRoute, ScreenedRequest } from '../domain/dialect';
import { estimateOf, outputWithin } from '../domain/estimate';
import { isDeep } from '../domain/json';
import { ModelRequestRefused, type Refusal, refusals } from '../domain/refusal';
import { release, settlePessimistically } from '../domain/settlement';
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
  const upstream = ports.upstreams.get(dialect.id);
  if (upstream === undefined) throw new ModelRequestRefused(refusals.noProviderKey(dialect.provider.keyVariable));
  const send = (body: Buffer): Promise<UpstreamAnswer> =>
    upstream.send({
      path: route.path,
      headers: {
        ...dialect.forwardedHeaders(exchange.headers),
        'content-type': 'application/json',
        accept: request.stream ? 'text/event-stream' : 'application/json',
      },
      body,
      givenUp: [exchange.hungUp, stopping],
    });
  if (kind === 'count_tokens') return relayUnmetered(await send(request.body).catch(refuseFailure), route, exchange);

  await checkCoverage(ports, caller, request.toolResults);
  const { price } = caller.spec.price_table;
  if (price === null && (await isCostLimited(ports, caller))) throw new ModelRequestRefused(refusals.unknownPrice(caller.spec.model));
  const estimate = estimateOf(request.body.length, request.outputTokensMax, price, request.cachesForAnHour);
  const reservation = await reserve(ports, caller, estimate, exchange.hungUp);
  const within = outputWithin({ outputTokens: request.outputTokensMax, estimate, price }, reservation);
  const startedAt = ports.clock.now().getTime();

  let answer: UpstreamAnswer;
  try {
    answer = await send(within === request.outputTokensMax ? request.body : dialect.withOutputMax(request.body, within));
  } catch (error) {
    await bookFailure(ports, { caller, route, request, reservation, estimate, startedAt, exchange }, error);
    return refuseFailure(error);
  }
  if (answer.status >= 400) {
    await bookSpend(ports, caller, reservation, 0, (run) => release(run, reservation.reservationId, 'refused_upstream'));
    return relayUnmetered(answer, route, exchange);
  }
  await relayAnswer(ports, { caller, route, request, reservation, estimate, startedAt, answer, exchange });
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
async function bookFailure(ports: Ports, relay: Omit<Relay, 'answer'>, error: unknown): Promise<void> {
  const { reservationId } = relay.reservation;
  if (error instanceof UpstreamFailed && !error.sent)
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
