import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Bus, connectBus } from '@fluidbox/bus';
import { natsPermissions, RequestPermission, RunId, runStream, serviceNames } from '@fluidbox/contracts';
import { testServiceUrl } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { generateKekFile } from '@fluidbox/seal';
import { type RunningService, type ServiceContext, type ServiceDefinition, startService } from '@fluidbox/service-kit';
import { startTestNats, startTestPostgres, type TestNats, type TestPostgres } from '@fluidbox/testing';
import { Module } from '@nestjs/common';
import { z } from 'zod';
import { startRun } from './app/running-run.fixture';
import { definition } from './service';

const runId = RunId.parse('0198b3a0-0000-7000-8000-000000000002');

@Module({})
class RunsModule {}

describe('the gate as a service, on Postgres and NATS', () => {
  let postgres: TestPostgres;
  let nats: TestNats;
  let folder: string;
  let edge: Bus;
  let environment: Record<string, string>;
  const running: RunningService[] = [];
  let runs: ServiceContext | null = null;
  const runsDefinition: ServiceDefinition<unknown> = {
    name: 'runs',
    config: z.object({}),
    module: (context) => {
      runs = context;
      return { module: RunsModule };
    },
  };

  beforeAll(async () => {
    postgres = await startTestPostgres();
    nats = await startTestNats({ users: serviceNames.map((user) => ({ user, password: 'pw', permissions: natsPermissions(user) })) });
    const database = await postgres.createDatabase({ migrated: true });
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-gate-'));
    generateKekFile(path.join(folder, 'kek'));
    for (const name of serviceNames) {
      const secrets = { database_url: testServiceUrl(database.url, name), nats_url: nats.url, nats_user: name, nats_password: 'pw' };
      fs.writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(secrets), { mode: 0o600 });
    }
    environment = { FLUIDBOX_SECRETS_DIR: folder, FLUIDBOX_KEK_FILE: path.join(folder, 'kek'), FLUIDBOX_LOG_LEVEL: 'silent' };
    running.push(await startService(definition, environment), await startService(runsDefinition, environment));
    edge = await connectBus({ service: 'runner-gateway', url: nats.url, user: 'runner-gateway', password: 'pw' });
    if (runs === null) throw new Error('the stand-in for runs did not start');
    await startRun((runs as ServiceContext).ledger, { runId, now: Date.now(), maxToolCalls: 6 });
  });
  afterAll(async () => {
    await edge.close();
    for (const service of running) await service.stop();
    await nats.stop();
    await postgres.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  const ask = (command: string, id: string) =>
    edge.request(RequestPermission, {
      run_id: runId,
      org: 'default',
      generation: 1,
      tool_call_id: id,
      tool: 'Bash',
      input: { command },
      mended: false,
    });

  it('decides what it is asked over the bus, and counts parallel calls', async () => {
    expect(await ask('ls', 'a')).toEqual({ status: 'decided', answer: { decision: 'allow' } });
    expect(await ask('curl http://h.example', 'b')).toMatchObject({ answer: { decision: 'deny', code: 'policy_denied' } });
    expect(await ask('git push', 'c')).toMatchObject({ status: 'pending', approval_id: `apr_${runId}_c` });
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => ask(`echo ${i}`, `p${i}`)));
    expect(answers.filter((answer) => answer.status === 'decided' && answer.answer.decision === 'allow')).toHaveLength(3);
    const { state } = await (runs as unknown as ServiceContext).ledger.state(runFold, runStream(runId, 'default'), { fresh: true });
    expect(state.calls.size).toBe(11);
    expect([...state.exceeded]).toEqual(['tool_calls']);
  });

  it('[GATE-5] 20 parallel calls against a history rule of 5 are 5', async () => {
    const counted = RunId.parse('0198b3a0-0000-7000-8000-000000000003');
    const policy = `name: test
tools:
  - { match: [Bash], action: allow, history: { count: { max: 5 } } }
`;
    await startRun((runs as unknown as ServiceContext).ledger, { runId: counted, now: Date.now(), maxToolCalls: 100, policy });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        edge.request(RequestPermission, {
          run_id: counted,
          org: 'default',
          generation: 1,
          tool_call_id: `h${i}`,
          tool: 'Bash',
          input: { command: `echo ${i}` },
          mended: false,
        }),
      ),
    );
    expect(answers.filter((answer) => answer.status === 'decided' && answer.answer.decision === 'allow')).toHaveLength(5);
    expect(answers.filter((answer) => answer.status === 'decided' && answer.answer.decision === 'deny')).toHaveLength(15);
  });

  it('refuses a run that it does not know, and a generation that is over', async () => {
    await expect(
      edge.request(RequestPermission, {
        run_id: RunId.parse('0198b3a0-0000-7000-8000-00000000000f'),
        org: 'default',
        generation: 1,
        tool_call_id: 'a',
        tool: 'Bash',
        input: {},
        mended: false,
      }),
    ).rejects.toMatchObject({ code: 'not_found' });
    await expect(
      edge.request(RequestPermission, {
        run_id: runId,
        org: 'default',
        generation: 7,
        tool_call_id: 'z',
        tool: 'Bash',
        input: {},
        mended: false,
      }),
    ).rejects.toMatchObject({ code: 'stale_lease' });
  });
});
