import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly at: number;
}
export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** `host:port`, as FLUIDBOX_WEBHOOK_PRIVATE_HOSTS names it. */
  readonly host: string;
  answer: (request: Received, response: http.ServerResponse) => void;
  close(): Promise<void>;
}

/** A receiver on a real socket; it answers 204 unless a test says otherwise. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const receiver = {
    received,
    answer: (_: Received, response: http.ServerResponse): void => void response.writeHead(204).end(),
  };
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('utf8');
    });
    request.on('end', () => {
      const one = { path: request.url ?? '', headers: request.headers, body, at: performance.now() };
      received.push(one);
      receiver.answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}
