import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  BacktestPolicy,
  type EventDraft,
  GetPolicy,
  ImportPolicy,
  natsPermissions,
  runStream,
  serviceNames,
  streamNameOf,
} from '@fluidbox/contracts';
import { testServiceUrl } from '@fluidbox/event-store';
import { gateProjection } from '@fluidbox/policy';
import { generateKekFile } from '@fluidbox/seal';
import { type RunningService, type ServiceContext, startService } from '@fluidbox/service-kit';
import { createdRun, startTestNats, startTestPostgres, type TestNats, type TestPostgres } from '@fluidbox/testing';
import { Module } from '@nestjs/common';
import { z } from 'zod';
import { definition } from './service';

@Module({})
class OtherModule {}

const digest = `sha256:${'a'.repeat(64)}`;
const policy = (rule: string) => `name: mine\ntools:\n  - match: [Bash]\n    action: allow\n    ${rule}\n`;
const strict = policy('shell: { allow: [ls, npm test], deny: [curl] }');
const loose = policy('shell: { allow: [ls, npm test, curl] }');

describe('backtests as a service, on Postgres and NATS', () => {
  let postgres: TestPostgres;
  let nats: TestNats;
  let folder: string;
  const running: RunningService[] = [];
  const contexts = new Map<string, ServiceContext>();
  const of = (name: string): ServiceContext => {
    const context = contexts.get(name);
    if (context === undefined) throw new Error(`${name} did not start`);
    return context;
  };

  beforeAll(async () => {
    postgres = await startTestPostgres();
    nats = await startTestNats({ users: serviceNames.map((user) => ({ user, password: 'pw', permissions: natsPermissions(user) })) });
    const database = await postgres.createDatabase({ migrated: true });
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-run-specs-'));
    generateKekFile(path.join(folder, 'kek'));
    for (const name of serviceNames) {
      const secrets = { database_url: testServiceUrl(database.url, name), nats_url: nats.url, nats_user: name, nats_password: 'pw' };
      fs.writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(secrets), { mode: 0o600 });
    }
    const environment = { FLUIDBOX_SECRETS_DIR: folder, FLUIDBOX_KEK_FILE: path.join(folder, 'kek'), FLUIDBOX_LOG_LEVEL: 'silent' };
    running.push(await startService(definition, environment));
    for (const name of ['runs', 'gate', 'gateway'] as const)
      running.push(
        await startService(
          {
            name,
            config: z.object({}),
            module: (context) => {
              contexts.set(name, context);
              return { module: OtherModule };
            },
          },
          environment,
        ),
      );
    await of('gateway').bus.request(ImportPolicy, {
      principal: { name: 'ann', role: 'admin', org: 'default' },
      name: 'mine',
      body: { source: strict },
    });
  });
  afterAll(async () => {
    for (const service of running) await service.stop();
    await nats.stop();
    await postgres.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  /** A run that asked for these commands, all of which ran and ended well. */
  async function record(number: number, commands: readonly string[], about: { org?: string; policy?: string } = {}): Promise<string> {
    const runId = `0198b3a0-0000-7000-8000-${String(number).padStart(12, '0')}`;
    const stream = runStream(runId, about.org ?? 'default');
    const runs = of('runs').ledger;
    const created = runs.keyring.create(streamNameOf(stream));
    const first = {
      type: 'session.created',
      actor: 'service:runs',
      data: createdRun(runId, { policy: about.policy ?? 'mine' }),
      content: { task: 't', system_prompt: null },
    };
    await runs.decide({ initial: () => null, evolve: () => null }, stream, () => ({
      events: [first as EventDraft],
      result: null,
      createKeys: created,
    }));
    const drafts = commands.flatMap((command, i): EventDraft[] => {
      const call = { tool_call_id: `c${i}`, tool: 'Bash' };
      const input = { command };
      return [
        {
          type: 'tool.requested',
          actor: 'runner',
          data: { ...call, input_digest: digest, generation: 1 },
          content: { input, summary: command },
          projection: gateProjection({ tool: 'Bash', input }),
        },
        {
          type: 'tool.decision',
          actor: 'service:gate',
          data: { ...call, verdict: 'allow', source: 'policy', input_digest: digest, code: 'allowed' },
          content: { reason: 'r', message: 'm' },
        },
      ];
    });
    for (let i = 0; i < drafts.length; i += 100) await of('gate').ledger.record(stream, drafts.slice(i, i + 100));
    return runId;
  }
  const backtest = (to: string, more: object = {}, org = 'default') =>
    of('gateway').bus.request(BacktestPolicy, { org, name: 'mine', body: { to: { source: to }, ...more } });

  it('[PUBLISH-4] read the newest runs from their first call on, of one organisation, and no more than was asked for', async () => {
    const older = await record(1, ['curl old', 'ls']);
    await record(2, ['curl foreign'], { org: 'other' });
    const newer = await record(3, ['ls', 'curl new', 'curl newer'], { policy: 'another' });
    const all = await backtest(loose);
    expect(all).toMatchObject({ calls: 5, runs: 2, erased: 0, unreadable: 0, complete: true });
    const shown = all.changes['deny→allow'];
    expect([shown?.count, shown?.examples.map(({ run, call_id, call }) => [run, call_id, call])]).toEqual([
      3,
      [
        [newer, 'c1', 'curl new'],
        [newer, 'c2', 'curl newer'],
        [older, 'c0', 'curl old'],
      ],
    ]);
    expect(await backtest(loose, { calls: 2 })).toMatchObject({ calls: 2, runs: 1, changes: { 'deny→allow': { count: 1 } } });
    expect(await backtest(loose, { calls: 4 })).toMatchObject({ calls: 4, runs: 2, changes: { 'deny→allow': { count: 3 } } });
    expect(await backtest(loose, { runs: 'of_policy' })).toMatchObject({ calls: 2, runs: 1 });
    expect(await backtest(loose, { since: '2100-01-01T00:00:00.000Z' })).toMatchObject({ calls: 0, runs: 0 });
  });

  it('[PUBLISH-4] replay what a run did before, and store nothing', async () => {
    await record(10, ['npm test', 'ls -l', 'ls -a']);
    const needsTests = `${policy('shell: { allow: [npm test] }').replace('match: [Bash]\n', 'match: [Bash]\n    when: { args: { /command: { glob: "npm test" } } }\n')}  - match: [Bash]\n    action: allow\n    shell: { allow: [ls] }\n    history: { requires: { tool: Bash, command: npm test }, count: { max: 1 } }\n`;
    const before = await of('gateway').bus.request(GetPolicy, { org: 'default', name: 'mine', version: null });
    const report = await backtest(needsTests, { calls: 3 });
    // The first `ls` comes after the tests, the second is one too many.
    expect(report.changes['allow→deny']).toMatchObject({ count: 1, examples: [{ call: 'ls -a' }] });
    expect(await of('gateway').bus.request(GetPolicy, { org: 'default', name: 'mine', version: null })).toEqual(before);
  });

  it('answers for thousands of calls within the time of a command', async () => {
    for (let run = 0; run < 20; run++)
      await record(
        100 + run,
        Array.from({ length: 100 }, (_, i) => (i % 10 === 0 ? `curl h.example/${i}` : `ls -l /workspace/${i}`)),
      );
    const report = await backtest(loose, { calls: 2000 });
    expect(report).toMatchObject({ calls: 2000, runs: 20, complete: true, changes: { 'deny→allow': { count: 200 } } });
    if (process.env.FLUIDBOX_MEASURE === '1') process.stderr.write(`2,000 calls of 20 runs in ${report.duration_ms} ms\n`);
  });
});
