import { setTimeout as delay } from 'node:timers/promises';
import type { RecordedEvent } from '@fluidbox/contracts';
import { startTestPostgres, type TestDatabase, type TestPostgres } from '@fluidbox/testing';
import pg from 'pg';
import type { AppendResult, EventStore } from '../api';
import { verifyChain } from '../domain/chain';
import { sharedGroupOf as groupOf, newRun } from '../fixtures/events';
import { testServiceUrl } from '../test-schema';
import { appendQuery } from './batch';
import { encodeGroup } from './encoded';
import { createPostgresStore } from './postgres-store';
import { inTransaction } from './transaction';

const one = ([result]: readonly AppendResult[]): AppendResult => {
  if (result === undefined) throw new Error('no result');
  return result;
};

/** Holds transactions open, so it has a server of its own: an open write anywhere in a cluster makes readers wait before a hole. */
describe('Postgres store under concurrency and faults', () => {
  let postgres: TestPostgres;
  let database: TestDatabase;
  let admin: pg.Pool;
  let stores: EventStore[];
  beforeAll(async () => {
    postgres = await startTestPostgres({ exclusive: true });
    database = await postgres.createDatabase({ migrated: true });
    admin = new pg.Pool({ connectionString: database.url, max: 4 });
    stores = (['runs', 'gate', 'llm-facade'] as const).map((service) =>
      createPostgresStore({ url: testServiceUrl(database.url, service) }),
    );
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await admin.end();
    await postgres.stop();
  });
  const store = (index: number): EventStore => stores[index % stores.length] as EventStore;

  it('facts of three services on the same streams: gapless, nothing lost, chains verify', async () => {
    const runs = Array.from({ length: 8 }, () => newRun());
    const results = await Promise.all(
      Array.from({ length: 600 }, (_, i) => store(i).append([groupOf(runs[i % runs.length] as (typeof runs)[number], 'any', 1 + (i % 2))])),
    );
    expect(results.map(one).every((result) => result.ok)).toBe(true);
    for (const run of runs) {
      const events = await store(0).readWithHashes(run);
      const head = await store(0).head(run);
      expect(events.map((event) => event.seq)).toEqual(Array.from({ length: events.length }, (_, i) => i + 1));
      expect(verifyChain(events)).toEqual({ ok: true, seq: head?.version, hash: head?.hash });
    }
    const stored = await Promise.all(runs.map((run) => store(1).head(run)));
    expect(stored.reduce((sum, head) => sum + (head?.version ?? 0), 0)).toBe(900);
  });

  it('decisions of three services on one stream: each version is won once, a loser learns all it missed', async () => {
    const run = newRun();
    let won = 0;
    const racer = async (index: number): Promise<void> => {
      let version = 0;
      for (let tries = 0; tries < 60; tries += 1) {
        const result = one(await store(index).append([groupOf(run, version)]));
        if (result.ok) won += 1;
        if (!result.ok && result.reason !== 'conflict') throw new Error(result.reason);
        if (!result.ok && result.reason === 'conflict')
          expect(result.missed.map((event) => event.seq)).toEqual(range(version + 1, result.version));
        version = result.ok ? result.lastSeq : result.reason === 'conflict' ? result.version : version;
      }
    };
    await Promise.all([racer(0), racer(1), racer(2)]);
    expect(won).toBeGreaterThan(0);
    expect((await store(0).head(run))?.version).toBe(won);
  });

  it('batches over many streams in opposite orders never wait in a circle', async () => {
    const runs = Array.from({ length: 30 }, () => newRun());
    const orders = [runs, [...runs].reverse(), [...runs.slice(15), ...runs.slice(0, 15)]];
    const rounds = orders.map(async (order, index) => {
      for (let i = 0; i < 20; i += 1) {
        const results = await store(index).append(order.map((run) => groupOf(run, 'any')));
        expect(results.every((result) => result.ok)).toBe(true);
      }
    });
    await Promise.all(rounds);
    const { rows } = await admin.query<{ deadlocks: string }>('select deadlocks from pg_stat_database where datname = current_database()');
    expect(rows[0]?.deadlocks).toBe('0');
  });

  it('H-EV-01 · a reader of the global order never skips an event that commits late', async () => {
    const [early, late] = [newRun(), newRun()];
    const from = await end(store(0));
    const open = await openTransaction();
    await open.query(appendQuery([unitOf(early)], true));
    await store(0).append([groupOf(late, 0)]);
    expect(await store(1).readAll({ after: from, limit: 100, categories: ['run'] })).toEqual([]);
    await open.query('commit');
    await open.end();
    const seen = await untilSeen(store(1), from, 2);
    expect(seen.map((event) => event.stream)).toEqual([`run-${early.id}`, `run-${late.id}`]);
    expect(await store(1).readAll({ after: seen.at(-1)?.globalPosition ?? 0, limit: 100, categories: ['run'] })).toEqual([]);
  });

  it('H-EV-01 · a transaction that rolls back holds no reader for longer than it lives', async () => {
    const from = await end(store(0));
    const open = await openTransaction();
    await open.query(appendQuery([unitOf(newRun())], true));
    const late = newRun();
    await store(0).append([groupOf(late, 0)]);
    expect((await store(1).scan({ after: from, limit: 100, categories: ['run'] })).blocked).toBe(true);
    await open.query('rollback');
    await open.end();
    expect((await untilSeen(store(1), from, 1)).map((event) => event.stream)).toEqual([`run-${late.id}`]);
  });

  it('a forgotten transaction of a service ends by itself after its bound', async () => {
    const client = new pg.Client({ connectionString: testServiceUrl(database.url, 'gate') });
    await client.connect();
    const { rows } = await client.query<{ idle_in_transaction_session_timeout: string }>('show idle_in_transaction_session_timeout');
    await client.end();
    expect(rows[0]?.idle_in_transaction_session_timeout).toBe('5s');
  });

  it('H-EV-01 · ten writers with random delays: a reader sees every event exactly once and each stream in order', async () => {
    const from = await end(store(0));
    const runs = Array.from({ length: 10 }, () => newRun());
    let writing = true;
    const writers = Promise.all(
      runs.map(async (run, index) => {
        for (let i = 0; i < 50; i += 1) {
          await store(index).append([groupOf(run, i)]);
          if (i % 7 === index % 7) await rolledBack(run);
        }
      }),
    ).finally(() => {
      writing = false;
    });
    const seen: RecordedEvent[] = [];
    let position = from;
    while (writing || seen.length < 500) {
      const page = await store(2).scan({ after: position, limit: 37, categories: ['run'] });
      seen.push(...page.events);
      position = page.position;
      if (page.events.length === 0) await delay(1);
    }
    await writers;
    expect(new Set(seen.map((event) => event.eventId)).size).toBe(500);
    for (const run of runs) {
      expect(seen.filter((event) => event.stream === `run-${run.id}`).map((event) => event.seq)).toEqual(range(1, 50));
    }
  });

  it('a backend killed in the middle of its batches loses no acknowledged event and stores none twice', async () => {
    const run = newRun();
    const acknowledged: string[] = [];
    let going = true;
    const killer = (async () => {
      for (let i = 0; i < 8; i += 1) {
        await delay(20);
        await admin.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename like '%_gate' and pid <> pg_backend_pid()",
        );
      }
      going = false;
    })();
    const callers = Array.from({ length: 8 }, async () => {
      while (going) {
        const result = one(await store(1).append([groupOf(run, 'any', 2)]));
        if (!result.ok) throw new Error(result.reason);
        acknowledged.push(...result.events.map((event) => event.eventId));
      }
    });
    await Promise.all([killer, ...callers]);
    const stored = await all(store(0), run);
    expect(stored.map((event) => event.eventId).sort()).toEqual([...acknowledged].sort());
    expect(verifyChain(await allWithHashes(store(0), run)).ok).toBe(true);
  });

  it('reads wait for a database that comes back, and end with `unavailable` when it does not', async () => {
    const run = newRun();
    await store(0).append([groupOf(run, 0)]);
    const reads = Array.from({ length: 40 }, async (_, i) => {
      if (i % 10 === 5)
        await admin.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename like '%_llm_facade' and pid <> pg_backend_pid()",
        );
      return store(2).read(run);
    });
    expect((await Promise.all(reads)).every((events) => events.length === 1)).toBe(true);
    const nowhere = createPostgresStore({ url: 'postgres://nobody@127.0.0.1:1/none', retryMs: 30 });
    await expect(nowhere.read(run)).rejects.toMatchObject({ code: 'unavailable' });
    await nowhere.close();
  });

  it('one group that the database refuses harms nobody else in its batch', async () => {
    const [good, bad] = [newRun(), newRun()];
    const event = groupOf(bad, 'any').events[0];
    if (event === undefined) throw new Error('no event');
    const broken = { ...groupOf(bad, 'any'), events: [{ ...event, eventId: 'not a uuid' }] };
    const results = await Promise.allSettled([
      store(0).append([groupOf(good, 'any')]),
      store(0).append([broken]),
      store(0).append([groupOf(good, 'any')]),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await store(0).head(good)).toMatchObject({ version: 2 });
    expect(await store(0).head(bad)).toBeNull();
  });

  it('says `overloaded` when its queue is full, stores nothing of that call and goes on', async () => {
    const small = createPostgresStore({ url: testServiceUrl(database.url, 'runs'), limits: { queuedEventsMax: 4 } });
    const run = newRun();
    const open = await openTransaction();
    await small.append([groupOf(run, 'any')]);
    await open.query('select 1 from ledger.stream_heads where stream = $1 for update', [`run-${run.id}`]);
    const held = small.append([groupOf(run, 'any')]);
    await untilSomebodyWaits();
    const queued = [small.append([groupOf(run, 'any', 2)])];
    await expect(small.append([groupOf(run, 'any', 2), groupOf(run, 'any')])).rejects.toMatchObject({ code: 'overloaded' });
    queued.push(small.append([groupOf(run, 'any', 2)]));
    await expect(small.append([groupOf(run, 'any')])).rejects.toMatchObject({ code: 'overloaded' });
    await open.query('rollback');
    await open.end();
    const results = await Promise.all([held, ...queued]);
    expect(results.map((result) => one(result).ok)).toEqual([true, true, true]);
    expect(await small.head(run)).toMatchObject({ version: 6 });
    await small.close();
  });

  it('waits for a database that does not answer, up to its bound, and then says so', async () => {
    const nowhere = createPostgresStore({ url: 'postgres://nobody@127.0.0.1:1/none', retryMs: 50 });
    await expect(nowhere.append([groupOf(newRun(), 0)])).rejects.toMatchObject({ code: 'unavailable' });
    await nowhere.close();
  });

  it('a batch locks heads in stream order: one that waits for the first of its streams holds none of the later ones', async () => {
    const runs = Array.from({ length: 12 }, () => newRun()).sort((x, y) => (x.id < y.id ? -1 : 1));
    const [first, ...later] = runs;
    if (first === undefined) throw new Error('no runs');
    await store(0).append(runs.map((run) => groupOf(run, 'any')));
    const open = await openTransaction();
    await open.query('select 1 from ledger.stream_heads where stream = $1 for update', [`run-${first.id}`]);
    // The caller names the first stream last.
    const waiting = store(0).append([...later.map((run) => groupOf(run, 'any')), groupOf(first, 'any')]);
    await untilSomebodyWaits();
    const { rows } = await admin.query('select stream from ledger.stream_heads where stream = any ($1) for update skip locked', [
      later.map((run) => `run-${run.id}`),
    ]);
    expect(rows).toHaveLength(later.length);
    await open.query('rollback');
    await open.end();
    expect((await waiting).every((result) => result.ok)).toBe(true);
  });

  it.each([1, 2])(
    'of %i who spend: heads are locked first, then the accounts in the order of their keys, whatever order the callers name',
    async (count) => {
      const runs = Array.from({ length: count }, () => newRun());
      const id = runs[0]?.id;
      const accounts = ['agent:c', 'agent:b', 'agent:a'].map((scope) => ({
        scope: `${scope}:${id}`,
        period: 'total',
        reserve: 1,
        settle: 0,
      }));
      // From now on nothing is missing.
      await store(0).append(runs.map((run) => groupOf(run, 0, 1, { accounts })));
      const open = await openTransaction();
      await open.query('select 1 from ledger.budget_accounts where scope = $1 for update', [`agent:a:${id}`]);
      const waiting = store(0).append(runs.map((run) => groupOf(run, 1, 1, { accounts })));
      await untilSomebodyWaits();
      const free = async (table: string, column: string, names: readonly string[]) =>
        (await admin.query(`select 1 from ledger.${table} where ${column} = any ($1) for update skip locked`, [names])).rowCount;
      expect(
        await free(
          'stream_heads',
          'stream',
          runs.map((run) => `run-${run.id}`),
        ),
      ).toBe(0);
      expect(
        await free(
          'budget_accounts',
          'scope',
          accounts.map(({ scope }) => scope),
        ),
      ).toBe(2);
      await open.query('rollback');
      await open.end();
      expect((await waiting).every((result) => result.ok)).toBe(true);
    },
  );

  it.each([1, 2])(
    'a limit that is reached while %i wait for the account refuses them; when the other one gives up, they are stored',
    async (count) => {
      for (const end of ['commit', 'rollback'] as const) {
        const runs = Array.from({ length: count }, () => newRun());
        const scope = `agent:${runs[0]?.id}`;
        const taking = { accounts: [{ scope, period: 'total', reserve: 20, settle: 0 }] };
        await admin.query(`insert into ledger.budget_accounts (scope, period, "limit") values ($1, 'total', 100)`, [scope]);
        await store(0).append(runs.map((run) => groupOf(run, 0, 1, taking)));
        const open = await openTransaction();
        await open.query('update ledger.budget_accounts set reserved = 90 where scope = $1', [scope]);
        const waiting = store(0).append(runs.map((run) => groupOf(run, 1, 1, taking)));
        await untilSomebodyWaits();
        await open.query(end);
        await open.end();
        for (const result of await waiting)
          expect(result).toMatchObject(end === 'commit' ? { ok: false, reason: 'over_account' } : { ok: true, lastSeq: 2 });
        const { rows } = await admin.query('select reserved::int from ledger.budget_accounts where scope = $1', [scope]);
        expect(rows).toEqual([{ reserved: end === 'commit' ? 90 : 40 * count }]);
        for (const run of runs) expect(await store(0).head(run)).toMatchObject({ version: end === 'commit' ? 1 : 2 });
      }
    },
  );

  it('a connection that ends while its transaction waits for something else fails that transaction and nothing else', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 1 });
    const broken = inTransaction(pool, async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      const ended = new Promise((resolve) => client.once('end', resolve));
      await admin.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
      await ended;
    });
    await expect(broken).rejects.toThrow();
    await expect(inTransaction(pool, (client) => client.query('select 1'))).resolves.toMatchObject({ rowCount: 1 });
    await pool.end();
  });

  it('a full disk is `unavailable` at once, nothing is half stored, and the next append is stored when there is room', async () => {
    const [alone, inBatch] = [newRun(), newRun()];
    await store(0).append([groupOf(alone, 0)]);
    const heads = await Promise.all([store(0).head(alone), store(0).head(inBatch)]);
    await admin.query(`create function ledger.no_room() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`);
    // Behind the rows, so that everything before them has been written when it fails.
    await admin.query('create trigger no_room after insert on ledger.events for each statement execute function ledger.no_room()');
    const started = performance.now();
    await expect(store(0).append([groupOf(alone, 1)])).rejects.toMatchObject({ code: 'unavailable' });
    await expect(store(0).append([groupOf(alone, 1), groupOf(inBatch, 0, 3)])).rejects.toMatchObject({ code: 'unavailable' });
    const underLock = store(0).appendLocked(alone, 1, async (_missed, version) => groupOf(alone, version));
    await expect(underLock).rejects.toMatchObject({ code: 'unavailable' });
    // Had any of them waited as for a database that is away, it would have been half a minute.
    expect(performance.now() - started).toBeLessThan(25_000);
    expect(await Promise.all([store(0).head(alone), store(0).head(inBatch)])).toEqual(heads);
    await admin.query('drop trigger no_room on ledger.events');
    const results = await store(0).append([groupOf(alone, 1), groupOf(inBatch, 0, 3)]);
    expect(results.every((result) => result.ok)).toBe(true);
    expect(verifyChain(await allWithHashes(store(0), alone)).ok).toBe(true);
  });

  it('a page of a long run costs a page, whatever the statistics say, and a damaged run is read on behind its gap', async () => {
    const run = newRun();
    for (let i = 0; i < 10; i += 1) await store(0).append([groupOf(run, 'any', 500)]);
    const pool = new pg.Pool({ connectionString: testServiceUrl(database.url, 'gate'), max: 1 });
    const reading = createPostgresStore({ pool });
    const fetched = async (): Promise<number> => {
      await pool.query('select pg_stat_force_next_flush()');
      const { rows } = await admin.query<{ n: string }>(
        "select idx_tup_fetch + seq_tup_read as n from pg_stat_user_tables where schemaname = 'ledger' and relname = 'events'",
      );
      return Number(rows[0]?.n);
    };
    for (const read of ['read', 'readWithHashes', 'readSealed'] as const) {
      const before = await fetched();
      expect((await reading[read](run, { after: 1_000, limit: 100 })).map(({ seq }) => seq)).toEqual(range(1_001, 1_100));
      expect((await fetched()) - before).toBeLessThanOrEqual(200);
    }
    const owner = await openTransaction();
    await owner.query('set local session_replication_role = replica');
    await owner.query('delete from ledger.events where stream = $1 and seq between 1051 and 1200', [`run-${run.id}`]);
    await owner.query('commit');
    await owner.end();
    for (const read of ['read', 'readWithHashes', 'readSealed'] as const) {
      const seqs = (await reading[read](run, { after: 1_000, limit: 100 })).map(({ seq }) => seq);
      expect(seqs).toEqual([...range(1_001, 1_050), ...range(1_201, 1_250)]);
    }
    await reading.close();
    await pool.end();
  });

  const untilSomebodyWaits = async (): Promise<void> => {
    for (;;) {
      const { rows } = await admin.query("select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");
      if (rows.length > 0) return;
      await delay(2);
    }
  };
  const openTransaction = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('begin');
    return client;
  };
  const rolledBack = async (run: ReturnType<typeof newRun>): Promise<void> => {
    const client = await openTransaction();
    await client.query(appendQuery([unitOf(run)], true));
    await client.query('rollback');
    await client.end();
  };
});

const unitOf = (run: ReturnType<typeof newRun>) => ({ stream: `run-${run.id}`, groups: [encodeGroup(groupOf(run, 'any'))] });
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

async function end(store: EventStore): Promise<number> {
  for (let position = 0; ; ) {
    const page = await store.scan({ after: position, limit: 1_000, categories: ['run'] });
    if (page.position === position && !page.blocked) return position;
    position = page.position;
  }
}
async function untilSeen(store: EventStore, after: number, count: number): Promise<readonly RecordedEvent[]> {
  for (;;) {
    const seen = await store.readAll({ after, limit: 100, categories: ['run'] });
    if (seen.length >= count) return seen;
    await delay(2);
  }
}
async function allWithHashes(store: EventStore, run: ReturnType<typeof newRun>) {
  const events: Awaited<ReturnType<EventStore['readWithHashes']>>[number][] = [];
  for (;;) {
    const page = await store.readWithHashes(run, { after: events.length });
    if (page.length === 0) return events;
    events.push(...page);
  }
}
const all = allWithHashes;
