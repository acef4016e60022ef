import { EventEmitter, once } from 'node:events';
import type { RecordedEvent } from '@fluidbox/contracts';
import { startTestPostgres, type TestDatabase, type TestPostgres, until } from '@fluidbox/testing';
import pg from 'pg';
import type { EventStore, LogFollower, SqlClient } from './api';
import { groupOf, newRun } from './fixtures/events';
import { type FollowerOptions, type RunningFollower, startFollower } from './follower';
import { createPostgresStore } from './postgres/postgres-store';
import { testServiceUrl } from './test-schema';

describe('log follower', () => {
  let postgres: TestPostgres;
  let database: TestDatabase;
  let pool: pg.Pool;
  let admin: pg.Pool;
  let store: EventStore;
  const running: RunningFollower[] = [];
  beforeAll(async () => {
    postgres = await startTestPostgres();
    database = await postgres.createDatabase({ migrated: true });
    admin = new pg.Pool({ connectionString: database.url, max: 2 });
    admin.on('error', () => undefined);
    await admin.query('create table public.seen (follower text, position bigint); grant insert on public.seen to public');
    pool = new pg.Pool({ connectionString: testServiceUrl(database.url, 'runs'), max: 6 });
    pool.on('error', () => undefined);
    store = createPostgresStore({ url: testServiceUrl(database.url, 'runs') });
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((follower) => follower.stop()));
  });
  afterAll(async () => {
    await Promise.all([store.close(), pool.end(), admin.end()]);
    await postgres.stop();
  });

  const write = async (follower: string, events: readonly RecordedEvent[], tx: SqlClient): Promise<void> => {
    for (const event of events) await tx.query('insert into public.seen values ($1, $2)', [follower, event.globalPosition]);
  };
  const follow = (follower: LogFollower, options: Partial<FollowerOptions> = {}): RunningFollower => {
    const started = startFollower({ pool, follower, store, onProblem: () => undefined, retryDelayMs: () => 1, ...options });
    running.push(started);
    return started;
  };
  const seenBy = async (name: string): Promise<number[]> =>
    (await admin.query<{ position: string }>('select position from public.seen where follower = $1 order by ctid', [name])).rows.map(
      (row) => Number(row.position),
    );
  const positionOf = async (name: string): Promise<number> =>
    Number((await admin.query<{ position: string }>('select position from ledger.positions where name = $1', [name])).rows[0]?.position);
  const append = async (count: number): Promise<number[]> => {
    const [result] = await store.append([groupOf(newRun(), 0, count)]);
    return result?.ok === true ? result.events.map((event) => event.globalPosition) : [];
  };

  it('handles what was there before it started and what comes after, each event once and in order', async () => {
    const before = await append(5);
    const follower = follow({ name: 'a', categories: ['run'], handle: (events, tx) => write('a', events, tx) }, { batchMax: 2 });
    await follower.caughtUp();
    const after = await append(3);
    await follower.caughtUp();
    const seen = await seenBy('a');
    expect(seen.filter((position) => [...before, ...after].includes(position))).toEqual([...before, ...after]);
    expect(await positionOf('a')).toBe(after.at(-1));
  });

  it('goes on where another process stopped, and stands by while that one works', async () => {
    const handled: string[] = [];
    const as = (process: string): LogFollower => ({
      name: 'b',
      categories: ['run'],
      handle: async (events, tx) => {
        handled.push(process);
        await write('b', events, tx);
      },
    });
    const first = follow(as('first'));
    await append(2);
    await first.caughtUp();
    const second = follow(as('second'));
    await append(1);
    await first.caughtUp();
    expect(handled).not.toContain('second');
    await first.stop();
    const last = await append(1);
    second.wake();
    await second.caughtUp();
    expect(handled.at(-1)).toBe('second');
    const seen = await seenBy('b');
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.at(-1)).toBe(last[0]);
  });

  it('moves its position over events of other types without calling the handler', async () => {
    const handle = jest.fn(async () => undefined);
    const follower = follow({ name: 'c', categories: ['run'], types: ['run.result'], handle });
    const [position] = await append(1);
    await follower.caughtUp();
    expect(handle).not.toHaveBeenCalled();
    await follower.stop();
    expect(await positionOf('c')).toBe(position);
  });

  it('takes back the effect of a failed try and repeats it, so that it happens once', async () => {
    const first = follow({ name: 'd', categories: ['run'], handle: async () => undefined });
    await first.caughtUp();
    await first.stop();
    const positions = await append(3);
    let failures = 3;
    const follower = follow({
      name: 'd',
      categories: ['run'],
      handle: async (events, tx) => {
        await write('d', events, tx);
        failures -= 1;
        if (failures >= 0) throw new Error('not yet');
      },
    });
    await follower.caughtUp();
    expect(await seenBy('d')).toEqual(positions);
  });

  it('parks an event that never works, with its reason, and goes on with the others', async () => {
    const start = follow({ name: 'e', categories: ['run'], handle: async () => undefined });
    await start.caughtUp();
    await start.stop();
    const [good, bad, later] = await append(3);
    const problems: string[] = [];
    const follower = follow(
      {
        name: 'e',
        categories: ['run'],
        handle: async (events, tx) => {
          if (events.some((event) => event.globalPosition === bad)) throw new Error('poison');
          await write('e', events, tx);
        },
      },
      { triesMax: 3, onProblem: (message) => problems.push(message) },
    );
    await follower.caughtUp();
    expect(await seenBy('e')).toEqual([good, later]);
    const { rows } = await admin.query('select global_position::int as at, reason, tries from ledger.parked where name = $1', ['e']);
    expect(rows).toEqual([{ at: bad, reason: 'poison', tries: 3 }]);
    expect(problems).toEqual([
      'a page failed; its events are tried one by one',
      'an event failed',
      'an event failed',
      'an event is parked',
    ]);
  });

  it('handles a parked event again when somebody asks, once, and keeps it parked with the new reason while it fails', async () => {
    const start = follow({ name: 'h', categories: ['run'], handle: async () => undefined });
    await start.caughtUp();
    await start.stop();
    const [bad, later] = await append(2);
    let reason: string | null = 'poison \u0000';
    const follower = follow(
      {
        name: 'h',
        categories: ['run'],
        handle: async (events, tx) => {
          if (reason !== null && events.some((event) => event.globalPosition === bad)) throw new Error(reason);
          await write('h', events, tx);
        },
      },
      { triesMax: 2, idleMs: 20 },
    );
    await follower.caughtUp();
    const parked = async () =>
      (
        await admin.query(
          'select global_position::int as at, reason, tries, replay_requested_at as asked from ledger.parked where name = $1',
          ['h'],
        )
      ).rows;
    expect(await parked()).toEqual([{ at: bad, reason: 'poison \u2400', tries: 2, asked: null }]);
    const ask = () => admin.query("update ledger.parked set replay_requested_at = now() where name = 'h'");
    reason = 'still';
    await ask();
    await until(async () => (await parked())[0]?.asked === null);
    expect(await parked()).toEqual([{ at: bad, reason: 'still', tries: 3, asked: null }]);
    expect(await seenBy('h')).toEqual([later]);
    reason = null;
    await ask();
    await until(async () => (await parked()).length === 0);
    expect(await seenBy('h')).toEqual([later, bad]);
    expect(await positionOf('h')).toBe(later);
  });

  it('survives the loss of its connection in the middle of an effect without repeating what was committed', async () => {
    const start = follow({ name: 'f', categories: ['run'], handle: async () => undefined });
    await start.caughtUp();
    await start.stop();
    const positions = await append(4);
    let killed = false;
    const follower = follow(
      {
        name: 'f',
        categories: ['run'],
        handle: async (events, tx) => {
          await write('f', events, tx);
          if (!killed && events.some((event) => event.globalPosition === positions[2])) {
            killed = true;
            const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
            await admin.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
          }
        },
      },
      { batchMax: 2 },
    );
    await follower.caughtUp();
    expect(await seenBy('f')).toEqual(positions);
    expect((await admin.query('select from ledger.parked where name = $1', ['f'])).rowCount).toBe(0);
  });

  it('holds no transaction open while a handler works elsewhere', async () => {
    const start = follow({ name: 'g', categories: ['run'], handle: async () => undefined });
    await start.caughtUp();
    await start.stop();
    const gate = new EventEmitter();
    const entered = once(gate, 'entered');
    const leave = once(gate, 'leave');
    await append(1);
    const follower = follow({
      name: 'g',
      categories: ['run'],
      handle: async () => {
        gate.emit('entered');
        await leave;
      },
    });
    await entered;
    const { rows } = await admin.query(
      "select state from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
    );
    gate.emit('leave');
    await follower.caughtUp();
    expect(rows).toEqual([]);
  });
});
