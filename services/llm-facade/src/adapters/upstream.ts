import { errors, Pool } from 'undici';
import { type Upstream, type UpstreamAnswer, UpstreamFailed, type UpstreamRequest } from '../app/ports';

export interface UpstreamOptions {
  readonly baseUrl: string;
  /** Headers with the credential of this deployment. A runner never sees them. */
  readonly credential: Readonly<Record<string, string>>;
  /** A model may think for minutes before its first byte. */
  readonly firstByteMs?: number;
  /** Between two pieces of an answer; providers send a ping every few seconds. */
  readonly idleMs?: number;
}

/** What a runner may see of the provider's headers. */
const keptHeaders = new Set(['content-type', 'request-id', 'retry-after', 'x-should-retry']);
const keptPrefix = 'anthropic-ratelimit-';

/** The request never left: nothing can have been charged. Anything else may have reached the provider. */
const notSentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** One pool of keep-alive connections to the provider. undici's own timers are off, because they cannot tell a slow model from a dead one. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const { firstByteMs = 900_000, idleMs = 300_000 } = options;
  const pool = new Pool(base.origin, { connections: 512, headersTimeout: 0, bodyTimeout: 0, pipelining: 1 });
  return {
    send: (request) => send(pool, prefix, options.credential, { firstByteMs, idleMs }, request),
    close: () => pool.destroy(),
  };
}

async function send(
  pool: Pool,
  prefix: string,
  credential: Readonly<Record<string, string>>,
  timeouts: { firstByteMs: number; idleMs: number },
  request: UpstreamRequest,
): Promise<UpstreamAnswer> {
  if (request.signal.aborted)
    throw new UpstreamFailed(false, 'the request was given up before it was sent', { cause: request.signal.reason });
  const silence = new AbortController();
  let timer = setTimeout(
    () => silence.abort(new Error(`the model provider sent nothing for ${timeouts.firstByteMs / 1_000} s`)),
    timeouts.firstByteMs,
  );
  const heard = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(new Error(`the model provider fell silent for ${timeouts.idleMs / 1_000} s`)), timeouts.idleMs);
  };
  try {
    const response = await pool.request({
      method: 'POST',
      path: `${prefix}/${request.path}`,
      // Compressed bytes could not be metered as they pass.
      headers: { ...request.headers, 'accept-encoding': 'identity', 'user-agent': 'fluidbox', ...credential },
      body: request.body,
      signal: AbortSignal.any([request.signal, silence.signal]),
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    heard();
    const { body } = response;
    if ((response.headers['content-encoding'] ?? 'identity') !== 'identity') {
      body.destroy();
      clearTimeout(timer);
      throw new UpstreamFailed(true, 'it compressed an answer that must not be', { cause: response.headers['content-encoding'] });
    }
    return {
      status: response.statusCode,
      contentType:
        String(response.headers['content-type'] ?? '')
          .split(';')[0]
          ?.trim()
          .toLowerCase() ?? '',
      headers: visible(response.headers),
      body: timed(body, heard, () => clearTimeout(timer)),
    };
  } catch (error) {
    clearTimeout(timer);
    if (error instanceof UpstreamFailed) throw error;
    throw new UpstreamFailed(!neverSent(error), error instanceof Error ? error.message : String(error), { cause: error });
  }
}

async function* timed(body: AsyncIterable<Buffer>, heard: () => void, done: () => void): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) {
      heard();
      yield chunk;
    }
  } finally {
    done();
  }
}

function visible(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && (keptHeaders.has(name) || name.startsWith(keptPrefix))) kept[name] = String(value);
  }
  return kept;
}

function neverSent(error: unknown): boolean {
  if (error instanceof errors.ConnectTimeoutError) return true;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(neverSent);
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string' && notSentCodes.has(error.code);
}
