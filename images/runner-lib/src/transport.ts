import http from 'node:http';
import https from 'node:https';

/** Where a listener of the control plane is: a unix socket that pipes bytes to it, or an address. */
export type Endpoint = { readonly kind: 'unix'; readonly socketPath: string } | { readonly kind: 'url'; readonly url: URL };

export function parseEndpoint(text: string): Endpoint {
  if (text.startsWith('unix:/')) return { kind: 'unix', socketPath: text.slice('unix:'.length) };
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new TypeError(`unsupported protocol ${url.protocol}`);
  return { kind: 'url', url };
}

/**
 * Opens one request on a fresh connection. No keep-alive: a kept connection dies with the listener behind the pipe, and a
 * runner sends few requests.
 */
export function openRequest(endpoint: Endpoint, path: string, options: http.RequestOptions): http.ClientRequest {
  if (endpoint.kind === 'unix') return http.request({ ...options, socketPath: endpoint.socketPath, path, agent: false });
  const { url } = endpoint;
  const request = url.protocol === 'https:' ? https.request : http.request;
  return request({
    ...options,
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    path: url.pathname.replace(/\/$/, '') + path,
    agent: false,
  });
}

export interface Reply {
  readonly status: number;
  readonly body: string;
}

export interface PostOptions {
  readonly token: string;
  readonly body: unknown;
  /** Silence on the socket after which the attempt counts as lost. A byte of padding resets it. */
  readonly idleTimeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

const replyBytesMax = 4 * 1024 * 1024;

/** One attempt. Rejects on every transport failure, an answer cut short included. */
export function postJson(endpoint: Endpoint, path: string, { token, body, idleTimeoutMs, signal }: PostOptions): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const bytes = Buffer.from(JSON.stringify(body));
    const request = openRequest(endpoint, path, {
      method: 'POST',
      headers: { host: 'fluidbox', authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': bytes.length },
      ...(signal ? { signal } : {}),
    });
    request.setTimeout(idleTimeoutMs, () => request.destroy(new Error(`no byte for ${idleTimeoutMs} ms`)));
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > replyBytesMax) response.destroy(new Error('answer too large'));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }));
      response.on('close', () => {
        if (!response.complete) reject(new Error('the answer was cut short'));
      });
    });
    request.end(bytes);
  });
}
