import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { Refusal } from './forward-rules';
import { type Forwarder, startForwarder } from './forwarder';

interface Answer {
  readonly status: number;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string;
}

describe('a forwarder that waits when the provider is busy', () => {
  const answers: Answer[] = [];
  const bodies: string[] = [];
  const refusals: Refusal[] = [];
  let server: http.Server;
  let forwarder: Forwarder;

  beforeAll(async () => {
    server = http.createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      bodies.push(Buffer.concat(chunks).toString('utf8'));
      const { status, headers = {}, body = '{}' } = answers.shift() ?? { status: 500 };
      response.writeHead(status, headers).end(body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const llm = { kind: 'url', url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) } as const;
    forwarder = await startForwarder({
      llm,
      token: 'run-token',
      listen: { port: 0 },
      onRefusal: (refusal) => refusals.push(refusal),
      waitsWhenBusy: true,
    });
  });
  afterAll(() => {
    forwarder.close();
    server.close();
  });
  beforeEach(() => {
    for (const list of [answers, bodies, refusals]) list.length = 0;
  });

  const ask = () => fetch(`http://127.0.0.1:${forwarder.port}/v1/responses`, { method: 'POST', body: '{"input":"x"}' });
  const busy: Answer = { status: 429, headers: { 'retry-after': '0' } };

  it('sends the same request again until it is served', async () => {
    answers.push(busy, busy, { status: 200, body: 'served' });
    expect(await (await ask()).text()).toBe('served');
    expect(bodies).toEqual(['{"input":"x"}', '{"input":"x"}', '{"input":"x"}']);
    expect(refusals).toEqual([]);
  });

  it('passes on at once what is final, and tells the end of the budget', async () => {
    answers.push({ status: 429, headers: { 'x-should-retry': 'false' }, body: '{"error":{"code":"budget_exhausted"}}' });
    const answer = await ask();
    expect({ status: answer.status, body: await answer.text() }).toMatchObject({
      status: 429,
      body: expect.stringContaining('budget_exhausted'),
    });
    expect(bodies).toHaveLength(1);
    expect(refusals).toEqual(['budget_exhausted']);
  });

  it('leaves every other failure to the program', async () => {
    answers.push({ status: 503 });
    expect((await ask()).status).toBe(503);
    expect(bodies).toHaveLength(1);
  });

  it('passes on the refusal when it never ends', async () => {
    answers.push(...Array.from({ length: 9 }, () => busy));
    expect((await ask()).status).toBe(429);
    expect(bodies).toHaveLength(7);
  });
});

describe.each([false, true])('a forwarder whose door is shut (waits: %s)', (waitsWhenBusy) => {
  it('says so with a 502, which a program asks again for, and serves the next request when the door is open', async () => {
    const socketPath = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'fbfw-')), 'llm.sock');
    const forwarder = await startForwarder({
      llm: { kind: 'unix', socketPath },
      token: 'run-token',
      listen: { port: 0 },
      onRefusal: () => undefined,
      waitsWhenBusy,
    });
    const ask = () => fetch(`http://127.0.0.1:${forwarder.port}/v1/responses`, { method: 'POST', body: '{"input":"x"}' });
    const refused = await ask();
    expect([refused.status, await refused.text()]).toEqual([502, expect.stringContaining('ENOENT')]);
    const server = http.createServer((_request, response) => response.end('served')).listen(socketPath);
    await once(server, 'listening');
    expect(await (await ask()).text()).toBe('served');
    forwarder.close();
    server.close();
    fs.rmSync(path.dirname(socketPath), { recursive: true });
  });
});

describe('a forwarder', () => {
  let folder: string;
  let forwarder: Forwarder;
  let server: http.Server;
  let connections = 0;
  const bodies: string[] = [];
  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fbfw-'));
    const socketPath = path.join(folder, 'llm.sock');
    server = http.createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      bodies.push(Buffer.concat(chunks).toString('utf8'));
      response.end('served');
    });
    server.on('connection', () => {
      connections += 1;
    });
    server.listen(socketPath);
    await once(server, 'listening');
    forwarder = await startForwarder({
      llm: { kind: 'unix', socketPath },
      token: 'run-token',
      listen: { port: 0 },
      onRefusal: () => undefined,
    });
  });
  afterAll(() => {
    forwarder.close();
    server.close();
    fs.rmSync(folder, { recursive: true });
  });

  const begin = (headers: http.OutgoingHttpHeaders) =>
    http.request({ port: forwarder.port, host: '127.0.0.1', path: '/v1/messages', method: 'POST', agent: false, headers });
  const textOf = async (request: http.ClientRequest): Promise<[number | undefined, string]> => {
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
    let text = '';
    for await (const chunk of answer as AsyncIterable<Buffer>) text += chunk.toString('utf8');
    return [answer.statusCode, text];
  };

  it('knocks at the door with the whole request: nothing is left to be written when the answer comes', async () => {
    const request = begin({});
    request.write('{"input":');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(connections).toBe(0);
    request.end('"x"}');
    expect(await textOf(request)).toEqual([200, 'served']);
    expect([connections, bodies]).toEqual([1, ['{"input":"x"}']]);
  });

  it('refuses a request that it will not hold, by its size', async () => {
    const request = begin({ 'content-length': 65 * 1024 * 1024 });
    request.flushHeaders();
    expect(await textOf(request)).toEqual([413, expect.stringContaining('67108864 bytes')]);
    request.destroy();
    expect(connections).toBe(1);
  });
});
