import { setTimeout as delay } from 'node:timers/promises';
import { MemoryHub } from '@fluidbox/bus';
import { type LogMessage, type ServiceName, SessionView, type StreamRef } from '@fluidbox/contracts';
import {
  createLedger,
  createPostgresStore,
  type EventStore,
  type LogFollower,
  type RunningFollower,
  startFollower,
  testServiceUrl,
  verifyChain,
} from '@fluidbox/event-store';
import { generateSigningKey, grantedKeyring, signCheckpoint as signWith, verifyCheckpoint } from '@fluidbox/seal';
import { startTestPostgres, type TestPostgres } from '@fluidbox/testing';
import fc from 'fast-check';
import pg from 'pg';
import { checkpointsSince, liveRuns, saveCheckpoint } from './adapters/checkpoint-table';
import { checkpointFollower, modelVersion, readModelFollower, republishFollower } from './adapters/followers';
import { LogEar } from './adapters/log-ear';
import { postgresReadTables } from './adapters/read-tables';
import { projectPage } from './app/project-page';
import { type CheckpointPorts, signDueCheckpoints } from './app/sign-checkpoint';
import { LiveRuns } from './domain/live-runs';
import { inPages, newRun, sampleSteps, servicesOn, testClock } from './testing/sample-run';

describe('projector on a real ledger', () => {
  let postgres: TestPostgres;
  let url: string;
  let pool: pg.Pool;
  let reader: pg.Pool;
  let store: EventStore;
  const stores = new Map<ServiceName, EventStore>();
  const clock = testClock();
  const running: RunningFollower[] = [];
  const storeOf = (service: ServiceName): EventStore => {
    const known = stores.get(service) ?? createPostgresStore({ url: testServiceUrl(url, service) });
    stores.set(service, known);
    return known;
  };
  const services = servicesOn(storeOf, clock);
  const sql = {
    query: async <Row extends object>(text: string, values: readonly unknown[] = []) => {
      const { rows, rowCount } = await pool.query<Row & pg.QueryResultRow>(text, [...values]);
      return { rows, rowCount: rowCount ?? 0 };
    },
  };
  beforeAll(async () => {
    postgres = await startTestPostgres();
    url = (await postgres.createDatabase({ migrated: true })).url;
    pool = new pg.Pool({ connectionString: testServiceUrl(url, 'projector') });
    reader = new pg.Pool({ connectionString: url });
    store = storeOf('projector');
  }, 60_000);
  afterEach(async () => {
    await Promise.all(running.splice(0).map((follower) => follower.stop()));
  });
  afterAll(async () => {
    await Promise.all([...[...stores.values()].map((each) => each.close()), pool.end(), reader.end()]);
    await postgres.stop();
  });

  const ledger = () => createLedger({ store, keyring: grantedKeyring('projector'), clock, ids: { uuid: () => '' }, service: 'projector' });
  const follow = (follower: LogFollower): RunningFollower => {
    const started = startFollower({
      pool,
      follower,
      store,
      retryDelayMs: () => 1,
      triesMax: 2,
      onProblem: (message, detail) => {
        throw new Error(`${message}: ${String(detail.error)}`);
      },
    });
    running.push(started);
    return started;
  };
  const readModels = (): RunningFollower => follow(readModelFollower({ ledger: ledger(), tables: postgresReadTables(modelVersion) }));
  const live = async (run: StreamRef, steps = 12): Promise<void> => {
    for (const step of sampleSteps(run.id).slice(0, steps)) await services.write(run, step);
  };

  it('shows a run as it stands, and its end', async () => {
    const run = newRun('shown');
    await live(run, 7);
    const follower = readModels();
    await follower.caughtUp();
    const row = async () =>
      (
        await reader.query<{ status: string; summary_seq: string | null; view: unknown; invoked_by: string }>(
          'select * from read.runs where run_id = $1',
          [run.id],
        )
      ).rows[0];
    expect(await row()).toMatchObject({ status: 'awaiting_approval', invoked_by: 'ada', summary_seq: null });
    for (const step of sampleSteps(run.id).slice(7)) await services.write(run, step);
    await follower.caughtUp();
    const ended = await row();
    const view = SessionView.parse(ended?.view);
    expect(view).toMatchObject({
      id: run.id,
      agent: 'fixer',
      agent_revision: 3,
      status: 'completed',
      outcome: 'completed',
      tool_calls: 2,
      pending_approvals: 0,
      task: null,
      last_seq: 19,
    });
    expect(view.usage).toMatchObject({ input_tokens: 100, output_tokens: 20, cost_micro_usd: 333, model_requests: 1 });
    expect(Number(ended?.summary_seq)).toBe(18);
    expect(
      (
        await reader.query("select status, view->>'decided_by' as by, view->'votes' as votes from read.approvals where run_id = $1", [
          run.id,
        ])
      ).rows,
    ).toEqual([{ status: 'approved', by: 'grace', votes: ['grace'] }]);
    expect((await reader.query('select id, bytes::int from read.artifacts where run_id = $1', [run.id])).rows).toEqual([
      { id: `art_${run.id}_diff`, bytes: 42 },
    ]);
    expect((await reader.query("select agent, model, cost_micro_usd::int as cost from read.costs where org_id = 'shown'")).rows).toEqual([
      { agent: 'fixer', model: 'm-1', cost: 333 },
    ]);
  });

  it('gives the same rows however the log is cut into pages, and whatever is repeated after a page that did not commit', async () => {
    const runs = [newRun('cut'), newRun('cut')];
    const [first, second] = runs.map((run) => sampleSteps(run.id));
    for (let i = 0; i < 12; i += 1) {
      for (const [index, steps] of [first, second].entries()) {
        const step = steps?.[i];
        if (step !== undefined) await services.write(runs[index] as StreamRef, step);
      }
    }
    const all = await store.readAll({ after: 0, limit: 1_000, categories: ['run'] });
    const events = all.filter((event) => event.org === 'cut');
    const rowsOf = async (version: number) => {
      const tables = ['run_rows', 'approval_rows', 'artifact_rows', 'cost_rows'];
      const columns = await Promise.all(
        tables.map(
          async (table) =>
            (
              await reader.query<{ row: Record<string, unknown> }>(
                `select to_jsonb(t) - 'version' as row from read.${table} t where version = $1 and org_id = 'cut' order by 1`,
                [version],
              )
            ).rows,
        ),
      );
      return columns.map((rows) => rows.map(({ row }) => row));
    };
    const project = async (version: number, cuts: readonly number[], failing: ReadonlySet<number>): Promise<unknown> => {
      const ports = { ledger: ledger(), tables: postgresReadTables(version) };
      for (const [index, page] of inPages(events, cuts).entries()) {
        const client = await pool.connect();
        const tx = {
          query: async <Row extends object>(text: string, values: readonly unknown[] = []) => {
            const { rows, rowCount } = await client.query<Row & pg.QueryResultRow>(text, [...values]);
            return { rows, rowCount: rowCount ?? 0 };
          },
        };
        for (const end of failing.has(index) ? ['rollback', 'commit'] : ['commit']) {
          await client.query('begin');
          await projectPage(ports, page, tx);
          await client.query(end);
        }
        client.release();
      }
      return rowsOf(version);
    };
    const whole = await project(100, [], new Set());
    expect(JSON.stringify(whole)).toContain('completed');
    let version = 100;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 20 }),
        fc.uniqueArray(fc.integer({ min: 0, max: 10 })),
        async (cuts, failing) => {
          version += 1;
          expect(await project(version, cuts, new Set(failing))).toEqual(whole);
        },
      ),
      { numRuns: 12 },
    );
  });

  const key = generateSigningKey();
  const checkpointPorts = (witnessed: { seq: number; id: string; jws: string }[]): CheckpointPorts => ({
    store,
    clock,
    kid: key.kid,
    sign: (checkpoint) => signWith(key, checkpoint),
    save: saveCheckpoint,
    witness: (head) => witnessed.push(head),
    live: new LiveRuns(300_000),
  });

  it('signs the head of a run at its end, once, over the chain that anybody can check', async () => {
    const run = newRun('signed');
    await live(run);
    const witnessed: { seq: number; id: string; jws: string }[] = [];
    const ports = checkpointPorts(witnessed);
    await follow(checkpointFollower(ports, clock)).caughtUp();
    const own = witnessed.filter((head) => head.id === run.id);
    expect(own).toHaveLength(1);
    const chain = verifyChain(await store.readWithHashes(run));
    expect(await verifyCheckpoint(key.publicKeys, own[0]?.jws ?? '')).toMatchObject({
      kid: key.kid,
      checkpoint: { stream: `run-${run.id}`, seq: 19, hash: chain.ok ? chain.hash : '', org: 'signed' },
    });
    expect((await checkpointsSince(sql, new Date(0))).filter((head) => head.id === run.id)).toMatchObject([{ seq: 19, jws: own[0]?.jws }]);
    expect(ports.live.due(Number.MAX_SAFE_INTEGER).map((due) => due.id)).not.toContain(run.id);
  });

  it('vouches for a live run every five minutes, only while it moves, also after a restart', async () => {
    const run = newRun('alive');
    await live(run, 4);
    const witnessed: { seq: number; id: string; jws: string }[] = [];
    const ports = checkpointPorts(witnessed);
    const follower = follow(checkpointFollower(ports, clock));
    const models = readModels();
    await Promise.all([follower.caughtUp(), models.caughtUp()]);
    const signed = async (): Promise<number[]> => {
      await signDueCheckpoints(ports, sql, (id, error) => {
        throw new Error(`${id}: ${String(error)}`);
      });
      return witnessed.filter((head) => head.id === run.id).map((head) => head.seq);
    };
    expect(await signed()).toEqual([]);
    clock.pass(300_000);
    expect(await signed()).toEqual([7]);
    clock.pass(300_000);
    expect(await signed()).toEqual([7]);
    for (const step of sampleSteps(run.id).slice(4, 6)) await services.write(run, step);
    await Promise.all([follower.caughtUp(), models.caughtUp()]);
    expect((await liveRuns(sql, modelVersion)).map(({ id }) => id)).toContain(run.id);
    clock.pass(300_000);
    expect(await signed()).toEqual([7, 10]);
    expect((await liveRuns(sql, modelVersion)).map(({ id }) => id)).not.toContain(run.id);
  });

  it('publishes again what a crashed appender had committed and never told, and nothing else', async () => {
    const hub = new MemoryHub();
    const ear = new LogEar();
    hub.bus().followLog(['run', 'agent', 'policy'], (message) => ear.hear(message));
    const [told, crashed] = [newRun('told'), newRun('crashed')];
    let silent = false;
    for (const service of ['runs', 'gate'] as const) {
      storeOf(service).onCommitted((message: LogMessage) => {
        if (!silent) hub.publish(message);
      });
    }
    const published: LogMessage[] = [];
    const follower = follow(
      republishFollower({
        store,
        heard: ear.heard,
        publish: (message) => published.push(message),
        nextMessage: (ms) => ear.nextMessage(ms),
        now: () => performance.now(),
        graceMs: 30,
      }),
    );
    await follower.caughtUp();
    published.splice(0);
    await live(told, 4);
    for (const [index, step] of sampleSteps(crashed.id).slice(0, 4).entries()) {
      silent = index === 1 || index === 2;
      await services.write(crashed, step);
    }
    silent = false;
    await follower.caughtUp();
    expect(published.map((message) => [message.stream, message.firstSeq, message.lastSeq, message.events?.length])).toEqual([
      [`run-${crashed.id}`, 2, 5, 4],
    ]);
    await delay(1);
    await follower.caughtUp();
    expect(published).toHaveLength(1);
  });
});
