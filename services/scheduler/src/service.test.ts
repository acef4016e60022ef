import fs from 'node:fs';
import path from 'node:path';
import { type Bus, connectBus } from '@fluidbox/bus';
import {
  LaunchRun,
  natsPermissions,
  RunKeys,
  runStream,
  type ServiceName,
  type StreamRef,
  serviceNames,
  terminalStatuses,
} from '@fluidbox/contracts';
import { createPostgresStore, type EventStore, testServiceUrl } from '@fluidbox/event-store';
import { type RunningService, startService } from '@fluidbox/service-kit';
import { startTestNats, startTestPostgres, type TestDatabase, type TestNats, type TestPostgres, until } from '@fluidbox/testing';
import pg from 'pg';
import { schedulerModule } from './scheduler.module';
import { definition } from './service';
import { PlayedRuns } from './testing/played-run';
import { type SandboxFixture, startSandboxFixture } from './testing/sandbox-fixture';

const runnerDigest = `sha256:${'b'.repeat(64)}`;

describe('the scheduler as a service', () => {
  let fixture: SandboxFixture;
  let postgres: TestPostgres;
  let database: TestDatabase;
  let nats: TestNats;
  let pool: pg.Pool;
  let store: EventStore;
  let bus: Bus;
  let runs: PlayedRuns;
  let service: RunningService | null = null;
  let environment: Record<string, string>;
  const failures: unknown[] = [];

  const start = async (): Promise<RunningService> => {
    service = await startService(
      { ...definition, module: (context, config) => schedulerModule(context, config, fixture.supervisorScript) },
      environment,
    );
    return service;
  };
  const statusOf = async (stream: StreamRef) => (await runs.state(stream)).status;
  const settle = async (stream: StreamRef, ...statuses: string[]): Promise<void> => {
    try {
      await until(
        async () => {
          if (statuses.includes(await statusOf(stream))) return true;
          await runs.react(stream);
          return false;
        },
        { everyMs: 25 },
      );
    } catch (cause) {
      const events = (await runs.events(stream)).map(({ type, data }) => [type, data]);
      throw new Error(`the run stayed ${await statusOf(stream)}: ${JSON.stringify(events)} ${failures.join()}`, { cause });
    }
  };

  beforeAll(async () => {
    fixture = await startSandboxFixture();
    const dist = path.join(fixture.dir, 'images/scripted-runner/dist');
    fs.mkdirSync(dist, { recursive: true });
    fs.cpSync(path.join(fixture.dir, 'bundle'), path.join(dist, 'bundle'), { recursive: true });
    fs.writeFileSync(path.join(dist, 'image.json'), JSON.stringify({ digest: runnerDigest, binds: [] }));
    postgres = await startTestPostgres();
    database = await postgres.createDatabase({ migrated: true });
    nats = await startTestNats({ users: serviceNames.map((user) => ({ user, password: 'pw', permissions: natsPermissions(user) })) });
    const secrets = path.join(fixture.dir, 'scheduler.json');
    const urlOf = (name: ServiceName): string => testServiceUrl(database.url, name);
    fs.writeFileSync(
      secrets,
      JSON.stringify({ database_url: urlOf('scheduler'), nats_url: nats.url, nats_user: 'scheduler', nats_password: 'pw' }),
      { mode: 0o600 },
    );
    environment = {
      FLUIDBOX_SECRETS_FILE: secrets,
      FLUIDBOX_LOG_LEVEL: 'silent',
      FLUIDBOX_HOME: fixture.dir,
      FLUIDBOX_DEPLOYMENT_ID: 'test',
      FLUIDBOX_UP_FILE: fixture.upFile,
      FLUIDBOX_RUNS_DIR: path.join(fixture.dir, 'runs'),
      FLUIDBOX_BLOBS_DIR: path.join(fixture.dir, 'blobs'),
      FLUIDBOX_IMAGES_DIR: path.join(fixture.dir, 'images'),
    };
    pool = new pg.Pool({ connectionString: urlOf('runs'), max: 4 });
    // The database is dropped under its idle connections at the end.
    pool.on('error', (error) => failures.push(error));
    store = createPostgresStore({ pool });
    bus = await connectBus({
      service: 'runs',
      url: nats.url,
      user: 'runs',
      password: 'pw',
      onWarning: (message) => failures.push(message),
    });
    store.onCommitted((message) => bus.publishLog(message));
    runs = new PlayedRuns(store);
    bus.respond(LaunchRun, (request) => runs.launch(runStream(request.run_id, request.org)));
    bus.respond(RunKeys, (request) => runs.runKeys(runStream(request.run_id, request.org)));
  });
  afterAll(async () => {
    await service?.stop();
    await bus.close();
    await store.close();
    await pool.end();
    await database.drop();
    await postgres.stop();
    await nats.stop();
    await fixture.close();
  });

  it('runs a run from its creation on the bus to its artifact, over a restart in between', async () => {
    await start();
    const stream = await runs.create({
      task: `fs.writeFileSync('/workspace/new', 'x\\n'); hold();`,
      workspace: { kind: 'scratch' },
      runnerDigest,
    });
    await settle(stream, 'running');
    await service?.stop();
    const supervisor = JSON.parse(fs.readFileSync(path.join(fixture.dir, 'runs', stream.id, 'supervisor.json'), 'utf8')) as { pid: number };
    expect(fs.existsSync(`/proc/${supervisor.pid}`)).toBe(true);
    await start();
    await runs.finalize(stream);
    await settle(stream, ...terminalStatuses);
    const events = await runs.events(stream);
    expect(events.filter(({ type }) => type === 'sandbox.started')).toHaveLength(1);
    expect(events.find(({ type }) => type === 'artifact.collected')?.data).toMatchObject({ files: 1, insertions: 1 });
    const { rows } = await pool.query('select id, run_id, sha256 from ledger.artifacts');
    expect(rows).toEqual([expect.objectContaining({ id: `art_${stream.id}_diff`, run_id: stream.id })]);
    await until(() => !fs.existsSync(path.join(fixture.dir, 'runs', stream.id)));
  });

  it('launches a run that was created while it was down', async () => {
    await service?.stop();
    const stream = await runs.create({ task: 'process.exit(0);', workspace: { kind: 'scratch' }, runnerDigest });
    await start();
    await settle(stream, ...terminalStatuses);
    expect((await runs.events(stream)).find(({ type }) => type === 'sandbox.exited')?.data).toMatchObject({
      cause: 'exited',
      exit_code: 0,
    });
  });

  it('names the variable and the fix when it is not configured', async () => {
    const { FLUIDBOX_RUNS_DIR: _missing, ...rest } = environment;
    await expect(startService(definition, { ...rest, FLUIDBOX_LOCAL_SOURCES: 'relative' })).rejects.toThrow(
      /FLUIDBOX_RUNS_DIR[\s\S]*FLUIDBOX_LOCAL_SOURCES/,
    );
  });
});
