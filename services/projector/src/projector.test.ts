import { setTimeout as delay } from 'node:timers/promises';
import { MemoryHub } from '@fluidbox/bus';
import { erasureStream, type LogMessage, readModelNames, type ServiceName, SessionView, type StreamRef } from '@fluidbox/contracts';
import {
  createPostgresStore,
  type EventStore,
  type LogFollower,
  type RunningFollower,
  type SqlClient,
  startFollower,
  testServiceUrl,
  verifyChain,
} from '@fluidbox/event-store';
import { generateSigningKey, signCheckpoint as signWith, verifyCheckpoint } from '@fluidbox/seal';
import { sqlOf } from '@fluidbox/service-kit';
import { startTestPostgres, type TestPostgres, until } from '@fluidbox/testing';
import fc from 'fast-check';
import pg from 'pg';
import { checkpointsSince, liveRuns, saveCheckpoints, standings } from './adapters/checkpoint-table';
import { checkpointFollower, readModelFollower, republishFollower } from './adapters/followers';
import { LogEar } from './adapters/log-ear';
import { askForReplay, parkedEvents } from './adapters/parked-table';
import { postgresReadTables } from './adapters/read-tables';
import { askForRebuild, dueRebuilds, readModels as listReadModels, postgresRebuilds, rebuildFailed } from './adapters/rebuild-table';
import { projectPage } from './app/project-page';
import { rebuild } from './app/rebuild';
import { Rebuilds } from './app/rebuilds';
import { RunPictures } from './app/run-pictures';
import { type CheckpointPorts, signCheckpoints, signDueCheckpoints } from './app/sign-checkpoint';
import { LiveRuns } from './domain/live-runs';
import { liveFollowerName } from './domain/read-models';
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
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((follower) => follower.stop()));
  });
  afterAll(async () => {
    await Promise.all([...[...stores.values()].map((each) => each.close()), pool.end(), reader.end()]);
    await postgres.stop();
  });

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
  const readModelPorts = () => ({ store, pictures: new RunPictures(store), tables: postgresReadTables });
  const readModels = (): RunningFollower => follow(readModelFollower(readModelPorts()));
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

  it('counts the decisions of the gate by tool, verdict, source and rule', async () => {
    const run = newRun('counted');
    await live(run);
    await readModels().caughtUp();
    const { rows } = await reader.query(
      "select agent, policy, policy_version, tool, verdict, source, rule, calls::int from read.gate where org_id = 'counted' order by verdict, source",
    );
    const call = { agent: 'fixer', policy: 'default', policy_version: 2, tool: 'Bash', rule: '', calls: 1 };
    expect(rows).toEqual([
      { ...call, verdict: 'allow', source: 'approval' },
      { ...call, verdict: 'allow', source: 'policy' },
      { ...call, verdict: 'ask', source: 'policy' },
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
      const tables = ['run_rows', 'approval_rows', 'artifact_rows', 'cost_rows', 'gate_rows'];
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
      const ports = readModelPorts();
      const models = new Map(readModelNames.map((name) => [name, version] as const));
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
          await projectPage(ports, models, page, tx);
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
    standings,
    save: saveCheckpoints,
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

  it('signs runs that end together with three queries, each over its own events, however many those are', async () => {
    const runs = Array.from({ length: 20 }, () => newRun('signed'));
    for (const run of runs) await live(run);
    const other = newRun('elsewhere');
    await live(other);
    const long = erasureStream(other.id, 'elsewhere');
    const erased = {
      type: 'content.erased',
      actor: 'principal:ada',
      data: { run_id: other.id, classes: ['rest'], cause: 'requested', by: 'ada' },
    } as const;
    await services.ledgerOf('runs').record(long, Array(40).fill(erased));
    const witnessed: { seq: number; id: string; jws: string }[] = [];
    const asked: string[] = [];
    const counting: SqlClient = {
      query: (text, values) => {
        asked.push(text);
        return sql.query(text, values);
      },
    };
    const ports = checkpointPorts(witnessed);
    const reads = { few: 0, pages: 0 };
    const countingStore: CheckpointPorts['store'] = {
      eventsAt: (org, places) => {
        reads.few += 1;
        return store.eventsAt(org, places);
      },
      readWithHashes: (stream, page) => {
        reads.pages += 1;
        return store.readWithHashes(stream, page);
      },
    };
    await signCheckpoints({ ...ports, store: countingStore }, [...runs, newRun('signed'), other, long], counting);
    expect([asked.length, reads]).toEqual([2, { few: 2, pages: 1 }]);
    expect(witnessed.map(({ id }) => id)).toEqual([...runs.map(({ id }) => id), other.id, `erasure-${other.id}`]);
    for (const [at, run] of runs.entries()) {
      const chain = verifyChain(await store.readWithHashes(run));
      expect(await verifyCheckpoint(key.publicKeys, witnessed[at]?.jws ?? '')).toMatchObject({
        checkpoint: { stream: `run-${run.id}`, seq: 19, hash: chain.ok ? chain.hash : '', org: 'signed' },
      });
    }
    // Signed before: nothing new leaves, and nothing is read again.
    await signCheckpoints({ ...ports, store: countingStore }, [other, long], counting);
    expect([witnessed.length, reads]).toEqual([22, { few: 2, pages: 1 }]);
  });

  it('signs what was erased of a run, under its own name, and the run stays as it was signed', async () => {
    const run = newRun('signed');
    await live(run);
    const erasure = erasureStream(run.id, 'signed');
    await services
      .ledgerOf('runs')
      .record(erasure, [
        { type: 'content.erased', actor: 'principal:ada', data: { run_id: run.id, classes: ['rest'], cause: 'requested', by: 'ada' } },
      ]);
    const witnessed: { seq: number; id: string; jws: string }[] = [];
    await follow(checkpointFollower(checkpointPorts(witnessed), clock)).caughtUp();
    const heads = witnessed.filter((head) => head.id.endsWith(run.id));
    expect(heads.map(({ id, seq }) => [id, seq])).toEqual([
      [run.id, 19],
      [`erasure-${run.id}`, 1],
    ]);
    expect(await verifyCheckpoint(key.publicKeys, heads[1]?.jws ?? '')).toMatchObject({
      checkpoint: { stream: `erasure-${run.id}`, seq: 1 },
    });
    expect((await checkpointsSince(sql, new Date(0))).filter((head) => head.id.endsWith(run.id)).map(({ id }) => id)).toEqual([
      run.id,
      `erasure-${run.id}`,
    ]);
  });

  it('signs no head that the stored events do not lead to, whoever wrote it', async () => {
    const [forged, changed, honest] = [newRun('signed'), newRun('signed'), newRun('signed')];
    for (const run of [forged, changed, honest]) await live(run, 4);
    const witnessed: { seq: number; id: string; jws: string }[] = [];
    const ports = checkpointPorts(witnessed);
    // No service may write that; whoever holds the database can.
    await reader.query('alter table ledger.stream_heads disable trigger all');
    await reader.query("update ledger.stream_heads set hash = sha256('another history') where stream = $1", [`run-${forged.id}`]);
    await reader.query('alter table ledger.stream_heads enable trigger all');
    await expect(signCheckpoints(ports, [forged], sql)).rejects.toThrow('do not lead to its head at 7');
    await reader.query('alter table ledger.events disable trigger all');
    const body = "replace(convert_from(body, 'UTF8'), 'ada', 'eve')";
    await reader.query(
      `update ledger.events set body = convert_to(${body}, 'UTF8'), body_digest = sha256(convert_to(${body}, 'UTF8')) where stream = $1 and seq = 1`,
      [`run-${changed.id}`],
    );
    await reader.query('alter table ledger.events enable trigger all');
    await expect(signCheckpoints(ports, [changed], sql)).rejects.toThrow('event 1 does not follow');
    await signCheckpoints(ports, [honest], sql);
    expect(witnessed.map(({ id }) => id)).toEqual([honest.id]);
    // Later followers must find nothing wrong here.
    await reader.query('alter table ledger.events disable trigger all');
    await reader.query('delete from ledger.events where stream = any ($1)', [[`run-${forged.id}`, `run-${changed.id}`]]);
    await reader.query('alter table ledger.events enable trigger all');
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
    expect((await liveRuns(sql, 1)).map(({ id }) => id)).toContain(run.id);
    clock.pass(300_000);
    expect(await signed()).toEqual([7, 10]);
    expect((await liveRuns(sql, 1)).map(({ id }) => id)).not.toContain(run.id);
  });

  it('publishes again what a crashed appender had committed and never told, and nothing else', async () => {
    const hub = new MemoryHub();
    const ear = new LogEar();
    hub.bus().followLog(['run', 'agent', 'policy'], (message) => ear.hear(message));
    const [told, crashed] = [newRun('told'), newRun('crashed')];
    let silent = false;
    let committedTo = 0;
    for (const service of ['runs', 'gate'] as const) {
      storeOf(service).onCommitted((message: LogMessage) => {
        if (message.id === crashed.id) committedTo = message.lastSeq;
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
        graceMs: 500,
      }),
    );
    await follower.caughtUp();
    published.splice(0);
    await live(told, 4);
    for (const [index, step] of sampleSteps(crashed.id).slice(0, 4).entries()) {
      silent = index === 1 || index === 2;
      await services.write(crashed, step);
      // The log hears of it after the caller.
      await delay(50);
      // The store tells of a commit after it has answered.
      const { version } = (await store.head(crashed)) ?? { version: 0 };
      await until(() => committedTo === version || undefined);
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

  describe('rebuild', () => {
    const rebuilds = () => postgresRebuilds(sqlOf(pool));
    const ports = (tables = postgresReadTables) => ({ store, tables, rebuilds: rebuilds() });
    const never = () => false;
    const rowTables = { runs: 'run_rows', approvals: 'approval_rows', artifacts: 'artifact_rows', costs: 'cost_rows', gate: 'gate_rows' };
    const rowsOf = async (name: keyof typeof rowTables) =>
      (
        await reader.query(
          `select to_jsonb(t) - 'version' as row from read.${rowTables[name]} t join read.models m on m.name = $1 and t.version = m.live order by 1`,
          [name],
        )
      ).rows;
    const versionsOf = async (name: keyof typeof rowTables): Promise<number[]> =>
      (
        await reader.query<{ version: number }>(`select distinct version from read.${rowTables[name]} where version < 100 order by 1`)
      ).rows.map((row) => row.version);
    const versionOf = async (name: string): Promise<number> =>
      (await listReadModels(sql)).find((model) => model.name === name)?.version ?? 0;

    it('[READ-1] fills each model anew beside the live one, to the same rows, and leaves no old ones', async () => {
      await live(newRun('again'));
      const follower = readModels();
      await follower.caughtUp();
      // Rows that an old revision left without what the new one adds are not compared with it.
      await reader.query("update read.artifact_rows set invoked_by = 'old' where org_id = 'again'");
      for (const name of readModelNames) {
        const [before, version] = [await rowsOf(name), await versionOf(name)];
        await askForRebuild(sql, name);
        await rebuild(ports(), name, never);
        expect(await versionOf(name)).toBe(version + 1);
        expect(await versionsOf(name)).toEqual([version + 1]);
        const expected = name === 'artifacts' ? before.map(({ row }) => ({ row: { ...row, invoked_by: 'ada' } })) : before;
        expect(await rowsOf(name)).toEqual(expected);
        expect(before.length).toBeGreaterThan(0);
      }
    });

    it('[READ-1] goes on from its last page after a crash, while live events flow, and loses and doubles none', async () => {
      const follower = readModels();
      const writing = (async () => {
        for (let i = 0; i < 15; i += 1) await live(newRun('flowing'));
      })();
      await askForRebuild(sql, 'costs');
      let crashes = 0;
      const crashing = {
        ...postgresReadTables,
        async addCosts(...args: Parameters<typeof postgresReadTables.addCosts>) {
          await postgresReadTables.addCosts(...args);
          crashes += 1;
          if (crashes < 4) throw new Error('crashed in the middle of a page');
        },
      };
      const failures: string[] = [];
      const process = new Rebuilds({
        due: () => dueRebuilds(sql),
        rebuild: (name, stopped) => rebuild(ports(crashing), name, stopped),
        onFailure: async (name) => void failures.push(name),
        retryDelayMs: () => 5,
      });
      await process.resume();
      await writing;
      await process.idle();
      await follower.caughtUp();
      expect(failures.filter((name) => name === 'costs')).toHaveLength(3);
      const { rows } = await reader.query(
        "select model_requests::int as n, cost_micro_usd::int as cost from read.costs where org_id = 'flowing'",
      );
      expect(rows).toEqual([{ n: 15, cost: 15 * 333 }]);
      const before = await rowsOf('costs');
      await askForRebuild(sql, 'costs');
      await rebuild(ports(), 'costs', never);
      expect(await rowsOf('costs')).toEqual(before);
      await process.stop();
    });

    it('[READ-1] is done once by several processes that were asked for it', async () => {
      await live(newRun('shared'));
      await readModels().caughtUp();
      const [before, version] = [await rowsOf('costs'), await versionOf('costs')];
      await askForRebuild(sql, 'costs');
      await Promise.all([rebuild(ports(), 'costs', never), rebuild(ports(), 'costs', never), rebuild(ports(), 'costs', never)]);
      expect(await versionOf('costs')).toBe(version + 1);
      expect(await rowsOf('costs')).toEqual(before);
    });

    it('keeps the live version and says why when the rows cannot be written; asked for again it ends well', async () => {
      const version = await versionOf('gate');
      await readModels().caughtUp();
      let broken = true;
      const failing = {
        ...postgresReadTables,
        async addDecisions(...args: Parameters<typeof postgresReadTables.addDecisions>) {
          if (broken) throw new Error('no room');
          return postgresReadTables.addDecisions(...args);
        },
      };
      const process = new Rebuilds({
        due: () => dueRebuilds(sql),
        rebuild: (name, stopped) => rebuild(ports(failing), name, stopped),
        onFailure: async (name, error, givenUp) => {
          if (givenUp) await rebuildFailed(sql, name, String(error));
        },
        retryDelayMs: () => 1,
      });
      await askForRebuild(sql, 'gate');
      process.start('gate');
      await process.idle();
      const stands = async () => (await listReadModels(sql)).find((model) => model.name === 'gate');
      expect(await stands()).toMatchObject({ version, rebuilding: { version: version + 1, problem: 'Error: no room' } });
      broken = false;
      await askForRebuild(sql, 'gate');
      expect(await stands()).toMatchObject({ rebuilding: { problem: null } });
      process.start('gate');
      await process.idle();
      expect(await stands()).toMatchObject({ version: version + 1, rebuilding: null });
      await process.stop();
    });

    it('is due for a model that an older revision of the code filled', async () => {
      await reader.query("update read.models set revision = 0 where name = 'runs'");
      expect(await dueRebuilds(sql)).toEqual(['runs']);
      await rebuild(ports(), 'runs', never);
      expect(await dueRebuilds(sql)).toEqual([]);
    });

    it('projects a parked event that is asked for again as if it had never failed, and once only', async () => {
      const models = readModels();
      await models.caughtUp();
      await models.stop();
      const run = newRun('mended');
      await live(run);
      let broken = true;
      const tables = {
        ...postgresReadTables,
        async saveApprovals(...args: Parameters<typeof postgresReadTables.saveApprovals>) {
          if (broken && args[2].some((row) => row.org === 'mended' && row.view.status === 'pending')) throw new Error('refused');
          return postgresReadTables.saveApprovals(...args);
        },
        async addDecisions(...args: Parameters<typeof postgresReadTables.addDecisions>) {
          if (broken && args[2].some((delta) => delta.org === 'mended' && delta.verdict === 'ask')) throw new Error('refused');
          return postgresReadTables.addDecisions(...args);
        },
      };
      const start = () => {
        const started = startFollower({
          pool,
          store,
          follower: readModelFollower({ ...readModelPorts(), tables }),
          retryDelayMs: () => 1,
          triesMax: 2,
          idleMs: 20,
          onProblem: () => undefined,
        });
        running.push(started);
        return started;
      };
      await start().caughtUp();
      const [parked] = await parkedEvents(sql);
      expect(parked).toMatchObject({ follower: liveFollowerName, reason: 'refused', tries: 2, replay_requested_at: null });
      const seen = async () => ({
        approvals: (await reader.query("select status from read.approvals where org_id = 'mended'")).rows,
        asked: (await reader.query("select calls::int as n from read.gate where org_id = 'mended' and verdict = 'ask'")).rows,
      });
      expect(await seen()).toEqual({ approvals: [], asked: [] });
      broken = false;
      // Filled anew, the sums have the event already.
      await askForRebuild(sql, 'gate');
      await rebuild(ports(), 'gate', never);
      await expect(askForReplay(sql, liveFollowerName, 1)).rejects.toMatchObject({ code: 'not_found' });
      await askForReplay(sql, liveFollowerName, parked?.position ?? 0);
      await until(async () => (await parkedEvents(sql)).length === 0);
      expect(await seen()).toEqual({ approvals: [{ status: 'approved' }], asked: [{ n: 1 }] });
    });

    it('adds no event twice that is handed over again', async () => {
      const run = newRun('twice');
      await live(run);
      await readModels().caughtUp();
      const events = await store.read(run);
      const follower = readModelFollower(readModelPorts());
      await sqlOf(pool).transaction((tx) => follower.handle(events, tx));
      expect((await reader.query("select model_requests::int as n from read.costs where org_id = 'twice'")).rows).toEqual([{ n: 1 }]);
    });
  });
});
