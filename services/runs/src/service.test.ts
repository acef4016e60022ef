import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Bus, connectBus } from '@fluidbox/bus';
import {
  CancelRun,
  CreateRun,
  FreezeRunSpec,
  Heartbeat,
  harnesses,
  LaunchRun,
  natsPermissions,
  ReportResult,
  RunSpec,
  runStream,
  type ServiceName,
  type StreamRef,
  serviceNames,
  type TimelineEvent,
} from '@fluidbox/contracts';
import { createLedger, createPostgresStore, type EventStore, testServiceUrl } from '@fluidbox/event-store';
import { generateKekFile, generateSigningKeyFiles, grantedKeyring } from '@fluidbox/seal';
import { type RunningService, startService, systemClock, uuidV7Ids } from '@fluidbox/service-kit';
import { startTestNats, startTestPostgres, type TestNats, type TestPostgres, until } from '@fluidbox/testing';
import { definition } from './service';

const digest = `sha256:${'a'.repeat(64)}`;
const org = 'default' as RunSpec['org'];
const root = { name: 'root', role: 'admin', org } as const;

/** The real service with its own database role and NATS permissions; its callers and the freezing service are played over the wire. */
describe('runs as a process', () => {
  let postgres: TestPostgres;
  let nats: TestNats;
  let folder: string;
  let databaseUrl: string;
  let service: RunningService;
  const buses = new Map<ServiceName, Bus>();
  const stores: EventStore[] = [];

  const bus = (name: ServiceName): Bus => {
    const connected = buses.get(name);
    if (connected === undefined) throw new Error(`${name} is not connected`);
    return connected;
  };
  const start = async () => {
    service = await startService(definition, {
      FLUIDBOX_SECRETS_DIR: folder,
      FLUIDBOX_KEK_FILE: path.join(folder, 'kek'),
      FLUIDBOX_TOKEN_KEY_FILE: path.join(folder, 'token-key.pem'),
      FLUIDBOX_BLOBS_DIR: path.join(folder, 'blobs'),
      FLUIDBOX_LOG_LEVEL: 'silent',
    });
  };
  /** A ledger of another service, publishing as it would. */
  const ledgerOf = (name: ServiceName) => {
    const store = createPostgresStore({ url: testServiceUrl(databaseUrl, name) });
    stores.push(store);
    store.onCommitted((message) => bus(name).publishLog(message));
    return createLedger({ store, keyring: grantedKeyring(name), clock: systemClock, ids: uuidV7Ids(systemClock), service: name });
  };
  const eventsOf = async (stream: StreamRef) => (await (stores[0]?.read(stream) ?? [])) as readonly TimelineEvent[];
  const statusesOf = async (stream: StreamRef) =>
    (await eventsOf(stream)).flatMap((event) => (event.type === 'session.status_changed' ? [event.data.to] : []));
  const reached = (stream: StreamRef, status: string) => until(async () => (await statusesOf(stream)).some((each) => each === status));

  beforeAll(async () => {
    postgres = await startTestPostgres();
    nats = await startTestNats({ users: serviceNames.map((user) => ({ user, password: 'pw', permissions: natsPermissions(user) })) });
    databaseUrl = (await postgres.createDatabase({ migrated: true })).url;
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-runs-'));
    generateKekFile(path.join(folder, 'kek'));
    generateSigningKeyFiles(path.join(folder, 'token-key.pem'), path.join(folder, 'token-keys.json'));
    const secrets = { database_url: testServiceUrl(databaseUrl, 'runs'), nats_url: nats.url, nats_user: 'runs', nats_password: 'pw' };
    fs.writeFileSync(path.join(folder, 'runs.json'), JSON.stringify(secrets), { mode: 0o600 });
    for (const name of ['gateway', 'runner-gateway', 'scheduler', 'run-specs', 'llm-facade'] as const) {
      buses.set(name, await connectBus({ service: name, url: nats.url, user: name, password: 'pw' }));
    }
    bus('run-specs').respond(FreezeRunSpec, async (request) => {
      const { id, image, dialect, toolNames, noEffectTools, refusal, environment, tools } = harnesses.scripted;
      const spec = RunSpec.parse({
        spec_version: 1,
        run_id: request.run_id,
        org,
        created_at: new Date().toISOString(),
        agent: { id: request.run_id, name: request.body.agent, revision: 1 },
        harness: { id, image, dialect, tool_names: toolNames, no_effect_tools: noEffectTools, refusal, environment },
        runner_digest: digest,
        model: 'none',
        task_digest: digest,
        system_prompt_digest: null,
        policy: { name: 'default', version: 1, digest, source: '', document: {} },
        workspace: { kind: 'scratch' },
        autonomy: 'supervised',
        trust_tier: 'trusted',
        budgets: {
          max_wall_clock_secs: request.body.budgets?.max_wall_clock_secs ?? 600,
          max_tokens: null,
          max_cost_micro_usd: null,
          max_tool_calls: null,
        },
        tool_surface: tools,
        price_table: { version: '1', digest, price: null },
        invocation: { kind: request.invocation, principal: request.principal.name },
      });
      return { spec_digest: digest, spec, system_prompt: null };
    });
    await start();
  });
  afterAll(async () => {
    await service.stop();
    await Promise.all([...stores.map((store) => store.close()), ...[...buses.values()].map((connected) => connected.close())]);
    await nats.stop();
    await postgres.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  async function running(budgets: Record<string, number> = {}) {
    const { run_id } = await bus('gateway').request(CreateRun, {
      principal: root,
      idempotency_key: null,
      invocation: 'api',
      body: { agent: 'fixer', task: 'fix it', budgets },
    });
    const { generation } = await bus('scheduler').request(LaunchRun, { run_id, org });
    const stream = runStream(run_id, org);
    const [scheduler, facade] = [ledgerOf('scheduler'), ledgerOf('llm-facade')];
    await scheduler.record(stream, [
      {
        type: 'workspace.initialized',
        actor: 'service:scheduler',
        data: { kind: 'scratch', base_digest: digest, archive_digest: digest, archive_bytes: 1, files: 0, bytes: 0, skipped: 0 },
      },
      {
        type: 'sandbox.started',
        actor: 'service:scheduler',
        data: {
          generation,
          provider: 'local',
          sandbox_id: 's1',
          runner_digest: digest,
          isolation: { namespaces: true, seccomp: true, unprivileged_uid: true, limits: 'rlimit' },
        },
      },
    ]);
    await reached(stream, 'running');
    const exit = () =>
      scheduler.record(stream, [
        {
          type: 'sandbox.exited',
          actor: 'service:scheduler',
          data: { generation, sandbox_id: 's1', exit_code: 0, signal: null, cause: 'exited' },
        },
      ]);
    const collect = () =>
      scheduler.record(stream, [
        { type: 'artifact.missing', actor: 'service:scheduler', data: { kind: 'diff', reason: 'the test has none' } },
      ]);
    return { runner: { run_id, org, generation }, stream, facade, exit, collect };
  }

  it('brings a run from creation to its result, woken by the log', async () => {
    const run = await running();
    expect(await bus('runner-gateway').request(Heartbeat, run.runner)).toEqual({ ok: true, action: null });
    expect(await bus('runner-gateway').request(ReportResult, { ...run.runner, result: { outcome: 'completed' } })).toEqual({ ok: true });
    await run.exit();
    await run.collect();
    await reached(run.stream, 'completed');
    expect(await statusesOf(run.stream)).toEqual(['provisioning', 'initializing', 'running', 'finalizing', 'completed']);
  });

  it('goes on after a restart with what happened while it was away', async () => {
    const over = await running();
    const ended = await running();
    const cancelled = await running();
    await bus('gateway').request(CancelRun, { run_id: cancelled.runner.run_id, org, principal: root });
    await service.stop();
    await over.facade.record(over.stream, [
      { type: 'budget.exceeded', actor: 'service:llm-facade', data: { budget: 'tokens', limit: 1, spent: 2 } },
    ]);
    await ended.exit();
    await cancelled.exit();
    await start();
    await reached(over.stream, 'cancelling');
    await reached(ended.stream, 'finalizing');
    await reached(cancelled.stream, 'finalizing');
    await over.exit();
    for (const run of [over, ended, cancelled]) await run.collect();
    await reached(over.stream, 'budget_exceeded');
    await reached(ended.stream, 'failed');
    await reached(cancelled.stream, 'cancelled');
  });

  it('asks a run to stop at the end of its wall clock, by its own timer', async () => {
    const run = await running({ max_wall_clock_secs: 1 });
    await reached(run.stream, 'cancelling');
    expect(await bus('runner-gateway').request(Heartbeat, run.runner)).toEqual({ ok: true, action: 'quiesce' });
    expect((await eventsOf(run.stream)).filter((event) => event.type === 'budget.exceeded')).toMatchObject([
      { data: { budget: 'wall_clock_secs', limit: 1 } },
    ]);
  });
});
