import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { Principal, SetUpstreamBody } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';
import { until } from '@fluidbox/testing';
import { upstreamKeys } from './adapters/upstream-keys';
import { listUpstreams, removeUpstream, setUpstream } from './app/manage-upstreams';
import type { Organisations } from './app/ports';
import { failoverTimes } from './domain/failover';
import { type Facade, type Provider, providerKey, type Respond, startFacade, startProvider } from './testing/facade-fixture';
import { memoryUpstreams } from './testing/memory-upstreams';
import { type Wire, wires } from './testing/wires';

const keyOf = (name: string): string => `sk-secret-of-upstream-${name}`;
const admin = (org = 'default'): Principal => ({ name: 'ann', role: 'admin', org });
const dialectOf = (wire: Wire) => (wire.path === 'v1/messages' ? 'anthropic_messages' : 'openai_responses');
/** Beyond every list that is still believed. */
const believedSecs = 4;

/** A port where nothing listens. */
async function deadUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe.each(wires.map((wire) => [wire.name, wire] as const))('upstreams of an organisation (%s)', (_name, wire) => {
  let deployment: Provider;
  let a: Provider;
  let b: Provider;
  let facade: Facade;
  let organisations: Organisations;

  const answers =
    (text: string): Respond =>
    (_request, body, response) => {
      const streamed = (JSON.parse(body) as { stream?: boolean }).stream === true;
      response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
      response.end(streamed ? wire.opening(text) + wire.ending() : JSON.stringify(wire.whole(text)));
    };
  const status =
    (code: number, headers: Record<string, string> = {}): Respond =>
    (_request, _body, response) =>
      void response.writeHead(code, { 'content-type': 'application/json', ...headers }).end('{"error":{"message":"no"}}');
  /** For those that wait for one who hangs: long enough for any other to answer, on a busy machine too. */
  const short = { streamMs: 1_500, wholeMs: 1_500, totalMs: 60_000 };
  const start = async (change: Partial<Organisations> = {}, failover = failoverTimes): Promise<void> => {
    organisations = {
      table: memoryUpstreams(),
      keys: upstreamKeys(kekFromBytes(randomBytes(32))),
      privateHosts: ['127.0.0.1'],
      ...change,
    };
    facade = await startFacade(deployment.url, { spec: wire.spec(), settings: { failover }, organisations });
  };
  const set = (name: string, url: string, change: Partial<SetUpstreamBody> = {}, org = 'default') =>
    setUpstream(facade.ports, {
      principal: admin(org),
      dialect: dialectOf(wire),
      name,
      body: { base_url: url, key: keyOf(name), ...change },
    });
  const ask = (streamed = true) => facade.post(wire.ask(streamed), { path: wire.path });
  const told = (provider: Provider): string[] =>
    provider.seen.map(({ headers }) => String(headers['x-api-key'] ?? headers.authorization).replace('Bearer ', ''));
  const booked = async () => {
    await facade.idle();
    const events = await facade.events();
    const { state } = await facade.ports.ledger.state(runFold, facade.stream, { fresh: true });
    return {
      closings: events.filter(({ type }) => type === 'budget.settled' || type === 'budget.released').map(({ data }) => data),
      reserved: events.filter(({ type }) => type === 'budget.reserved').map(({ data }) => data),
      responses: events.filter(({ type }) => type === 'model.response').map(({ data }) => data),
      open: state.reservations.size,
      spent: state.spent.tokens,
    };
  };

  beforeEach(async () => {
    [deployment, a, b] = await Promise.all([startProvider(), startProvider(), startProvider()]);
    deployment.answers(answers('deployment'));
    a.answers(answers('first'));
    b.answers(answers('second'));
  });
  afterEach(async () => {
    await facade.stop();
    await Promise.all([deployment, a, b].map((provider) => provider.close()));
  });

  it.each([true, false])('are asked with their own key instead of the deployment (streamed: %s)', async (streamed) => {
    await start();
    await set('a', a.url);
    await set('b', b.url);
    const response = await ask(streamed);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('first')]);
    expect([told(a), told(b), told(deployment)]).toEqual([[keyOf('a')], [], []]);
    const { responses, closings } = await booked();
    expect(responses).toMatchObject([{ upstream: 'a' }]);
    expect(responses[0]).not.toHaveProperty('attempts');
    expect(closings).toMatchObject([{ basis: 'usage', tokens: wire.tokens }]);
  });

  it('are none at first: the deployment is asked, and no event names an upstream', async () => {
    await start();
    expect(await (await ask()).text()).toContain('deployment');
    expect(told(deployment)).toEqual([providerKey]);
    expect((await booked()).responses[0]).not.toHaveProperty('upstream');
  });

  it.each([true, false])('[MODEL-5] one that is dead is followed by the next (streamed: %s)', async (streamed) => {
    await start();
    await set('a', await deadUrl());
    await set('b', b.url);
    const response = await ask(streamed);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('second')]);
    const { responses, closings, reserved, open } = await booked();
    expect(responses).toMatchObject([{ upstream: 'b', attempts: [{ upstream: 'a', outcome: 'unreachable' }] }]);
    expect([closings.length, reserved.length, open]).toEqual([1, 1, 0]);
    expect(closings).toMatchObject([{ basis: 'usage', tokens: wire.tokens }]);
    expect(facade.problems).toContain('an upstream failed before its answer began; the next one is asked');
    expect(facade.logged.join()).toContain('failed_attempts: 1');
  });

  it.each([500, 502, 503, 504, 529])('[MODEL-5] one that answers %i is followed by the next', async (code) => {
    await start();
    a.answers(status(code));
    await set('a', a.url);
    await set('b', b.url);
    expect(await (await ask()).text()).toContain('second');
    const { responses, closings, reserved } = await booked();
    expect(responses).toMatchObject([{ upstream: 'b', attempts: [{ upstream: 'a', outcome: 'status', status: code }] }]);
    expect([closings.length, reserved.length]).toEqual([1, 1]);
  });

  it.each([
    [400, 400],
    [401, 502],
    [403, 403],
    [429, 429],
  ])('one that answers %i is the answer', async (code, seen) => {
    await start();
    a.answers(status(code, { 'retry-after': '9' }));
    await set('a', a.url);
    await set('b', b.url);
    const response = await ask();
    expect([response.status, b.seen.length]).toEqual([seen, 0]);
    if (code === 429) expect(response.headers.get('retry-after')).toBe('9');
    if (code === 401) expect(await response.text()).toContain('the upstream a');
    expect((await booked()).closings).toMatchObject([{ cause: 'refused_upstream' }]);
  });

  it('the last one that fails is the answer', async () => {
    await start();
    a.answers(status(503));
    b.answers(status(529));
    await set('a', a.url);
    await set('b', b.url);
    expect((await ask()).status).toBe(529);
    expect((await booked()).closings).toMatchObject([{ cause: 'refused_upstream' }]);
  });

  it('[MODEL-5] one that breaks off behind its first byte is followed by nobody', async () => {
    await start();
    a.answers((_request, _body, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(wire.opening('begun'), () => setTimeout(() => response.destroy(), 50));
    });
    await set('a', a.url);
    await set('b', b.url);
    const response = await ask();
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    expect(b.seen).toEqual([]);
    expect((await booked()).closings).toMatchObject([{ basis: 'estimated' }]);
  });

  it('one that closes the connection instead of an answer is followed by nobody: nobody knows what it did', async () => {
    await start();
    a.answers((_request, _body, response) => void response.destroy());
    await set('a', a.url);
    await set('b', b.url);
    expect([(await ask()).status, b.seen.length]).toEqual([502, 0]);
    expect((await booked()).closings).toMatchObject([{ basis: 'pessimistic' }]);
  });

  it.each([true, false])('[MODEL-5] one that hangs is followed by the next, and may have charged (streamed: %s)', async (streamed) => {
    await start({}, short);
    a.answers(() => undefined);
    await set('a', a.url);
    await set('b', b.url);
    const response = await ask(streamed);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('second')]);
    const { closings, reserved, responses, open, spent } = await booked();
    expect(closings).toMatchObject([
      { reservation_id: reserved[0]?.reservation_id, basis: 'pessimistic', tokens: reserved[0]?.tokens },
      { reservation_id: reserved[1]?.reservation_id, basis: 'usage', tokens: wire.tokens },
    ]);
    expect(spent).toBe(Number(reserved[0]?.tokens) + wire.tokens);
    expect(responses).toMatchObject([
      { upstream: 'b', attempts: [{ upstream: 'a', outcome: 'timeout', reservation_id: reserved[0]?.reservation_id }] },
    ]);
    expect(open).toBe(0);
  });

  it('[MODEL-5] what a hanging one may have charged leaves nothing for the next where the budget is spent by it', async () => {
    await start();
    await facade.stop();
    const spec = wire.spec();
    facade = await startFacade(deployment.url, {
      spec: { ...spec, budgets: { ...spec.budgets, max_tokens: 1_000 } },
      settings: { failover: short },
      organisations,
    });
    a.answers(() => undefined);
    await set('a', a.url);
    await set('b', b.url);
    expect([(await ask()).status, b.seen.length]).toEqual([429, 0]);
    const { closings, open, responses } = await booked();
    expect(closings).toMatchObject([{ basis: 'pessimistic' }]);
    expect([open, responses.length]).toEqual([0, 0]);
  });

  it('all together take no longer than they may', async () => {
    await start({}, { streamMs: 1_500, wholeMs: 1_500, totalMs: 3_000 });
    for (const provider of [a, b, deployment]) provider.answers(() => undefined);
    await set('a', a.url);
    await set('b', b.url);
    await set('c', deployment.url);
    expect((await ask()).status).toBe(502);
    // The third would have had its own time.
    expect([a.seen.length, b.seen.length, deployment.seen.length]).toEqual([1, 1, 0]);
    const { closings, open } = await booked();
    expect(closings.map(({ basis }) => basis)).toEqual(['pessimistic', 'pessimistic']);
    expect(open).toBe(0);
  });

  it('a runner that hangs up ends it: nobody else is asked', async () => {
    await start();
    a.answers(() => undefined);
    await set('a', a.url);
    await set('b', b.url);
    const hangUp = new AbortController();
    const asked = facade.post(wire.ask(true), { path: wire.path, signal: hangUp.signal }).catch(() => undefined);
    await until(() => a.seen.length > 0);
    hangUp.abort();
    await asked;
    await a.seen[0]?.closed;
    expect((await booked()).closings).toMatchObject([{ basis: 'estimated' }]);
    expect(b.seen).toEqual([]);
  });

  it('[MODEL-5] of one organisation are never asked for another', async () => {
    await start();
    await set('a', a.url, {}, 'other');
    expect(await (await ask()).text()).toContain('deployment');
    expect(a.seen).toEqual([]);
    expect(await listUpstreams(facade.ports, { org: 'default', dialect: dialectOf(wire) })).toEqual([]);
    const names = async (org: string) => (await facade.ports.upstreams.of(org, dialectOf(wire))).map(({ name }) => name);
    expect([await names('default'), await names('other'), await names('third')]).toEqual([[null], ['a'], [null]]);
    // The same bytes in the row of this organisation do not open.
    const [stored] = await organisations.table.list('other', dialectOf(wire));
    if (stored === undefined) throw new Error('nothing was stored');
    await organisations.table.set({ ...stored, org: 'default' }, undefined);
    facade.clock.advance(believedSecs * 1_000);
    const response = await ask();
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('upstream a cannot be opened')]);
    expect([a.seen.length, deployment.seen.length]).toEqual([0, 1]);
  });

  it('[MODEL-5] one that was removed is not asked a few seconds later, nor one that changed', async () => {
    await start();
    await set('a', a.url);
    await (await ask()).text();
    await set('a', b.url, { key: keyOf('b') });
    facade.clock.advance(believedSecs * 1_000);
    await (await ask()).text();
    expect([told(a), told(b)]).toEqual([[keyOf('a')], [keyOf('b')]]);
    await removeUpstream(facade.ports, { principal: admin(), dialect: dialectOf(wire), name: 'a' });
    facade.clock.advance(believedSecs * 1_000);
    expect(await (await ask()).text()).toContain('deployment');
    expect([a.seen.length, b.seen.length]).toEqual([1, 1]);
    await expect(removeUpstream(facade.ports, { principal: admin(), dialect: dialectOf(wire), name: 'a' })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('an answer that is running when its upstream is removed comes to its end', async () => {
    await start();
    let finish = (): void => undefined;
    a.answers((_request, _body, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(wire.opening('slow'));
      finish = () => void response.end(wire.ending());
    });
    await set('a', a.url);
    const running = await ask();
    await removeUpstream(facade.ports, { principal: admin(), dialect: dialectOf(wire), name: 'a' });
    facade.clock.advance(believedSecs * 1_000);
    expect(await (await ask()).text()).toContain('deployment');
    finish();
    expect(await running.text()).toBe(wire.opening('slow') + wire.ending());
  });

  it('a request looks into the table once in a few seconds', async () => {
    let reads = 0;
    const table = memoryUpstreams();
    const list: typeof table.list = (...of) => {
      reads += 1;
      return table.list(...of);
    };
    await start({ table: { ...table, list } });
    await set('a', a.url);
    for (let i = 0; i < 3; i++) await (await ask()).text();
    expect(reads).toBe(1);
    facade.clock.advance(believedSecs * 1_000);
    await (await ask()).text();
    expect(reads).toBe(2);
  });

  it('[MODEL-5] another key-encryption key opens none of them, and the key of the deployment is no replacement', async () => {
    await start();
    await set('a', a.url);
    await facade.stop();
    await start({ table: organisations.table });
    const response = await ask();
    expect([response.status, a.seen.length, deployment.seen.length]).toEqual([503, 0, 0]);
    expect((await booked()).closings).toEqual([]);
    expect([await response.text(), ...facade.logged].join()).not.toContain(keyOf('a'));
  });

  it('a table that cannot be read any more when its request had its budget refuses, and nothing is spent', async () => {
    const table = memoryUpstreams();
    let reads = 0;
    const list: typeof table.list = (...of) => {
      reads += 1;
      return reads > 1 ? Promise.reject(new Error('no database')) : table.list(...of);
    };
    await start({ table: { ...table, list } });
    await facade.stop();
    facade = await startFacade(deployment.url, {
      spec: wire.spec(),
      organisations,
      // As if every append took longer than a list is believed.
      ledger: (ledger) => ({
        ...ledger,
        decide: async (...of) => {
          const result = await ledger.decide(...of);
          facade.clock.advance(believedSecs * 1_000);
          return result;
        },
      }),
    });
    expect([(await ask()).status, reads, deployment.seen.length]).toEqual([503, 2, 0]);
    expect((await booked()).closings).toMatchObject([{ cause: 'not_sent' }]);
  });

  it('one that is refused with an answer without end is left', async () => {
    await start();
    a.answers((_request, _body, response) => void response.writeHead(503).write('{'));
    await set('a', a.url);
    await set('b', b.url);
    expect(await (await ask()).text()).toContain('second');
    await a.seen[0]?.closed;
  });

  it('a table that cannot be read refuses, before anything is reserved', async () => {
    const table = memoryUpstreams();
    await start({ table: { ...table, list: () => Promise.reject(new Error('no database')) } });
    expect((await ask()).status).toBe(503);
    expect([(await booked()).reserved, deployment.seen]).toEqual([[], []]);
  });

  it.each([true, false])('[MODEL-2] no key of the list comes back, whoever echoes it (streamed: %s)', async (streamed) => {
    await start();
    a.answers(status(503, { 'x-request-id': keyOf('a'), 'request-id': keyOf('a') }));
    const echo = `${keyOf('a')} ${providerKey}`;
    b.answers((request, body, response) => {
      response.setHeader('x-request-id', echo);
      response.setHeader('request-id', echo);
      return answers(`your key is ${keyOf('a')}`)(request, body, response);
    });
    await set('a', a.url);
    await set('b', b.url);
    const response = await ask(streamed);
    const text = await response.text().catch(() => 'cut');
    await facade.idle();
    const seen = [
      text,
      JSON.stringify([...response.headers]),
      JSON.stringify(await facade.events()),
      ...facade.logged,
      ...facade.problems,
    ].join();
    for (const key of [keyOf('a'), keyOf('b'), providerKey]) expect(seen).not.toContain(key);
    expect(text).toEqual(streamed ? 'cut' : expect.stringContaining('[provider key]'));
  });

  it('are checked when they are set, four at most', async () => {
    await start({ privateHosts: [] });
    await expect(set('a', a.url)).rejects.toMatchObject({ code: 'unprocessable' });
    for (const name of ['a', 'b', 'c', 'd']) await set(name, 'https://api.example.com/');
    await expect(set('e', 'https://api.example.com')).rejects.toMatchObject({ code: 'conflict' });
    const list = await set('d', 'https://d.example.com', { position: 1 });
    expect(list.map(({ position, name, base_url, set_by }) => [position, name, base_url, set_by])).toEqual([
      [1, 'd', 'https://d.example.com', 'ann'],
      [2, 'a', 'https://api.example.com', 'ann'],
      [3, 'b', 'https://api.example.com', 'ann'],
      [4, 'c', 'https://api.example.com', 'ann'],
    ]);
    expect(JSON.stringify(list)).not.toContain('sk-secret');
  });

  it('one that the configuration named once and names no more is not reached', async () => {
    await start();
    await set('a', a.url);
    await set('b', 'https://localtest.invalid');
    await facade.stop();
    await start({ table: organisations.table, keys: organisations.keys, privateHosts: [] });
    expect([(await ask()).status, a.seen.length]).toEqual([502, 0]);
    expect((await booked()).closings).toMatchObject([{ cause: 'not_sent' }]);
  });
});
