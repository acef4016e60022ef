import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { type Receiver, startReceiver } from '../testing/receiver';
import { type Post, type PostOptions, postVia } from './post';

describe('[WEBHOOK-4] one attempt, at real receivers', () => {
  let receiver: Receiver;
  const posts: Post[] = [];
  const closing: (() => void)[] = [];
  const via = (options: Partial<PostOptions> = {}): Post => {
    const post = postVia({ privateHosts: [receiver.host], ...options });
    posts.push(post);
    return post;
  };
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => {
    for (const post of posts.splice(0)) post.close();
    for (const close of closing.splice(0)) close();
    receiver.received.length = 0;
    receiver.answer = (_, response) => void response.writeHead(204).end();
  });
  afterAll(() => receiver.close());

  /** Answers on the raw socket. */
  async function rawServer(onData: (socket: net.Socket) => void): Promise<string> {
    const sockets = new Set<net.Socket>();
    const server = net.createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => onData(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it('sends headers and the exact bytes', async () => {
    const outcome = await via()(`${receiver.url}/a?b=1`, { 'webhook-id': 'x', 'content-type': 'application/json' }, '{"ä":1}');
    expect(outcome).toEqual({ kind: 'answered', status: 204, retryAfterSecs: null });
    expect(receiver.received).toMatchObject([{ path: '/a?b=1', body: '{"ä":1}', headers: { 'webhook-id': 'x' } }]);
  });

  it.each([200, 400, 410, 429, 500, 503])('answers what %i it was told, and how long to wait', async (status) => {
    receiver.answer = (_, response) => void response.writeHead(status, { 'retry-after': '17' }).end('text');
    expect(await via()(receiver.url, {}, '')).toEqual({ kind: 'answered', status, retryAfterSecs: 17 });
  });

  it('follows no redirect', async () => {
    const other = await startReceiver();
    receiver.answer = (_, response) => void response.writeHead(307, { location: other.url }).end();
    expect(await via({ privateHosts: [receiver.host, other.host] })(receiver.url, {}, 'x')).toMatchObject({ status: 307 });
    expect(other.received).toEqual([]);
    await other.close();
  });

  it('waits for the head of an answer as long as it may, and no longer', async () => {
    receiver.answer = () => undefined;
    expect(await via({ timeoutMs: 400 })(receiver.url, {}, '')).toEqual({ kind: 'failed', reason: 'timeout' });
  });

  it('is not held up by a head that comes byte by byte', async () => {
    const host = await rawServer((socket) => {
      const timer = setInterval(() => socket.write('x'), 50);
      socket.write('HTTP/1.1 200 OK\r\nx-slow: ');
      socket.on('close', () => clearInterval(timer));
    });
    const post = via({ privateHosts: [host], timeoutMs: 400 });
    expect(await post(`http://${host}/`, {}, '')).toEqual({ kind: 'failed', reason: 'timeout' });
  });

  it.each(['slow', 'endless'])('takes the status of an answer whose body is %s, and lets the body go', async (kind) => {
    let closed: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const host = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n');
      const timer = setInterval(() => socket.write(kind === 'slow' ? 'x' : Buffer.alloc(64 * 1024)), 20);
      socket.on('close', () => {
        clearInterval(timer);
        closed();
      });
    });
    const post = via({ privateHosts: [host] });
    // The body never ends.
    expect(await post(`http://${host}/`, {}, '')).toMatchObject({ kind: 'answered', status: 200 });
    await gone;
  });

  it.each([
    ['what is no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['a connection that ends', ''],
    ['a head that is too large', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`],
  ])('fails at %s', async (_, bytes) => {
    const host = await rawServer((socket) => socket.end(bytes));
    expect(await via({ privateHosts: [host] })(`http://${host}/`, {}, '')).toEqual({ kind: 'failed', reason: 'connection_failed' });
  });

  it('sends once over a new connection, also when that is reset', async () => {
    let tries = 0;
    const host = await rawServer((socket) => {
      tries += 1;
      socket.resetAndDestroy();
    });
    expect(await via({ privateHosts: [host] })(`http://${host}/`, {}, '')).toEqual({ kind: 'failed', reason: 'connection_failed' });
    expect(tries).toBe(1);
  });

  it('fails where nobody listens', async () => {
    const nowhere = '127.0.0.1:1';
    expect(await via({ privateHosts: [nowhere] })(`http://${nowhere}/`, {}, '')).toEqual({ kind: 'failed', reason: 'connection_failed' });
  });

  it('goes over a kept connection, and over a new one when the receiver closed it', async () => {
    const ports = new Set<number | undefined>();
    const server = http.createServer((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume();
      request.on('end', () => response.end('ok'));
    });
    server.keepAliveTimeout = 60_000;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => server.close());
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const post = via({ privateHosts: [host] });
    for (let round = 0; round < 3; round += 1) {
      expect(await post(`http://${host}/`, {}, 'x')).toMatchObject({ status: 200 });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(ports.size).toBe(1);
    server.closeAllConnections();
    expect(await post(`http://${host}/`, {}, 'x')).toMatchObject({ status: 200 });
    expect(ports.size).toBe(2);
  });

  describe('private addresses', () => {
    const resolveTo =
      (...answers: string[][]) =>
      async () => {
        const addresses = answers.length > 1 ? answers.shift() : answers[0];
        return (addresses ?? []).map((address) => ({ address, family: net.isIP(address) }));
      };

    it('are refused, written out or behind a name, whatever else the name has', async () => {
      const refused = { kind: 'failed', reason: 'private_address' };
      expect(await via({ privateHosts: [] })('https://127.0.0.1/', {}, '')).toEqual(refused);
      expect(await via({ privateHosts: [] })('https://[::1]/', {}, '')).toEqual(refused);
      expect(await via({ privateHosts: [], resolve: resolveTo(['10.0.0.1']) })('https://hooks.test/', {}, '')).toEqual(refused);
      expect(await via({ privateHosts: [], resolve: resolveTo(['1.1.1.1', '127.0.0.1']) })('https://hooks.test/', {}, '')).toEqual(refused);
      expect(await via({ privateHosts: [] })('https://localhost/', {}, '')).toEqual(refused);
    });

    it('are refused on plain http too, when the configuration names the host no more', async () => {
      expect(await via({ privateHosts: [] })(receiver.url, {}, '')).toEqual({ kind: 'failed', reason: 'private_address' });
      expect(receiver.received).toEqual([]);
      expect(await via()(receiver.url, {}, '')).toMatchObject({ status: 204 });
      // Neither is a name asked for.
      const resolve = jest.fn(resolveTo(['203.0.113.7']));
      expect(await via({ privateHosts: [], resolve })('http://hooks.test/', {}, '')).toMatchObject({ reason: 'private_address' });
      expect(resolve).not.toHaveBeenCalled();
    });

    it('are reached for a host that the configuration names', async () => {
      const port = new URL(receiver.url).port;
      const post = via({ privateHosts: ['hooks.test'], resolve: resolveTo(['127.0.0.1']) });
      expect(await post(`http://hooks.test:${port}/`, {}, '')).toMatchObject({ status: 204 });
      expect(receiver.received[0]?.headers.host).toBe(`hooks.test:${port}`);
    });

    it('are not reached by a name that answers differently the second time', async () => {
      const asked: string[] = [];
      // Public when it is looked at, private ever after: nothing listens at the first, the receiver at the second.
      const resolve = async (host: string) => {
        asked.push(host);
        return [{ address: asked.length === 1 ? '203.0.113.7' : '127.0.0.1', family: 4 }];
      };
      const outcome = await via({ privateHosts: [], resolve })(`https://hooks.test:${new URL(receiver.url).port}/`, {}, '');
      expect(outcome).toMatchObject({ kind: 'failed' });
      expect(asked).toEqual(['hooks.test']);
      expect(receiver.received).toEqual([]);
    });
  });

  it('says when a name does not resolve', async () => {
    const resolve = () => Promise.reject(new Error('ENOTFOUND'));
    expect(await via({ resolve })('https://nowhere.test/', {}, '')).toEqual({ kind: 'failed', reason: 'unresolvable' });
    expect(await via({ resolve: async () => [] })('https://nowhere.test/', {}, '')).toEqual({ kind: 'failed', reason: 'unresolvable' });
  });

  describe('over TLS', () => {
    let folder: string;
    let server: https.Server;
    let ca: string;
    beforeAll(async () => {
      folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-tls-'));
      const at = (name: string) => path.join(folder, name);
      const subject = ['-subj', '/CN=hooks.test', '-addext', 'subjectAltName=DNS:hooks.test', '-days', '2', '-nodes'];
      execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-keyout', at('key'), '-out', at('cert'), ...subject], {
        stdio: 'ignore',
      });
      ca = fs.readFileSync(at('cert'), 'utf8');
      server = https.createServer({ key: fs.readFileSync(at('key')), cert: ca }, (request, response) => {
        request.resume();
        response.writeHead(200).end();
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    });
    afterAll(() => {
      server.close();
      server.closeAllConnections();
      fs.rmSync(folder, { recursive: true, force: true });
    });
    const url = (host: string) => `https://${host}:${(server.address() as AddressInfo).port}/`;
    const local = async () => [{ address: '127.0.0.1', family: 4 }];

    it('the receiver must prove its name', async () => {
      const privateHosts = ['hooks.test', 'other.test'];
      expect(await via({ privateHosts, resolve: local, ca })(url('hooks.test'), {}, '')).toMatchObject({ status: 200 });
      expect(await via({ privateHosts, resolve: local, ca })(url('other.test'), {}, '')).toEqual({ kind: 'failed', reason: 'tls_failed' });
      expect(await via({ privateHosts, resolve: local })(url('hooks.test'), {}, '')).toEqual({ kind: 'failed', reason: 'tls_failed' });
    });
  });
});
