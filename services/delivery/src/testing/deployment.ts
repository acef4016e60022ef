import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  approvalIdOf,
  type EventData,
  type EventDraft,
  runStream,
  type ServiceName,
  type StreamRef,
  streamNameOf,
} from '@fluidbox/contracts';
import {
  createKekKeyring,
  createLedger,
  createPostgresStore,
  type RunningFollower,
  type SqlClient,
  startFollower,
  testServiceUrl,
} from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { grantedKeyring, kekFromBytes } from '@fluidbox/seal';
import { type SqlPool, sqlOf } from '@fluidbox/service-kit';
import { createdRun, type TestPostgres, until } from '@fluidbox/testing';
import pg from 'pg';
import { checkpoints } from '../adapters/checkpoints';
import { deliveryTable } from '../adapters/delivery-table';
import { deliveriesFollower } from '../adapters/follower';
import { recorder } from '../adapters/outbox';
import { postVia } from '../adapters/post';
import { sendSigned } from '../adapters/send';
import { generateSecret } from '../adapters/signature';
import { secretBox, webhookTable } from '../adapters/webhook-table';
import { Courier } from '../app/courier';
import { finishMessage } from '../app/finish-message';
import type { CourierPorts, ManagePorts } from '../app/ports';

const digest = `sha256:${'a'.repeat(64)}`;
export const ada = { name: 'ada', role: 'admin', org: 'default' } as const;

interface Counts {
  statements: number;
  /** A statement of its own is one too. */
  transactions: number;
}
const counted = (sql: SqlPool, counts: Counts): SqlPool => {
  const within = (client: SqlClient, transactions: 0 | 1): SqlClient => ({
    query: (text, values) => {
      counts.statements += 1;
      counts.transactions += transactions;
      return client.query(text, values);
    },
  });
  return {
    ...within(sql, 1),
    transaction: (work) => {
      counts.transactions += 1;
      return sql.transaction((tx) => work(within(tx, 0)));
    },
  };
};

/** One database, and as many processes of this service as a test wants; the clock is the real one, moved on by the test. */
export async function startDeployment(postgres: TestPostgres) {
  const url = (await postgres.createDatabase({ migrated: true })).url;
  const pools: pg.Pool[] = [];
  const stops: (() => Promise<unknown>)[] = [];
  let ahead = 0;
  const clock = { now: () => new Date(Date.now() + ahead) };
  const ids = { uuid: () => randomUUID() };
  const poolOf = (service: ServiceName): pg.Pool => {
    const pool = new pg.Pool({ connectionString: testServiceUrl(url, service), max: 8 });
    pools.push(pool);
    return pool;
  };
  const admin = new pg.Pool({ connectionString: url, max: 2 });
  pools.push(admin);
  const kek = kekFromBytes(randomBytes(32));
  const box = secretBox(kekFromBytes(randomBytes(32)));
  const writerOf = (service: 'runs' | 'gate') => {
    const store = createPostgresStore({ pool: poolOf(service) });
    stops.push(() => store.close());
    const keyring = createKekKeyring({ store, kek, clock });
    return { keyring, ledger: createLedger({ store, keyring, clock, ids, service }) };
  };
  const [runs, gate] = [writerOf('runs'), writerOf('gate')];
  const draft = (type: string, data: object, content?: unknown) =>
    ({ type, actor: 'service:test', data, ...(content === undefined ? {} : { content }) }) as unknown as EventDraft;

  /** `instead` replaces parts of the process, to break it. */
  function startProcess(privateHosts: readonly string[], instead: (ports: CourierPorts) => Partial<CourierPorts> = () => ({})) {
    const pool = poolOf('delivery');
    const counts = { statements: 0, transactions: 0 };
    const sql = counted(sqlOf(pool), counts);
    const store = createPostgresStore({ pool });
    const ledger = createLedger({ store, keyring: grantedKeyring('delivery'), clock, ids, service: 'delivery' });
    let looks = 0;
    const table = deliveryTable(sql, box);
    const deliveries: typeof table = {
      ...table,
      nextDue: async () => {
        const due = await table.nextDue();
        looks += 1;
        return due;
      },
    };
    // An attempt ends before its lease does.
    const post = postVia({ privateHosts, timeoutMs: 25_000 });
    const failures: unknown[] = [];
    const onFailure = (_: string, error: unknown): void => void failures.push(error);
    const record = recorder(sql, ledger, clock, onFailure);
    const checkpointAt = checkpoints(sql);
    const finish: CourierPorts['finish'] = (claimed) => finishMessage({ checkpointAt, wait }, claimed);
    const usual: CourierPorts = { table: deliveries, finish, send: sendSigned(post), clock, chance: () => 0.5, record, onFailure };
    const courier = new Courier({ ...usual, ...instead(usual) });
    const manage: ManagePorts = {
      webhooks: webhookTable(sql, box),
      deliveries,
      sql,
      clock,
      uuid: ids.uuid,
      generateSecret,
      privateHosts,
      wake: () => courier.wake(),
      record,
    };
    const ports = { sql, store, deliveries, clock, publicUrl: 'https://fluidbox.test', wake: () => courier.wake() };
    const follower = deliveriesFollower(ports);
    const follow = (): RunningFollower => {
      const running = startFollower({
        pool,
        store,
        follower,
        onProblem: (_, { error }) => void failures.push(error),
      });
      stops.push(() => running.stop());
      return running;
    };
    stops.push(async () => {
      await courier.stop();
      post.close();
      await store.close();
    });
    /** Resolves when the courier has looked, and every attempt that it began has ended. */
    const looked = async (): Promise<void> => {
      // A look that is under way may have claimed before.
      for (let round = 0; round < 2; round += 1) {
        const before = looks;
        courier.wake();
        await until(() => looks > before);
      }
      await until(async () => (await admin.query('select 1 from delivery.deliveries where leased_until is not null')).rowCount === 0);
    };
    return { manage, looked, courier, deliveries, record, follower, follow, store, failures, counts };
  }

  const ask = (stream: StreamRef, call: string, about: Partial<EventData<'approval.requested'>> = {}) =>
    gate.ledger.record(stream, [
      draft(
        'tool.requested',
        { tool_call_id: call, tool: 'Bash', input_digest: digest, generation: 1 },
        { input: { command: 'canary-input' }, summary: 'canary-summary' },
      ),
      draft(
        'approval.requested',
        {
          approval_id: approvalIdOf(stream.id, call),
          tool_call_id: call,
          tool: 'Bash',
          input_digest: digest,
          scope: 'once',
          scope_digest: digest,
          approvers: 1,
          exclude_requester: false,
          policy_digest: digest,
          engine_version: '1',
          expires_at: new Date(clock.now().getTime() + 86_400_000).toISOString(),
          ...about,
        },
        { reason: 'canary-reason', risk: null, scope_key: 'Bash:canary-scope' },
      ),
    ]);
  const zeros = { model: 0, decided: 0, rejected_by_harness: 0, no_effect: 0, provider_executed: 0, uncovered: 0, unknown: 0 };
  return {
    admin,
    box,
    clock,
    advance: (ms: number) => {
      ahead += ms;
    },
    startProcess,
    async startRun(agent = 'fixer'): Promise<StreamRef> {
      const stream = runStream(randomUUID(), 'default');
      const created = runs.keyring.create(streamNameOf(stream));
      await runs.ledger.decide(runFold, stream, () => ({
        createKeys: created,
        result: undefined,
        events: [draft('session.created', createdRun(stream.id, { agent }), { task: 'canary-task', system_prompt: null })],
      }));
      return stream;
    },
    ask,
    finish: (stream: StreamRef) =>
      runs.ledger.record(stream, [
        draft('run.result', {
          outcome: 'completed',
          reason: 'runner_result',
          coverage: 'full',
          calls: zeros,
          decisions: { allow: 0, deny: 0, ask: 1 },
          usage: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 },
          cost_micro_usd: 5,
          diff_sha256: null,
          duration_ms: 7,
        }),
      ]),
    /** Ledger events of this service, in the order they were appended. */
    async recorded(): Promise<{ stream: string; type: string; data: Record<string, unknown> }[]> {
      const { rows } = await admin.query<{ body: Buffer }>(
        "select body from ledger.events where category in ('webhook', 'delivery') order by global_position",
      );
      return rows.map((row) => JSON.parse(row.body.toString('utf8')));
    },
    async stop() {
      for (const stop of stops.splice(0).reverse()) await stop();
      for (const pool of pools) await pool.end();
    },
  };
}
