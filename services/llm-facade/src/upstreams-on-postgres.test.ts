import { randomBytes } from 'node:crypto';
import { testServiceUrl } from '@fluidbox/event-store';
import { kekFromBytes } from '@fluidbox/seal';
import { sqlOf } from '@fluidbox/service-kit';
import { startTestPostgres, type TestDatabase, type TestPostgres } from '@fluidbox/testing';
import pg from 'pg';
import { upstreamKeys } from './adapters/upstream-keys';
import { upstreamTable } from './adapters/upstream-table';
import type { UpstreamPlace, UpstreamTable } from './app/ports';

describe('upstreams of organisations on a real Postgres', () => {
  let postgres: TestPostgres;
  let database: TestDatabase;
  let pools: pg.Pool[];
  let facade: pg.Pool;
  let table: UpstreamTable;
  const keys = upstreamKeys(kekFromBytes(randomBytes(32)));
  const key = 'sk-secret-of-an-organisation';
  const at = new Date('2026-11-30T12:00:00.000Z');
  const placeOf = (name: string, org = 'default'): UpstreamPlace => ({
    org,
    dialect: 'anthropic_messages',
    name,
    baseUrl: `https://${name}.example.com`,
  });
  const set = (name: string, position?: number, org = 'default') => {
    const place = placeOf(name, org);
    return table.set({ ...place, sealedKey: keys.seal(place, key), by: 'ann', at }, position);
  };
  const order = async (org = 'default') => (await table.list(org, 'anthropic_messages')).map(({ name, position }) => `${position} ${name}`);

  beforeAll(async () => {
    postgres = await startTestPostgres();
  });
  afterAll(() => postgres.stop());
  beforeEach(async () => {
    database = await postgres.createDatabase({ migrated: true });
    facade = new pg.Pool({ connectionString: testServiceUrl(database.url, 'llm-facade'), max: 4 });
    pools = [facade];
    table = upstreamTable(sqlOf(facade));
  });
  afterEach(() => Promise.all(pools.map((pool) => pool.end())));

  it('keeps them in order, whoever is added, moved and removed', async () => {
    for (const name of ['a', 'b', 'c']) await set(name);
    expect(await order()).toEqual(['1 a', '2 b', '3 c']);
    await set('c', 1);
    expect(await order()).toEqual(['1 c', '2 a', '3 b']);
    await set('d', 2);
    expect(await order()).toEqual(['1 c', '2 d', '3 a', '4 b']);
    expect(await set('e')).toBeNull();
    await set('a');
    expect(await table.remove({ org: 'default', dialect: 'anthropic_messages', name: 'd', by: 'ann', at })).toBe(true);
    expect(await order()).toEqual(['1 c', '2 a', '3 b']);
    expect(await table.remove({ org: 'default', dialect: 'anthropic_messages', name: 'd', by: 'ann', at })).toBe(false);
    expect(await table.list('default', 'openai_responses')).toEqual([]);
  });

  it('takes four of an organisation and no more, also when they come at once', async () => {
    const results = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => set(name)));
    expect(results.filter((result) => result === null)).toHaveLength(2);
    expect((await order()).map((line) => line[0])).toEqual(['1', '2', '3', '4']);
    expect(await set('a', undefined, 'other')).toHaveLength(1);
  });

  it('[MODEL-5] holds no key in the clear, and opens it only where it belongs and with what sealed it', async () => {
    await set('a');
    await set('a', undefined, 'other');
    const { rows } = await facade.query<{ text: string }>(
      `select u::text as text from ledger.upstreams u union all select c::text from ledger.upstream_changes c`,
    );
    const hex = Buffer.from(key).toString('hex');
    for (const { text } of rows) expect([text.includes(key), text.includes(hex)]).toEqual([false, false]);
    const [stored] = await table.list('default', 'anthropic_messages');
    if (stored === undefined) throw new Error('nothing was stored');
    expect(keys.open(stored, stored.sealedKey)).toBe(key);
    for (const change of [
      { org: 'other' },
      { name: 'b' },
      { dialect: 'openai_responses' as const },
      { baseUrl: 'https://evil.example.com' },
    ])
      expect(() => keys.open({ ...stored, ...change }, stored.sealedKey)).toThrow(/does not match/);
    expect(() => upstreamKeys(kekFromBytes(randomBytes(32))).open(stored, stored.sealedKey)).toThrow(/does not match/);
  });

  it('says for ever who changed what, and shows it to no other service', async () => {
    await set('a');
    await table.remove({ org: 'default', dialect: 'anthropic_messages', name: 'a', by: 'bo', at });
    const { rows } = await facade.query('select name, change, position, base_url, changed_by from ledger.upstream_changes order by id');
    expect(rows).toEqual([
      { name: 'a', change: 'set', position: 1, base_url: 'https://a.example.com', changed_by: 'ann' },
      { name: 'a', change: 'removed', position: null, base_url: null, changed_by: 'bo' },
    ]);
    await expect(facade.query(`update ledger.upstream_changes set changed_by = 'x'`)).rejects.toThrow(/permission denied/);
    const admin = new pg.Pool({ connectionString: database.url });
    pools.push(admin);
    await expect(admin.query('delete from ledger.upstream_changes')).rejects.toThrow();
    for (const service of ['gateway', 'runs', 'scheduler'] as const) {
      const other = new pg.Pool({ connectionString: testServiceUrl(database.url, service), max: 1 });
      pools.push(other);
      await expect(other.query('select * from ledger.upstreams')).rejects.toThrow(/permission denied/);
    }
  });
});
