import { once } from 'node:events';
import type http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

export interface WholeForward {
  readonly request: http.IncomingMessage;
  readonly response: http.ServerResponse;
  /** A new request upstream; a failure of it ends the response. */
  readonly open: () => http.ClientRequest;
  readonly relay: (answer: http.IncomingMessage) => void;
  /** A provider that is busy now is waited out. */
  readonly waitsWhenBusy: boolean;
}

const attemptsMax = 7;
const waitMsMax = 60_000;
const bodyBytesMax = 64 * 1024 * 1024;

/**
 * Reads the whole request and sends it in one piece. Piped, its end could be written after the door had answered and closed; on a unix socket that write fails, and
 * Node drops the answer that has not been read yet with the connection.
 */
export async function forwardWhole({ request, response, open, relay, waitsWhenBusy }: WholeForward): Promise<void> {
  try {
    const body = await bodyOf(request);
    if (body === 'too_large') return refuseTooLarge(response);
    for (let attempt = 1; !response.destroyed; attempt++) {
      const upstream = open();
      upstream.end(body);
      const [answer] = (await once(upstream, 'response')) as [http.IncomingMessage];
      if (!waitsWhenBusy || !isBusy(answer) || attempt === attemptsMax) return relay(answer);
      answer.resume();
      await pause(waitMs(answer.headers['retry-after'], attempt));
    }
  } catch {
    // The connection broke on either side. Where no answer has begun, `open` says why; a broken one the program asks for again by itself.
    if (!response.writableEnded) response.destroy();
  }
}

function refuseTooLarge(response: http.ServerResponse): void {
  const message = `the request has more than ${bodyBytesMax} bytes`;
  response
    .writeHead(413, { 'content-type': 'application/json', connection: 'close' })
    .end(JSON.stringify({ error: { type: 'request_too_large', message } }));
}

/** Our facade and the providers say with `x-should-retry` which refusals are final. */
const isBusy = ({ statusCode, headers }: http.IncomingMessage): boolean => statusCode === 429 && headers['x-should-retry'] !== 'false';

function waitMs(retryAfter: string | undefined, attempt: number): number {
  const seconds = Number(retryAfter);
  const told = retryAfter !== undefined && Number.isFinite(seconds) && seconds >= 0;
  return Math.min(waitMsMax, told ? seconds * 1_000 : 500 * 2 ** attempt);
}

async function bodyOf(request: http.IncomingMessage): Promise<Buffer | 'too_large'> {
  if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) return 'too_large';
  const chunks: Buffer[] = [];
  let size = 0;
  // Left open on an early return: the answer still has to go out on this connection.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyBytesMax) return 'too_large';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
