import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  type EventDraft,
  type EventType,
  eventTypes,
  type ServiceName,
  type StreamRef,
  serviceNames,
  versionOf,
} from '@fluidbox/contracts';
import { startTestPostgres, type TestDatabase, type TestPostgres } from '@fluidbox/testing';
import pg from 'pg';
import type { AppendGroup } from '../api';
import { typesOf } from '../domain/appenders';
import { clock, groupOf, ids, newRun, sharedGroupOf } from '../fixtures/events';
import { prepareEvent } from '../prepare';
import { testServiceUrl } from '../test-schema';
import { assertSchemaVersion, migrate } from './migrate';
import { createPostgresStore } from './postgres-store';

describe('schema, roles and row-level security', () => {
  let postgres: TestPostgres;
  let database: TestDatabase;
  let admin: pg.Pool;
  const clients: pg.Pool[] = [];
  const as = (service: ServiceName): pg.Pool => {
    const pool = new pg.Pool({ connectionString: testServiceUrl(database.url, service), max: 1 });
    clients.push(pool);
    return pool;
  };
  beforeAll(async () => {
    postgres = await startTestPostgres();
    database = await postgres.createDatabase({ migrated: true });
    admin = new pg.Pool({ connectionString: database.url, max: 2 });
  });
  afterAll(async () => {
    await Promise.all([admin.end(), ...clients.map((client) => client.end())]);
    await postgres.stop();
  });

  it('migrates an empty database once, also when several processes do it at the same time', async () => {
    const fresh = await postgres.createDatabase();
    const passwords = Object.fromEntries(serviceNames.map((name) => [name, 'test'])) as Record<ServiceName, string>;
    const options = { databaseUrl: fresh.url, passwords, rolePrefix: 'fluidbox_twice_' };
    const results = await Promise.all([migrate(options), migrate(options), migrate(options)]);
    expect(results.filter((result) => result.applied.length > 0)).toHaveLength(1);
    expect(results[0]?.roles['runner-gateway']).toBe('fluidbox_twice_runner_gateway');
    expect((await migrate(options)).applied).toEqual([]);
  });

  it('lets a service start only on its own schema version', async () => {
    const fresh = await postgres.createDatabase({ migrated: true });
    const empty = await postgres.createDatabase();
    const pool = new pg.Pool({ connectionString: fresh.url });
    const emptyPool = new pg.Pool({ connectionString: empty.url });
    clients.push(pool, emptyPool);
    await expect(assertSchemaVersion(pool)).resolves.toBeUndefined();
    await expect(assertSchemaVersion(emptyPool)).rejects.toThrow(/lacks 0001_ledger.sql.*migrate/);
    await pool.query("insert into ledger.schema_migrations (name, checksum) values ('9999_future.sql', 'x')");
    await expect(assertSchemaVersion(pool)).rejects.toThrow(/9999_future.sql, which this version does not know/);
    await pool.query("delete from ledger.schema_migrations where name = '9999_future.sql'");
    await pool.query("update ledger.schema_migrations set checksum = 'x' where name = '0001_ledger.sql'");
    await expect(assertSchemaVersion(pool)).rejects.toThrow(/0001_ledger.sql was changed/);
  });

  const samples = path.join(__dirname, '../../../../tests/architecture/event-samples');
  /** As the newest sample of its type says it. */
  const draftOf = (type: EventType): EventDraft => {
    const file = readFileSync(path.join(samples, `${type}.v${versionOf(type)}.json`), 'utf8');
    return { type, actor: 'service:test', data: (JSON.parse(file) as { data: object }).data } as EventDraft;
  };
  const factOf = (run: StreamRef, type: EventType): AppendGroup => ({
    stream: run,
    expected: 'any',
    events: [
      prepareEvent({ ...draftOf(type), content: undefined, projection: undefined } as EventDraft, { stream: run, keys: null, clock, ids }),
    ],
  });

  it('every appender may append its types and no other, and nobody may change an event, the superuser included', async () => {
    const run = newRun();
    const types = Object.keys(eventTypes) as EventType[];
    for (const service of ['runs', 'gate', 'approvals', 'llm-facade', 'scheduler', 'run-specs'] as const) {
      const store = createPostgresStore({ url: testServiceUrl(database.url, service) });
      for (const type of types) {
        const appended = store.append([factOf(run, type)]);
        if (typesOf(service).includes(type)) expect((await appended)[0]?.ok).toBe(true);
        else await expect(appended).rejects.toMatchObject({ code: 'internal' });
      }
      await store.close();
      await expect(as(service).query("update ledger.events set body = ''")).rejects.toMatchObject({ code: '42501' });
      await expect(as(service).query('delete from ledger.events')).rejects.toMatchObject({ code: '42501' });
    }
    for (const service of ['gateway', 'runner-gateway', 'projector'] as const) {
      const store = createPostgresStore({ url: testServiceUrl(database.url, service) });
      await expect(store.append([groupOf(run, 'any')])).rejects.toMatchObject({ code: 'internal' });
      await store.close();
    }
    await expect(admin.query("update ledger.events set body = ''")).rejects.toThrow('events is append-only');
    await expect(admin.query('truncate ledger.events')).rejects.toThrow('events is append-only');
    await expect(admin.query('delete from ledger.documents')).rejects.toThrow('documents is append-only');
  });

  it('refuses bytes that are not those of their digest, from any appender', async () => {
    const insert = 'insert into ledger.documents (digest, bytes) values (sha256($1), $2)';
    await expect(as('gate').query(insert, [Buffer.from('a'), Buffer.from('b')])).rejects.toMatchObject({ constraint: 'documents_digest' });
    await expect(as('gate').query(insert, [Buffer.from('a'), Buffer.from('a')])).resolves.toBeDefined();
    const event = `insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash)
      values ('default', 'run-forged', 'run', 1, gen_random_uuid(), 'tool.requested', 1, 0, now(), 'x', 'body', sha256('other'), '', '')`;
    await expect(as('gate').query(event)).rejects.toThrow('policy "events_body_digest"');
  });

  it('refuses content of a class that nobody opens, and an event before the first place', async () => {
    const gate = as('gate');
    const content = (keyClass: string) =>
      gate.query("insert into ledger.content (stream, seq, class, org_id, sealed) values ('run-classes', 1, $1, 'default', '')", [
        keyClass,
      ]);
    await expect(content('other')).rejects.toThrow('policy "content_class"');
    await gate.query('begin');
    await expect(content('rest')).resolves.toMatchObject({ rowCount: 1 });
    await gate.query('rollback');
    const at = (seq: number) =>
      as('gate').query(
        `insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash)
         select 'default', 'run-first', 'run', $1, gen_random_uuid(), 'tool.requested', 1, 0, now(), 'x', b, sha256(b), '', ''
         from (select '{"org":"default","stream":"run-first","type":"tool.requested","version":1}'::bytea as b) as body`,
        [seq],
      );
    await expect(at(0)).rejects.toThrow('policy "events_seq"');
    await expect(at(1)).resolves.toMatchObject({ rowCount: 1 });
  });

  it('refuses an event whose columns say something else than its bytes', async () => {
    const run = newRun();
    const honest = factOf(run, 'run.result').events[0]?.ledger.text() ?? '';
    const insert = `insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash)
      select 'default', $1, 'run', 1, gen_random_uuid(), $2, $3, 0, now(), 'x', b, sha256(b), '', '' from convert_to($4, 'UTF8') as b`;
    const write = (type: string, body: string, stream = `run-${run.id}`) =>
      as('gate').query(insert, [stream, type, versionOf('run.result'), body]);
    // As gate may write it, with a body that readers would take for an end of the run.
    await expect(write('tool.requested', honest)).rejects.toThrow('policy "events_body_names"');
    await expect(write('tool.requested', `${honest} `)).rejects.toThrow('policy "events_body_names"');
    await expect(write('run.result', honest)).rejects.toThrow('policy for table');
    const own = honest.replace('"type":"run.result"', '"type":"tool.requested"');
    await expect(write('tool.requested', own, `run-${newRun().id}`)).rejects.toThrow('policy "events_body_names"');
    await expect(write('tool.requested', own)).resolves.toBeDefined();
  });

  it('refuses a body that a reader could not parse: it would stop all who follow the global order', async () => {
    const write = (body: Buffer) =>
      as('gate').query(
        `insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash)
         values ('default', 'run-parsed', 'run', 1, gen_random_uuid(), 'tool.requested', 1, 0, now(), 'x', $1::bytea, sha256($1::bytea), '', '')`,
        [body],
      );
    const end = '"org":"default","stream":"run-parsed","type":"tool.requested","version":1}';
    for (const start of ['', '{"data":{},,', '{"data":{', '[', '{"data":{}}{'])
      await expect(write(Buffer.from(`${start}${end}`))).rejects.toMatchObject({ code: '22P02' });
    await expect(write(Buffer.concat([Buffer.from('{"data":"'), Buffer.of(0xff), Buffer.from(`",${end}`)]))).rejects.toMatchObject({
      code: '22021',
    });
    await expect(write(Buffer.from(`{"data":{},\n${end}`))).rejects.toThrow('policy "events_body_json"');
    const texts = JSON.stringify({ nul: '\u0000', line: 'a\nb\u2028', other: '\ud83d\ude00 é', number: 1e21 });
    await expect(write(Buffer.from(`{"data":${texts},${end}`))).resolves.toMatchObject({ rowCount: 1 });
  });

  it('lets nobody choose the place of an event in the global order, or its transaction: followers would never see what stands before it', async () => {
    const gate = as('gate');
    const insert = (column: string, value: string) =>
      gate.query(
        `insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash${column})
         overriding system value
         select 'default', 'run-placed', 'run', 1, gen_random_uuid(), 'tool.requested', 1, 0, now(), 'x', b, sha256(b), '', ''${value}
         from (select '{"org":"default","stream":"run-placed","type":"tool.requested","version":1}'::bytea as b) as body`,
      );
    await expect(insert(', global_position', ', 1000000000')).rejects.toMatchObject({ code: '42501' });
    await expect(insert(', txid', ", '5'::xid8")).rejects.toMatchObject({ code: '42501' });
    await expect(insert('', '')).resolves.toMatchObject({ rowCount: 1 });
  });

  it('lets a head go forward only, and a closed stream stay closed, whoever writes', async () => {
    const run = newRun();
    const store = createPostgresStore({ url: testServiceUrl(database.url, 'runs') });
    await store.append([{ ...groupOf(run, 0, 2), setGeneration: 3 }]);
    const name = `run-${run.id}`;
    const set = (change: string) => as('gate').query(`update ledger.stream_heads set ${change} where stream = $1`, [name]);
    for (const change of ['seq = 1', 'seq = 2', "hash = '\\x00'", 'seq = seq + 1, generation = 2'])
      await expect(set(change)).rejects.toMatchObject({ code: '42501', message: expect.stringContaining('only goes forward') });
    for (const change of ["org_id = 'other'", "stream = 'run-x'", "category = 'agent'"])
      await expect(set(change)).rejects.toMatchObject({ code: '42501', message: expect.stringContaining('permission denied') });
    await store.append([{ ...groupOf(run, 2), closes: true }]);
    await expect(set('seq = seq + 1, closed = false')).rejects.toMatchObject({ message: expect.stringContaining('stays closed') });
    await expect(admin.query('delete from ledger.stream_heads')).rejects.toThrow('append-only');
    expect(await store.head(run)).toMatchObject({ version: 3 });
    await store.close();
  });

  it('who spends from an account cannot change its limit, and who does not spend cannot touch it', async () => {
    await admin.query(`insert into ledger.budget_accounts (scope, period, "limit") values ('org:bounded', 'total', 100)`);
    const change = (service: ServiceName, set: string) =>
      as(service).query(`update ledger.budget_accounts set ${set} where scope = 'org:bounded'`);
    await expect(change('runs', '"limit" = null')).rejects.toMatchObject({ code: '42501' });
    await expect(as('runs').query(`select ledger.set_budget_limit('org:bounded', 'total', '2026-11', null, 'runs')`)).rejects.toMatchObject(
      { code: '42501' },
    );
    await expect(change('runs', 'spent = spent + 1')).resolves.toMatchObject({ rowCount: 1 });
    await expect(change('llm-facade', '"limit" = 200')).resolves.toMatchObject({ rowCount: 1 });
    for (const service of ['gate', 'approvals', 'run-specs', 'scheduler'] as const)
      for (const set of ['"limit" = null', 'spent = 0']) await expect(change(service, set)).rejects.toMatchObject({ code: '42501' });
  });

  it('runs alone destroys keys; the scheduler does not even see wrapped ones', async () => {
    const erase = 'update ledger.run_keys set rest = null where stream = $1';
    await expect(as('runs').query(erase, ['run-x'])).resolves.toBeDefined();
    await expect(as('gate').query(erase, ['run-x'])).rejects.toMatchObject({ code: '42501' });
    await expect(as('gate').query('select rest from ledger.run_keys')).resolves.toBeDefined();
    await expect(as('scheduler').query('select rest from ledger.run_keys')).rejects.toMatchObject({ code: '42501' });
  });

  it('a service sees its own tables and not those of another', async () => {
    await expect(as('approvals').query('select * from approvals.timers')).resolves.toBeDefined();
    await expect(as('gate').query('select * from approvals.timers')).rejects.toMatchObject({ code: '42501' });
    await expect(as('projector').query('select * from read.run_rows')).resolves.toBeDefined();
    await expect(as('gateway').query('select * from read.runs')).resolves.toBeDefined();
    await expect(as('gateway').query("update read.models set live = 2 where name = 'runs'")).rejects.toMatchObject({ code: '42501' });
    await expect(as('runs').query('select * from gateway.tokens')).rejects.toMatchObject({ code: '42501' });
  });

  it('binds the reading role to the organisation its transaction names', async () => {
    const [mine, other] = [newRun('acme'), newRun('other')];
    const writer = createPostgresStore({ url: testServiceUrl(database.url, 'runs') });
    await writer.append([groupOf(mine, 0), groupOf(other, 0)]);
    await writer.close();
    const pool = as('gateway');
    expect((await pool.query('select 1 from ledger.events')).rows).toEqual([]);
    await pool.query('begin');
    await pool.query("select set_config('fluidbox.org', 'acme', true)");
    expect((await pool.query<{ stream: string }>('select stream from ledger.events')).rows).toEqual([{ stream: `run-${mine.id}` }]);
    expect((await pool.query<{ stream: string }>('select stream from ledger.stream_heads')).rows).toEqual([{ stream: `run-${mine.id}` }]);
    await pool.query('rollback');

    const bound = createPostgresStore({ url: testServiceUrl(database.url, 'gateway'), rowSecurity: true });
    expect(await bound.read(mine)).toHaveLength(1);
    expect(await bound.read({ ...other, org: 'acme' })).toEqual([]);
    expect(await bound.head(mine)).toMatchObject({ version: 1 });
    await bound.close();
  });

  it('moves budget accounts with the event, all or none', async () => {
    await admin.query(
      `insert into ledger.budget_accounts (scope, period, "limit") values ('org:acme', '2026-11', 100), ('agent:a', '2026-11', null)`,
    );
    const store = createPostgresStore({ url: testServiceUrl(database.url, 'llm-facade') });
    const run = newRun();
    const reserve = (amount: number) => [
      { scope: 'agent:a', period: '2026-11', reserve: amount, settle: 0 },
      { scope: 'org:acme', period: '2026-11', reserve: amount, settle: 0 },
    ];
    const results = await Promise.all(
      [60, 50, 40].map(async (amount) => (await store.append([sharedGroupOf(run, 'any', 1, { accounts: reserve(amount) })]))[0]),
    );
    expect(results.map((result) => (result?.ok === true ? 'ok' : result?.reason))).toEqual(['ok', 'over_account', 'ok']);
    await store.append([sharedGroupOf(run, 2, 1, { accounts: [{ scope: 'org:acme', period: '2026-11', reserve: -60, settle: 25 }] })]);
    const { rows } = await admin.query(
      "select scope, reserved::int, spent::int from ledger.budget_accounts where period = '2026-11' order by scope",
    );
    expect(rows).toEqual([
      { scope: 'agent:a', reserved: 100, spent: 0 },
      { scope: 'org:acme', reserved: 40, spent: 25 },
    ]);
    expect(await store.head(run)).toMatchObject({ version: 3 });
    await store.close();
  });

  it('keeps content with its retention, by class and by kind of stream', async () => {
    const run = newRun();
    const agent = { category: 'agent' as const, id: run.id, org: 'default' };
    const store = createPostgresStore({ url: testServiceUrl(database.url, 'runs') });
    const sealed = (stream: typeof run) => {
      const group = groupOf(stream, 0, 2);
      return {
        ...group,
        events: group.events.map((event, i) =>
          i === 1 ? { ...event, content: { projection: Buffer.from('p'), rest: Buffer.from('r') } } : event,
        ),
      };
    };
    await store.append([sealed(run), sealed(agent)]);
    expect(await store.readContent(run, [1, 2], 'rest')).toEqual(new Map([[2, Buffer.from('r')]]));
    expect(await store.readContent(run, [2], 'projection')).toEqual(new Map([[2, Buffer.from('p')]]));
    expect(await store.readContent({ ...run, org: 'other' }, [2], 'rest')).toEqual(new Map());
    const { rows } = await admin.query<{ stream: string; class: string; days: number | null }>(
      'select stream, class, round(extract(epoch from expires_at - now()) / 86400)::int as days from ledger.content order by 1, 2',
    );
    expect(rows).toEqual([
      { stream: `agent-${run.id}`, class: 'projection', days: null },
      { stream: `agent-${run.id}`, class: 'rest', days: null },
      { stream: `run-${run.id}`, class: 'projection', days: 90 },
      { stream: `run-${run.id}`, class: 'rest', days: 30 },
    ]);
    await store.close();
  });
});
