import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { forwardedHeaders, forwardedPath, type Refusal, readRefusal } from './forward-rules';
import { forwardWhole } from './forward-whole';
import { type Endpoint, openRequest } from './transport';

export interface ForwarderOptions {
  readonly llm: Endpoint;
  readonly token: string;
  /** A unix socket (created 0700 around) or a port on loopback (0 = any free one). */
  readonly listen: { readonly socketPath: string } | { readonly port: number };
  readonly onRefusal: (refusal: Refusal) => void;
  /** For programs that take a busy provider for the end: such an answer is waited out here. */
  readonly waitsWhenBusy?: boolean;
}

export interface Forwarder {
  readonly port: number | null;
  close(): void;
}

const refusalBytesMax = 64 * 1024;

/** Takes the agent program's model requests and adds the llm token, so that the program itself holds a placeholder. */
export async function startForwarder(options: ForwarderOptions): Promise<Forwarder> {
  const server = http.createServer((request, response) => forward(request, response, options));
  // A model may think for minutes before the first byte.
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  // Node closes an idle connection after 5 s: a program that takes it out of its pool at that moment would lose a request.
  server.keepAliveTimeout = 0;
  server.on('connect', (_request, socket) => socket.destroy());
  server.on('upgrade', (_request, socket) => socket.destroy());
  const { listen } = options;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    if ('socketPath' in listen) {
      fs.mkdirSync(path.dirname(listen.socketPath), { recursive: true, mode: 0o700 });
      server.listen(listen.socketPath, resolve);
    } else server.listen(listen.port, '127.0.0.1', resolve);
  });
  const address = server.address();
  return {
    port: address !== null && typeof address === 'object' ? address.port : null,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function forward(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  { llm, token, onRefusal, waitsWhenBusy }: ForwarderOptions,
): void {
  const upstreamPath = forwardedPath(request.method, request.url);
  if (upstreamPath === undefined) {
    request.resume();
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not_forwarded"}');
    return;
  }
  const open = (): http.ClientRequest => {
    const upstream = openRequest(llm, upstreamPath, { method: 'POST', headers: forwardedHeaders(request.headers, token) });
    // A server may answer before it has read the whole body; then the late write fails, but the answer stands.
    let answered = false;
    upstream.once('response', () => {
      answered = true;
    });
    upstream.on('error', (error) => {
      if (!answered) refuseUnreachable(response, error);
    });
    response.on('close', () => upstream.destroy());
    return upstream;
  };
  const relay = (answer: http.IncomingMessage): void => {
    const { 'transfer-encoding': _hop, connection: _connection, ...headers } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, headers);
    answer.on('error', () => response.destroy());
    if ([401, 403, 429].includes(answer.statusCode ?? 0)) watchRefusal(answer, onRefusal);
    answer.pipe(response);
  };
  void forwardWhole({ request, response, open, relay, waitsWhenBusy: waitsWhenBusy === true });
}

/** The program asks again at a 502 as it does after a cut, and whoever reads its log finds the reason. */
function refuseUnreachable(response: http.ServerResponse, error: Error): void {
  if (response.headersSent || response.destroyed) return;
  const message = `the model's door cannot be reached: ${error.message}`;
  // The rest of the request may still be on its way.
  response
    .writeHead(502, { 'content-type': 'application/json', connection: 'close' })
    .end(JSON.stringify({ error: { type: 'api_error', message } }));
}

function watchRefusal(answer: http.IncomingMessage, onRefusal: (refusal: Refusal) => void): void {
  let body = '';
  answer.on('data', (chunk: Buffer) => {
    if (body.length < refusalBytesMax) body += chunk.toString('utf8');
  });
  answer.on('end', () => {
    const refusal = readRefusal(answer.statusCode ?? 0, body);
    if (refusal !== undefined) onRefusal(refusal);
  });
}
