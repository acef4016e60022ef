import { lookup as systemLookup } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { type DeliveryReason, isPrivateAddress } from '@fluidbox/contracts';
import { type Outcome, parseRetryAfter } from '../domain/schedule';
import { hostOf, isNamedHost } from '../domain/webhook-url';

export type ResolvedAddress = { readonly address: string; readonly family: number };
/** Every address of a name; rejects when there is none. */
export type Resolve = (host: string) => Promise<readonly ResolvedAddress[]>;

export interface PostOptions {
  readonly privateHosts: readonly string[];
  readonly resolve?: Resolve;
  /** Of the whole attempt: name, connection, handshake and the head of the answer. */
  readonly timeoutMs?: number;
  /** More certificate authorities than those that Node knows. */
  readonly ca?: string;
}
export interface Post {
  (url: string, headers: Readonly<Record<string, string>>, body: string): Promise<Outcome>;
  close(): void;
}

const postTimeoutMs = 10_000;
const idleMs = 30_000;

class Refused extends Error {
  constructor(readonly reason: DeliveryReason) {
    super(reason);
  }
}

const resolveBySystem: Resolve = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)));
  });

/**
 * Sends one message and answers what came of it; never throws. The name is resolved once per connection, every address that comes out is looked at, and the socket
 * connects to exactly those: a second answer of the resolver changes nothing. Redirects are answers. The head of the answer decides; its body is thrown away
 * with the connection unless it is short and already there.
 */
export function postVia({ privateHosts, resolve = resolveBySystem, timeoutMs = postTimeoutMs, ca }: PostOptions): Post {
  // Two agents per scheme: a connection that was allowed for a named host serves nobody else, since agents keep connections apart by host and port.
  const agents = (allowPrivate: boolean) => {
    const settings = { keepAlive: true, timeout: idleMs, maxFreeSockets: 64, lookup: checkedLookup(resolve, allowPrivate) };
    return { 'http:': new http.Agent(settings), 'https:': new https.Agent({ ...settings, ...(ca === undefined ? {} : { ca }) }) };
  };
  const [named, unnamed] = [agents(true), agents(false)];

  const post = async (target: string, headers: Readonly<Record<string, string>>, body: string): Promise<Outcome> => {
    const url = new URL(target);
    const allowed = isNamedHost(url, privateHosts);
    const host = hostOf(url);
    // A written-out address is never looked up; and the configuration may have changed since the webhook was made.
    if (!allowed && (url.protocol !== 'https:' || (isIP(host) !== 0 && isPrivateAddress(host))))
      return { kind: 'failed', reason: 'private_address' };
    const agent = (allowed ? named : unnamed)[url.protocol as 'http:' | 'https:'];
    const deadline = performance.now() + timeoutMs;
    const sendOnce = () => send(url, { ...headers, 'content-length': String(Buffer.byteLength(body)) }, body, agent, deadline);
    const first = await sendOnce();
    // A kept connection that the receiver had closed meanwhile: it was not the receiver that failed.
    return first === 'stale' ? staleIsFailure(await sendOnce()) : first;
  };
  const close = (): void => {
    for (const agent of [...Object.values(named), ...Object.values(unnamed)]) agent.destroy();
  };
  return Object.assign(post, { close });
}

function send(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string,
  agent: http.Agent,
  deadline: number,
): Promise<Outcome | 'stale'> {
  return new Promise((done) => {
    const request = (url.protocol === 'https:' ? https : http).request(url, { method: 'POST', agent, headers, maxHeaderSize: 16 * 1024 });
    const timer = setTimeout(
      () => {
        done({ kind: 'failed', reason: 'timeout' });
        request.destroy();
      },
      Math.max(0, deadline - performance.now()),
    );
    request.on('close', () => clearTimeout(timer));
    request.on('error', (error) => {
      const isStale = request.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET';
      done(isStale ? 'stale' : { kind: 'failed', reason: reasonOf(error) });
    });
    request.on('response', (response) => {
      clearTimeout(timer);
      done({
        kind: 'answered',
        status: response.statusCode ?? 0,
        retryAfterSecs: parseRetryAfter(response.headers['retry-after'], Date.now()),
      });
      throwAway(response);
    });
    request.end(body);
  });
}

const staleIsFailure = (outcome: Outcome | 'stale'): Outcome =>
  outcome === 'stale' ? { kind: 'failed', reason: 'connection_failed' } : outcome;

const bodyBytesMax = 16 * 1024;
const bodyMs = 1_000;

/** A short body is read so that the connection can be used again; a long or slow one costs the connection. */
function throwAway(response: http.IncomingMessage): void {
  let bytes = 0;
  const timer = setTimeout(() => response.destroy(), bodyMs);
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) response.destroy();
  });
  response.on('close', () => clearTimeout(timer));
  response.on('error', () => undefined);
}

/** In place of the resolver of the socket: hands it what was looked at, all of it or nothing. */
const checkedLookup =
  (resolve: Resolve, allowPrivate: boolean): LookupFunction =>
  (host, options, callback) => {
    resolve(host).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) return callback(new Refused('unresolvable'), '', 0);
        if (!allowPrivate && addresses.some(({ address }) => isPrivateAddress(address)))
          return callback(new Refused('private_address'), '', 0);
        if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      () => callback(new Refused('unresolvable'), '', 0),
    );
  };

function reasonOf(error: Error): DeliveryReason {
  if (error instanceof Refused) return error.reason;
  const code = String((error as NodeJS.ErrnoException).code ?? '');
  return /CERT|TLS|SSL|ISSUER|SELF_SIGNED|EPROTO/.test(code) ? 'tls_failed' : 'connection_failed';
}
