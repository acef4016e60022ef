import { randomBytes } from 'node:crypto';
import { approvalIdOf, runStream, type ServiceName, type StreamRef, streamNameOf, versionOf } from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createPostgresStore, type EventStore, startFollower } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';
import { type SqlPool, StreamLoop, sqlOf } from '@fluidbox/service-kit';
import { createdRun, type ServiceDatabase, startServiceDatabase } from '@fluidbox/testing';
import { attendRun } from '../app/attend-run';
import { lifecycle } from '../app/lifecycle';
import type { Ports } from '../app/ports';
import { draft, waitingCall } from '../app/waiting-call.fixture';
import { runsWithTimers, timersFollower } from './timers';

const runId = '0198b3a0-0000-7000-8000-000000000002';
const stream = runStream(runId, 'default');

const kek = kekFromBytes(randomBytes(32));

describe('approvals after a restart (H-AP-02), on Postgres', () => {
  let database: ServiceDatabase;
  let sql: SqlPool;
  beforeAll(async () => {
    database = await startServiceDatabase('approvals');
    sql = sqlOf(database.pool);
  });
  afterAll(() => database.stop());

  /** A deployment of its own on the one database: what the ledger holds, and a service that may die and be started again. */
  function deployment(runId: string, stream: StreamRef) {
    const stores = new Map<ServiceName, EventStore>();
    const storeOf = (service: ServiceName): EventStore => {
      const known = stores.get(service) ?? createPostgresStore({ url: database.urlOf(service) });
      stores.set(service, known);
      return known;
    };
    const store = storeOf('approvals');
    let now = Date.parse('2026-01-01T00:00:00.000Z');
    const clock = { now: () => new Date(now) };
    const ids = { uuid: () => crypto.randomUUID() };
    const keyring = createKekKeyring({ store, kek, clock });
    const ledgerOf = (service: ServiceName) => createLedger({ store: storeOf(service), keyring, clock, ids, service });
    const ask = (call: string, secs: number) => waitingCall(runId, call, now + secs * 1_000);
    /** One life of the service: its own caches, its own heap. `dying`: it dies before it settles anything. */
    const start = ({ dying = false } = {}) => {
      const ports: Ports = {
        ledger: ledgerOf('approvals'),
        clock,
        evaluateEdit: () => Promise.reject(new Error('nothing is edited here')),
      };
      const driven: string[] = [];
      const loop = new StreamLoop({
        now: () => now,
        drive: (ref, options) => {
          driven.push(ref.id);
          return dying ? Promise.resolve(Number.POSITIVE_INFINITY) : attendRun(ports, ref, options);
        },
        onFailure: (_ref, error) => {
          throw error;
        },
      });
      const follower = startFollower({
        pool: database.pool,
        store,
        follower: timersFollower(loop),
        onProblem: (message, { error }) => {
          throw new Error(message, { cause: error });
        },
      });
      const life = lifecycle({ loop, runsWithTimers: () => runsWithTimers(sql) });
      return { loop, follower, life, driven };
    };
    return {
      start,
      ask,
      keyring,
      ledgerOf,
      advance: (ms: number) => {
        now += ms;
      },
      startRun: () =>
        ledgerOf('runs').decide(runFold, stream, () => ({
          createKeys: keyring.create(streamNameOf(stream)),
          result: undefined,
          events: [
            draft('session.created', createdRun(runId), { task: 't', system_prompt: null }),
            draft('session.status_changed', { from: 'created', to: 'running', reason: 'sandbox_started' }),
          ],
        })),
      state: async () => (await ledgerOf('approvals').state(runFold, stream, { fresh: true })).state,
      close: () => Promise.all([...stores.values()].map((each) => each.close())),
    };
  }

  it('expires what became due while the service was down, keeps the rest pending, and forgets what is settled', async () => {
    const { start, ask, ledgerOf, advance, startRun, state, close } = deployment(runId, stream);
    await startRun();
    await ledgerOf('gate').record(stream, [...ask('toolu_1', 60), ...ask('toolu_2', 600)]);

    const first = start();
    await first.follower.caughtUp();
    expect(await runsWithTimers(sql)).toEqual([{ stream, dueAt: Date.parse('2026-01-01T00:01:00.000Z') }]);
    await first.life.stop();
    await first.follower.stop();

    advance(120_000);
    const second = start();
    await second.life.start();
    await second.loop.settled();
    const run = await state();
    expect([...run.pendingApprovals.keys()]).toEqual([approvalIdOf(runId, 'toolu_2')]);
    expect(run.calls.get('toolu_1')).toMatchObject({ approval: { settled: { decision: 'expired' } }, decision: { verdict: 'deny' } });
    await second.follower.caughtUp();
    const { rows } = await sql.query<{ approval_id: string }>('select approval_id from approvals.timers');
    expect(rows.map((row) => row.approval_id)).toEqual([approvalIdOf(runId, 'toolu_2')]);
    await second.life.stop();
    await second.follower.stop();
    await close();
  });

  it('reads no run again that is not due, and refuses what a run that ended left behind, though the process died in between', async () => {
    const [quiet, ending] = ['0198b3a0-0000-7000-8000-000000000003', '0198b3a0-0000-7000-8000-000000000004'] as const;
    const one = deployment(quiet, runStream(quiet, 'default'));
    const two = deployment(ending, runStream(ending, 'default'));
    await one.startRun();
    await one.ledgerOf('gate').record(runStream(quiet, 'default'), one.ask('toolu_1', 3_000 * 86_400));
    await two.startRun();
    await two.ledgerOf('gate').record(runStream(ending, 'default'), two.ask('toolu_1', 600));
    await two
      .ledgerOf('runs')
      .record(runStream(ending, 'default'), [
        draft('session.status_changed', { from: 'running', to: 'cancelling', reason: 'cancel_requested', outcome: 'cancelled' }),
      ]);
    const first = two.start({ dying: true });
    await first.follower.caughtUp();
    expect(first.driven).toContain(ending);
    expect((await two.state()).pendingApprovals.size).toBe(1);
    await first.life.stop();
    await first.follower.stop();

    // Its clock stands at 2026-01-01 and the database set the timer to its own now: the service is due when its clock says so.
    two.advance(Date.now() - Date.parse('2026-01-01T00:00:00.000Z') + 1_000);
    const second = two.start();
    await second.life.start();
    await second.loop.settled();
    expect(second.driven).toContain(ending);
    expect(second.driven).not.toContain(quiet);
    expect((await two.state()).calls.get('toolu_1')).toMatchObject({ approval: { settled: { decision: 'refused' } } });
    await second.life.stop();
    await second.follower.stop();
    await one.close();
    await two.close();
  });
});

describe('the follower of the timers', () => {
  const asked = {
    seq: 1,
    globalPosition: 1,
    eventId: 'e',
    org: 'default',
    stream: `run-${runId}`,
    type: 'approval.requested',
    actor: 'service:gate',
    occurredAt: '2026-01-01T00:00:00.000Z',
    data: { approval_id: 'apr_x', expires_at: '2026-01-01T00:10:00.000Z' },
  };
  const known = versionOf('approval.requested');
  it.each([1, known, known + 1])('acts on each event it understands and passes none over that it does not: version %i', async (version) => {
    const query = jest.fn(async () => ({ rows: [], rowCount: 1 }));
    const handled = timersFollower({ wake: () => undefined, wakeKnown: () => undefined }).handle([{ ...asked, version }], { query });
    if (version <= known) await handled;
    else await expect(handled).rejects.toThrow(`approval.requested version ${version} is newer`);
    expect(query).toHaveBeenCalledTimes(version <= known ? 1 : 0);
  });
});
