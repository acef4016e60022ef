import { errors, Pool } from 'undici';
import { type Upstream, type UpstreamAnswer, UpstreamFailed, type UpstreamRequest } from '../app/ports';
import type { Provider } from '../domain/dialect';
import { followSignals } from './follow-signals';
import { type KeyGuard, keyGuard } from './key-guard';

export interface UpstreamOptions {
  readonly baseUrl: string;
  readonly provider: Provider;
  /** Of this deployment. A runner never sees it. */
  readonly key: string;
  readonly connectMs?: number;
  /** A model may think for minutes before its first byte. */
  readonly firstByteMs?: number;
  /** Between two pieces of an answer; providers send a ping every few seconds. */
  readonly idleMs?: number;
}

/** What a runner may see of any provider's headers. */
const keptHeaders = new Set(['content-type', 'retry-after', 'retry-after-ms', 'x-should-retry']);

/** The request never left: nothing can have been charged. Anything else may have reached the provider. */
const notSentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** One pool of keep-alive connections to the provider. undici's own timers are off, because they cannot tell a slow model from a dead one. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const { connectMs = 10_000, firstByteMs = 900_000, idleMs = 300_000 } = options;
  const guard = keyGuard(options.key);
  const pool = new Pool(base.origin, {
    connections: 512,
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    connect: { timeout: connectMs },
  });
  return {
    send: (request) => send(pool, prefix, options, guard, { firstByteMs, idleMs }, request),
    close: () => pool.destroy(),
  };
}

async function send(
  pool: Pool,
  prefix: string,
  { provider, key }: UpstreamOptions,
  guard: KeyGuard,
  timeouts: { firstByteMs: number; idleMs: number },
  request: UpstreamRequest,
): Promise<UpstreamAnswer> {
  const given = request.givenUp.find((signal) => signal.aborted);
  if (given !== undefined) throw new UpstreamFailed(false, 'the request was given up before it was sent', { cause: given.reason });
  const watch = watchSilence(request.givenUp, timeouts);
  try {
    const response = await pool.request({
      method: 'POST',
      path: `${prefix}/${request.path}`,
      // Compressed bytes could not be metered as they pass.
      headers: { ...request.headers, 'accept-encoding': 'identity', 'user-agent': 'fluidbox', ...provider.credentialHeaders(key) },
      body: request.body,
      signal: watch.signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    watch.heard();
    const { body, headers } = response;
    const discard = (): void => {
      watch.over();
      // Its connection may be in the middle of an answer.
      body.on('error', () => undefined).destroy();
    };
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
      discard();
      throw new UpstreamFailed(true, 'it compressed an answer that must not be', { cause: headers['content-encoding'] });
    }
    const contentType = mediaTypeOf(headers['content-type']);
    const bytes = watched(body, watch);
    return {
      status: response.statusCode,
      contentType,
      headers: visible(headers, provider, guard),
      body: response.statusCode < 400 && contentType === 'text/event-stream' ? guard.watched(bytes) : guard.cleaned(bytes),
      discard,
    };
  } catch (error) {
    watch.over();
    if (error instanceof UpstreamFailed) throw error;
    throw new UpstreamFailed(!neverSent(error), guard.clean(error instanceof Error ? error.message : String(error)), { cause: error });
  }
}

interface Watch {
  readonly signal: AbortSignal;
  /** Something came: the clock starts anew. */
  heard(): void;
  over(): void;
}

/** Aborts when somebody gives the request up, and when the provider is silent for too long. */
function watchSilence(givenUp: readonly AbortSignal[], timeouts: { firstByteMs: number; idleMs: number }): Watch {
  const { controller, release } = followSignals(givenUp);
  const endIn = (ms: number): NodeJS.Timeout =>
    setTimeout(() => controller.abort(new Error(`the model provider sent nothing for ${ms / 1_000} s`)), ms);
  let timer = endIn(timeouts.firstByteMs);
  return {
    signal: controller.signal,
    heard() {
      clearTimeout(timer);
      timer = endIn(timeouts.idleMs);
    },
    over() {
      clearTimeout(timer);
      release();
    },
  };
}

async function* watched(body: AsyncIterable<Buffer>, watch: Watch): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) {
      watch.heard();
      yield chunk;
    }
  } finally {
    watch.over();
  }
}

/** `text/event-stream` of `text/event-stream; charset=utf-8`. */
const mediaTypeOf = (header: string | string[] | undefined): string =>
  String(header ?? '')
    .split(';', 1)
    .join('')
    .trim()
    .toLowerCase();

function visible(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  provider: Provider,
  guard: KeyGuard,
): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && (keptHeaders.has(name) || provider.keepsHeader(name))) kept[name] = guard.clean(String(value));
  }
  return kept;
}

function neverSent(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(neverSent);
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' && notSentCodes.has(error.code);
}
