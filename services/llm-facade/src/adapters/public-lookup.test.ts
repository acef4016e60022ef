import { randomBytes } from 'node:crypto';
import type { LookupFunction } from 'node:net';
import { kekFromBytes } from '@fluidbox/seal';
import { fakeClock } from '@fluidbox/testing';
import { type Provider, startProvider } from '../testing/facade-fixture';
import { memoryUpstreams } from '../testing/memory-upstreams';
import { orgUpstreams } from './org-upstreams';
import { publicLookup, type Resolve } from './public-lookup';
import { upstreamKeys } from './upstream-keys';

const at =
  (...addresses: string[]): Resolve =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
const look = (resolve: Resolve, all: boolean) =>
  new Promise((done) => {
    publicLookup(resolve)('api.example.com', { all }, (error, address, family) => done(error?.message ?? [address, family]));
  });

describe('where the name of an upstream leads', () => {
  it('is where the socket goes, all of it', async () => {
    const both = [
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ];
    expect(await look(at('8.8.8.8', '2606:4700::1'), true)).toEqual([both, undefined]);
    expect(await look(at('8.8.8.8', '2606:4700::1'), false)).toEqual(['8.8.8.8', 4]);
  });
  it.each([
    ['a private address', at('10.0.0.1'), /private address/],
    ['a private one among others', at('8.8.8.8', '::1'), /private address/],
    ['nowhere', at(), /no address/],
    ['an error', () => Promise.reject(new Error('x')), /cannot be resolved/],
  ] as [string, Resolve, RegExp][])('is nowhere when it is %s', async (_name, resolve, why) => {
    expect(await look(resolve, true)).toMatch(why);
    expect(await look(resolve, false)).toMatch(why);
  });
});

describe('an upstream by name', () => {
  let provider: Provider;
  const keys = upstreamKeys(kekFromBytes(randomBytes(32)));
  beforeEach(async () => {
    provider = await startProvider();
  });
  afterEach(() => provider.close());

  const send = async (privateHosts: readonly string[], lookup: LookupFunction) => {
    const table = memoryUpstreams();
    const port = new URL(provider.url).port;
    const place = { org: 'o', dialect: 'anthropic_messages' as const, name: 'a', baseUrl: `https://api.example.com:${port}` };
    await table.set({ ...place, sealedKey: keys.seal(place, 'sk-secret-0123456789'), by: 'ann', at: new Date(0) }, undefined);
    const log = { warn: () => undefined, error: () => undefined };
    const clock = fakeClock('2026-11-30T12:00:00.000Z');
    const upstreams = orgUpstreams({ own: new Map(), organisations: { table, keys, privateHosts }, clock, log, lookup });
    const [first] = await upstreams.of('o', 'anthropic_messages');
    const request = { path: 'v1/messages', headers: {}, body: Buffer.from('{}'), givenUp: [] };
    const failure = await first?.upstream.send(request).catch((error: unknown) => error);
    await upstreams.close();
    return failure;
  };

  it('is looked up by the guard, and a private one is never connected to', async () => {
    const failure = await send([], publicLookup(at('127.0.0.1')));
    expect(failure).toMatchObject({ sent: false, message: expect.stringContaining('private address') });
  });
  it('that the configuration names is looked up by the system', async () => {
    let asked = 0;
    await send(['api.example.com'], (_host, _options, callback) => {
      asked += 1;
      callback(new Error('x'), '', 0);
    });
    expect(asked).toBe(0);
  });
});
