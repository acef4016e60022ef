import { once } from 'node:events';
import type http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

export interface PatientForward {
  readonly request: http.IncomingMessage;
  readonly response: http.ServerResponse;
  /** A new request upstream; a failure of it ends the response. */
  readonly open: () => http.ClientRequest;
  readonly relay: (answer: http.IncomingMessage) => void;
}

const attemptsMax = 7;
const waitMsMax = 60_000;
const bodyBytesMax = 64 * 1024 * 1024;

/** Sends the same request again as long as the answer is that the provider is busy now; anything else goes to the program at once. */
export async function forwardPatiently({ request, response, open, relay }: PatientForward): Promise<void> {
  try {
    const body = await bodyOf(request);
    for (let attempt = 1; !response.destroyed; attempt++) {
      const upstream = open();
      upstream.end(body);
      const [answer] = (await once(upstream, 'response')) as [http.IncomingMessage];
      if (!isBusy(answer) || attempt === attemptsMax) return relay(answer);
      answer.resume();
      await pause(waitMs(answer.headers['retry-after'], attempt));
    }
  } catch {
    // The connection broke on either side. Where no answer has begun, `open` says why; a broken one the program asks for again by itself.
    if (!response.writableEnded) response.destroy();
  }
}

/** Our facade and the providers say with `x-should-retry` which refusals are final. */
const isBusy = ({ statusCode, headers }: http.IncomingMessage): boolean => statusCode === 429 && headers['x-should-retry'] !== 'false';

function waitMs(retryAfter: string | undefined, attempt: number): number {
  const seconds = Number(retryAfter);
  const told = retryAfter !== undefined && Number.isFinite(seconds) && seconds >= 0;
  return Math.min(waitMsMax, told ? seconds * 1_000 : 500 * 2 ** attempt);
}

async function bodyOf(request: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyBytesMax) throw new Error('the request is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
