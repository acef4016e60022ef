import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Exchange } from '../app/ports';

/** Node's request and response as the use cases see them: nothing is parsed or buffered on the way. */
export function exchangeOf(request: IncomingMessage, response: ServerResponse): Exchange {
  const closed = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) closed.abort(new Error('the runner hung up'));
  });
  let held: Socket | null = null;
  const sendHeld = (): void => {
    held?.uncork();
    held = null;
  };
  return {
    headers: singleHeaders(request),
    hungUp: closed.signal,
    readBody: (bytesMax) => readBody(request, bytesMax),
    head(status, headers) {
      // What has come with the provider's head goes out with ours; a head that came alone waits for nothing.
      held = response.socket;
      held?.cork();
      response.writeHead(status, headers);
      response.flushHeaders();
      process.nextTick(sendHeld);
    },
    send: (status, headers, body) => void response.writeHead(status, { ...headers, 'content-length': String(body.length) }).end(body),
    write(chunk) {
      if (chunk.length === 0 || response.destroyed || response.write(chunk)) return undefined;
      return drained(response);
    },
    end: () => void response.end(),
    cut() {
      sendHeld();
      response.destroy();
    },
  };
}

/** Until the connection takes more, or is gone. A race of two `once` would leave a listener behind each time. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const over = (): void => {
      response.off('drain', over).off('close', over);
      resolve();
    };
    response.once('drain', over).once('close', over);
  });

function singleHeaders({ headers }: IncomingMessage): Record<string, string | undefined> {
  const single: Record<string, string | undefined> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    single[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return single;
}

function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | 'too_large'> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return Promise.resolve('too_large');
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= bytesMax) return;
      // Left open: the answer still has to go out on this connection.
      request.off('data', take).pause();
      resolve('too_large');
    };
    request
      .on('data', take)
      .once('end', () => resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, bytes)))
      .once('error', reject)
      .once('close', () => {
        if (!request.complete) reject(new Error('the runner hung up in the middle of its request'));
      });
  });
}
