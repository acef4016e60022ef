import { randomBytes } from 'node:crypto';
import { type EventDraft, runStream } from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createPostgresStore, startFollower } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';
import { sqlOf } from '@fluidbox/service-kit';
import { createdRun, type ServiceDatabase, startServiceDatabase, until } from '@fluidbox/testing';
import { heartbeatTable } from './heartbeat-table';
import { openRuns, openRunsFollower } from './open-runs';

const [one, two] = ['0198b3a0-0000-7000-8000-000000000001', '0198b3a0-0000-7000-8000-000000000002'];
const draft = (type: string, data: Record<string, unknown>) => ({ type, actor: 'service:runs', data }) as unknown as EventDraft;
const created = (runId: string) => draft('session.created', createdRun(runId));

describe('tables of runs, as its own database role', () => {
  let database: ServiceDatabase;
  beforeAll(async () => {
    database = await startServiceDatabase('runs');
  });
  afterAll(() => database.stop());

  it('keep the newest beat, whichever process stores last', async () => {
    const table = heartbeatTable(sqlOf(database.pool));
    await table.store(
      new Map([
        [one, 1_700_000_005_250],
        [two, 1_700_000_001_000],
      ]),
    );
    await table.store(new Map([[one, 1_700_000_003_000]]));
    expect([await table.read(one), await table.read(two), await table.read('0198b3a0-0000-7000-8000-000000000009')]).toEqual([
      1_700_000_005_250,
      1_700_000_001_000,
      null,
    ]);
  });

  it('know the runs that are not over, and wake each that moved', async () => {
    const { pool } = database;
    const sql = sqlOf(pool);
    const store = createPostgresStore({ url: database.urlOf('runs') });
    const clock = { now: () => new Date() };
    const ids = { uuid: () => crypto.randomUUID() };
    const keyring = createKekKeyring({ store, kek: kekFromBytes(randomBytes(32)), clock });
    const ledger = createLedger({ store, keyring, clock, ids, service: 'runs' });
    const woken: [string, number][] = [];
    const follower = startFollower({
      pool,
      store,
      follower: openRunsFollower({ wake: (stream, atLeast) => void woken.push([stream.id, atLeast]) }),
      onProblem: (message, { error }) => {
        throw new Error(message, { cause: error });
      },
    });
    const append = async (runId: string, events: EventDraft[], closes = false) => {
      await ledger.decide(runFold, runStream(runId, 'default'), () => ({ events, result: undefined, closes }));
      await follower.caughtUp();
    };
    try {
      await append(one, [created(one)]);
      await append(two, [created(two)]);
      expect((await openRuns(sql)).map(({ runId }) => runId).sort()).toEqual([one, two]);
      await append(one, [
        draft('session.status_changed', { from: 'created', to: 'finalizing', reason: 'cancel_requested', outcome: 'cancelled' }),
      ]);
      await append(
        one,
        [draft('session.status_changed', { from: 'finalizing', to: 'cancelled', reason: 'collected', outcome: 'cancelled' })],
        true,
      );
      await until(async () => (await openRuns(sql)).length === 1);
      expect(await openRuns(sql)).toEqual([{ runId: two, org: 'default' }]);
      expect(woken).toEqual([
        [one, 1],
        [two, 1],
        [one, 2],
      ]);
      expect(await heartbeatTable(sql).read(one)).toBeNull();
    } finally {
      await follower.stop();
      await store.close();
    }
  });
});
