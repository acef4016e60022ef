import type { LookupFunction } from 'node:net';
import { type Dispatcher, Pool } from 'undici';
import { type Upstream, type UpstreamAnswer, UpstreamFailed, type UpstreamRequest } from '../app/ports';
import type { Provider } from '../domain/dialect';
import { AnswerBytes } from './answer-bytes';
import { type KeyGuard, keyGuard } from './key-guard';

export interface UpstreamOptions {
  readonly baseUrl: string;
  readonly provider: Provider;
  /** Of this deployment or of an organisation. A runner never sees it. */
  readonly key: string;
  /** Other keys that must not come back from here either. */
  readonly hiddenKeys?: readonly string[];
  /** Instead of the system's: where a name may lead. */
  readonly lookup?: LookupFunction;
  readonly connectMs?: number;
  /** A model may think for minutes before its first byte. */
  readonly firstByteMs?: number;
  /** Between two pieces of an answer; providers send a ping every few seconds. */
  readonly idleMs?: number;
}

/** What a runner may see of any provider's headers. */
const keptHeaders = new Set(['content-type', 'retry-after', 'retry-after-ms', 'x-should-retry']);

/** One pool of keep-alive connections to the provider. undici's own timers are off, because they cannot tell a slow model from a dead one. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const { connectMs = 10_000, firstByteMs = 900_000, idleMs = 300_000 } = options;
  const guard = keyGuard([options.key, ...(options.hiddenKeys ?? [])]);
  const pool = new Pool(base.origin, {
    connections: 512,
    headersTimeout: 0,
    bodyTimeout: 0,
    pipelining: 1,
    connect: { timeout: connectMs, ...(options.lookup === undefined ? {} : { lookup: options.lookup }) },
  });
  return {
    send: (request) => send(pool, prefix, options, guard, { firstByteMs, idleMs }, request),
    retire: () => void pool.close().catch(() => undefined),
    close: () => pool.destroy(),
  };
}

/** undici's own callbacks: what its `request` puts around them (a stream, an iterator, a signal) costs more than all that is done here with the bytes. */
function send(
  pool: Pool,
  prefix: string,
  { provider, key }: UpstreamOptions,
  guard: KeyGuard,
  timeouts: Timeouts,
  request: UpstreamRequest,
): Promise<UpstreamAnswer> {
  return new Promise((resolve, reject) => {
    const given = request.givenUp.find((signal) => signal.aborted);
    if (given !== undefined) {
      reject(new UpstreamFailed(false, 'the request was given up before it was sent', { cause: given.reason }));
      return;
    }
    let connection: Dispatcher.DispatchController | undefined;
    let bytes: AnswerBytes | undefined;
    let isOver = false;
    let givenUp: { readonly reason: Error; readonly timedOut: boolean } | undefined;
    const { firstByteMs = timeouts.firstByteMs } = request;
    const watch = watchSilence(request.givenUp, { ...timeouts, firstByteMs }, (reason, timedOut) => {
      givenUp = { reason, timedOut };
      connection?.abort(reason);
    });
    const over = (): void => {
      isOver = true;
      watch.over();
    };
    const discard = (): void => {
      bytes?.leave();
      if (!isOver) connection?.abort(new Error('the rest of the answer is not wanted'));
      over();
    };
    const answerOf = (status: number, headers: Headers, from: AnswerBytes, contentType: string): UpstreamAnswer => ({
      status,
      contentType,
      headers: visible(headers, provider, guard),
      read: (take) => from.read(take).finally(discard),
      discard,
    });
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        // Nothing is on the wire yet.
        if (givenUp !== undefined) controller.abort(givenUp.reason);
        else connection = controller;
      },
      onResponseStart(controller, status, headers) {
        if (status < 200) return;
        watch.heard();
        const contentType = mediaTypeOf(headers['content-type']);
        bytes = new AnswerBytes(controller, status < 400 && contentType === 'text/event-stream' ? guard.watching() : guard.cleaning());
        if ((headers['content-encoding'] ?? 'identity') === 'identity') resolve(answerOf(status, headers, bytes, contentType));
        else {
          reject(new UpstreamFailed(true, 'it compressed an answer that must not be', { cause: headers['content-encoding'] }));
          discard();
        }
      },
      onResponseData(_controller, chunk) {
        if (bytes?.push(chunk) === true) watch.heard();
      },
      onResponseEnd() {
        over();
        bytes?.end();
      },
      onResponseError(_controller, error) {
        over();
        if (bytes !== undefined) bytes.end({ error });
        // A request that never got a connection never left, and nothing can have been charged. Any other one may have reached the provider.
        else {
          const timedOut = givenUp?.timedOut === true;
          reject(new UpstreamFailed(connection !== undefined, guard.clean(messageOf(error)), { cause: error, timedOut }));
        }
      },
    };
    try {
      pool.dispatch(
        {
          method: 'POST',
          path: `${prefix}/${request.path}`,
          // Compressed bytes could not be metered as they pass.
          headers: { ...request.headers, 'accept-encoding': 'identity', 'user-agent': 'fluidbox', ...provider.credentialHeaders(key) },
          body: request.body,
          headersTimeout: 0,
          bodyTimeout: 0,
        },
        handler,
      );
    } catch (error) {
      // Retired between the look at the list and here.
      over();
      reject(new UpstreamFailed(false, 'it takes no more requests', { cause: error }));
    }
  });
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;
interface Timeouts {
  readonly firstByteMs: number;
  readonly idleMs: number;
}

const messageOf = (error: Error): string =>
  error.message !== '' ? error.message : error instanceof AggregateError ? error.errors.map(String).join('; ') : error.name;

interface Watch {
  /** Something came: the clock starts anew. */
  heard(): void;
  over(): void;
}

/** Ends the request when somebody gives it up, and when the provider is silent for too long. */
function watchSilence(
  givenUp: readonly AbortSignal[],
  { firstByteMs, idleMs }: Timeouts,
  end: (reason: Error, timedOut: boolean) => void,
): Watch {
  const follow = (event: Event): void => end((event.target as AbortSignal).reason, false);
  for (const signal of givenUp) signal.addEventListener('abort', follow, { once: true });
  const endIn = (ms: number): NodeJS.Timeout =>
    setTimeout(() => end(new Error(`the model provider sent nothing for ${ms / 1_000} s`), true), ms);
  let timer = endIn(firstByteMs);
  let answering = false;
  let isOver = false;
  return {
    heard() {
      if (isOver) return;
      if (answering) timer.refresh();
      else {
        answering = true;
        clearTimeout(timer);
        timer = endIn(idleMs);
      }
    },
    over() {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      // A signal outlives the request: that of the facade's stop, that of a connection.
      for (const signal of givenUp) signal.removeEventListener('abort', follow);
    },
  };
}

/** `text/event-stream` of `text/event-stream; charset=utf-8`. */
const mediaTypeOf = (header: string | string[] | undefined): string =>
  String(header ?? '')
    .split(';', 1)
    .join('')
    .trim()
    .toLowerCase();

function visible(headers: Headers, provider: Provider, guard: KeyGuard): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && (keptHeaders.has(name) || provider.keepsHeader(name))) kept[name] = guard.clean(String(value));
  }
  return kept;
}
