import { randomUUID } from 'node:crypto';
import { type RecordedEvent, runStream, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import { startTestPostgres, type TestDatabase, type TestPostgres } from '@fluidbox/testing';
import fc from 'fast-check';
import pg from 'pg';
import type { AppendGroup, AppendResult, EventStore } from '../api';
import { verifyChain } from '../domain/chain';
import { anyCalls, type Call } from '../fixtures/any-calls';
import { Caller } from '../fixtures/caller';
import { createMemoryStore, type MemoryStore } from '../memory/memory-store';
import { testServiceUrl } from '../test-schema';
import { createPostgresStore } from './postgres-store';

const streamCount = 4;
/** Of five accounts: null counts only, undefined is not there yet. */
const limits = [100, 100, undefined, null, 0] as const;

/** Whatever is asked of them in whatever order, both say the same and hold the same: streams, heads, contents, keys and accounts. */
describe('the Postgres store', () => {
  let postgres: TestPostgres;
  let database: TestDatabase;
  let admin: pg.Pool;
  let stores: EventStore[];
  beforeAll(async () => {
    postgres = await startTestPostgres();
    database = await postgres.createDatabase({ migrated: true });
    admin = new pg.Pool({ connectionString: database.url, max: 2 });
    stores = (['runs', 'llm-facade'] as const).map((service) => createPostgresStore({ url: testServiceUrl(database.url, service) }));
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await admin.end();
    await postgres.stop();
  });

  it('says and holds what the one in memory does', async () => {
    await fc.assert(
      fc.asyncProperty(anyCalls(streamCount, limits.length), async (calls) => {
        const memory = createMemoryStore();
        const streams = newStreams();
        const accounts = limits.map((limit, i) => ({ scope: `${'cba'[i % 3]}"\\{é:${streams[0]?.id}`, period: `${i}`, limit }));
        for (const { scope, period, limit } of accounts) {
          if (limit === undefined) continue;
          await admin.query('insert into ledger.budget_accounts (scope, period, "limit") values ($1, $2, $3)', [scope, period, limit]);
          memory.accounts.of(scope, period).limit = limit;
        }
        const caller = new Caller(memory, streams, accounts);
        for (const call of calls) {
          const groups = await caller.groupsOf(call.intents);
          const [said, expected] = await Promise.all([
            answers(stores[call.store] as EventStore, call, groups),
            answers(memory, call, groups),
          ]);
          expect(said).toEqual(expected);
        }
        for (const stream of streams) expect(await held(stores[0] as EventStore, stream)).toEqual(await held(memory, stream));
        expect(await accountsIn(admin, accounts)).toEqual(charged(memory.accounts.all()));
        await expectSoundRows(admin, streams.map(streamNameOf));
      }),
      { numRuns: 60 },
    );
  });
});

/** In the order of their names, of two organisations and categories. */
function newStreams(): StreamRef[] {
  const runs = Array.from({ length: streamCount }, (_, i) => runStream(`${i}${randomUUID().slice(1)}`, i % 2 === 0 ? 'default' : 'acme'));
  return runs.map((run, i) => (i === streamCount - 1 ? { ...run, category: 'webhook' } : run));
}

/** Others use up positions. */
const placeless = <E extends RecordedEvent>({ globalPosition: _, ...event }: E) => event;
function answerOf(result: AppendResult | null, { expected }: AppendGroup) {
  if (result === null || (!result.ok && result.reason !== 'conflict')) return result;
  if (result.ok) return { ...result, events: result.events.map(placeless) };
  // Of what was missed it may be told more, if more was appended before it was read.
  const seqs = result.missed.map(({ seq }) => seq);
  expect(seqs).toEqual(range(Number(expected) + 1, result.version));
  return { ok: false, reason: result.reason };
}
const range = (from: number, to: number): number[] => Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);

/** Called in one turn, they go in one batch; each is answered for itself, also where another one is wrong. */
async function answers(store: EventStore, { locked }: Call, groups: readonly AppendGroup[]): Promise<unknown[]> {
  const ask = async (group: AppendGroup): Promise<AppendResult | null> =>
    locked ? store.appendLocked(group.stream, 0, async () => group) : ((await store.append([group]))[0] ?? null);
  const asked = await Promise.allSettled(groups.slice(0, locked ? 1 : undefined).map(ask));
  return asked.map((one, i) =>
    one.status === 'fulfilled' ? answerOf(one.value, groups[i] as AppendGroup) : ((one.reason as { code?: unknown }).code ?? one.reason),
  );
}

async function held(store: EventStore, stream: StreamRef) {
  const events = await store.readWithHashes(stream);
  const seqs = Array.from({ length: events.length + 2 }, (_, seq) => seq);
  return {
    check: verifyChain(events),
    events: events.map(placeless),
    head: await store.head(stream),
    projection: await store.readContent(stream, seqs, 'projection'),
    rest: await store.readContent(stream, seqs, 'rest'),
    keys: await store.wrappedKeys(streamNameOf(stream)),
    others: (await store.read({ ...stream, org: 'nobody' })).map(placeless),
  };
}

type Account = Omit<ReturnType<MemoryStore['accounts']['of']>, 'limit'>;
/** Those that nothing was ever charged to may be missing. */
const charged = (accounts: readonly Account[]) =>
  accounts
    .map(({ scope, period, reserved, spent }) => ({ scope, period, reserved: Number(reserved), spent: Number(spent) }))
    .filter(({ reserved, spent }) => reserved !== 0 || spent !== 0)
    .sort((a, b) => (a.period < b.period ? -1 : 1));
async function accountsIn(admin: pg.Pool, of: readonly { scope: string }[]) {
  const { rows } = await admin.query<Account>('select scope, period, reserved, spent from ledger.budget_accounts where scope = any ($1)', [
    of.map(({ scope }) => scope),
  ]);
  return charged(rows);
}

/** What no reader of the store sees: columns beside the bytes, links, and contents of events that are not there. */
async function expectSoundRows(admin: pg.Pool, streams: readonly string[]): Promise<void> {
  const { rows } = await admin.query(
    `select e.stream, e.seq from ledger.events e
     left join ledger.events b on b.stream = e.stream and b.seq = e.seq - 1
     join ledger.stream_heads h on h.stream = e.stream
     cross join lateral (select convert_from(e.body, 'UTF8')::jsonb as said) j
     where e.stream = any ($1) and not (
       e.prev_hash = coalesce(b.hash, decode(repeat('00', 32), 'hex')) and (b.seq is null or b.global_position < e.global_position)
       and e.generation between coalesce(b.generation, 0) and h.generation and e.org_id = h.org_id and e.category = h.category and e.seq <= h.seq
       and e.event_id::text = j.said ->> 'event_id' and e.actor = j.said ->> 'actor' and e.occurred_at = (j.said ->> 'occurred_at')::timestamptz
       and (e.seq < h.seq or e.hash = h.hash)
     )
     union all
     select c.stream, c.seq from ledger.content c left join ledger.events e on e.stream = c.stream and e.seq = c.seq and e.org_id = c.org_id
     where c.stream = any ($1) and (e.seq is null or (c.expires_at is null) = (e.category = 'run'))`,
    [streams],
  );
  expect(rows).toEqual([]);
}
