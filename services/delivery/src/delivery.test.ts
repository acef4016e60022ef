import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { StreamRef, WebhookWithSecret } from '@fluidbox/contracts';
import { startTestPostgres, type TestPostgres, until } from '@fluidbox/testing';
import { createWebhook, listDeliveries, listWebhooks, redeliver, removeWebhook, rotateSecret, testWebhook } from './app/manage-webhooks';
import type { CourierPorts } from './app/ports';
import { ada, startDeployment } from './testing/deployment';
import { type Received, type Receiver, startReceiver } from './testing/receiver';

type Deployment = Awaited<ReturnType<typeof startDeployment>>;
type Process = ReturnType<Deployment['startProcess']>;

const idOf = (one: Received): string => String(one.headers['webhook-id']);
const verifies = ({ headers, body }: Received, secret: string): boolean => {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(expected);
};

describe('delivery, on Postgres, to real receivers', () => {
  let postgres: TestPostgres;
  let deployment: Deployment;
  const receivers: Receiver[] = [];

  const receiver = async (): Promise<Receiver> => {
    const one = await startReceiver();
    receivers.push(one);
    return one;
  };
  const subscribe = (process: Process, url: string, agent?: string): Promise<WebhookWithSecret> =>
    createWebhook(process.manage, {
      principal: ada,
      body: { url, events: ['approval.requested', 'run.result'], ...(agent === undefined ? {} : { agent }) },
    });
  const deliveriesOf = (process: Process, webhook: WebhookWithSecret) =>
    listDeliveries(process.manage, { org: 'default', webhook_id: webhook.id, state: null });
  const settled = (process: Process, webhook: WebhookWithSecret, count = 1) =>
    until(async () => {
      const all = await deliveriesOf(process, webhook);
      return all.length === count && all.every(({ state }) => state !== 'pending') ? all : null;
    });
  /** An attempt ended, and the delivery waits for the next one. */
  const waiting = (process: Process, webhook: WebhookWithSecret, attempts: number) =>
    until(async () => {
      const { rows } = await deployment.admin.query<{ n: number }>(
        `select count(*)::integer as n from delivery.deliveries
         where webhook_id = $1 and attempts = $2 and leased_until is null and state = 'pending'`,
        [webhook.id, attempts],
      );
      return rows[0]?.n === 1 ? (await deliveriesOf(process, webhook))[0] : null;
    });
  const typesOf = async (id: string) => (await deployment.recorded()).filter(({ stream }) => stream.endsWith(id)).map(({ type }) => type);

  beforeAll(async () => {
    postgres = await startTestPostgres();
  });
  beforeEach(async () => {
    deployment = await startDeployment(postgres);
  });
  afterEach(async () => {
    await deployment.stop();
    for (const one of receivers.splice(0)) await one.close();
  });
  afterAll(() => postgres.stop());

  it('[WEBHOOK-1] tells of a waiting approval and of the result, without content, and with the head of the record', async () => {
    const hooks = await receiver();
    const process = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(process, `${hooks.url}/in?key=canary-path`);
    const follower = process.follow();
    const run = await deployment.startRun();
    await deployment.ask(run, 'c1');
    await deployment.finish(run);
    await follower.caughtUp();
    await settled(process, webhook, 2);

    const messages = hooks.received.map(({ body }) => JSON.parse(body));
    const approval = messages.find(({ type }) => type === 'approval.requested');
    const result = messages.find(({ type }) => type === 'run.result');
    expect(approval.data).toEqual({
      run_id: run.id,
      approval_id: `apr_${run.id}_c1`,
      agent: 'fixer',
      tool: 'Bash',
      scope: 'once',
      approvers: 1,
      expires_at: expect.any(String),
      link: `https://fluidbox.test/approvals/apr_${run.id}_c1`,
    });
    const stored = (await process.store.readWithHashes(run)).at(-1);
    expect(result.data).toMatchObject({ run_id: run.id, agent: 'fixer', outcome: 'completed', cost_micro_usd: 5 });
    // Nobody signs here.
    expect(result.data.head).toEqual({ stream: `run-${run.id}`, seq: stored?.seq, hash: stored?.hash, jws: null });
    expect(stored?.type).toBe('run.result');
    expect(hooks.received.map(({ body }) => body).join()).not.toContain('canary');
    for (const one of hooks.received) {
      expect(verifies(one, webhook.secret)).toBe(true);
      expect(one.path).toBe('/in?key=canary-path');
      expect(await typesOf(idOf(one))).toEqual(['callback.delivered']);
    }
    expect(await typesOf(webhook.id)).toEqual(['webhook.created']);
    // The path of a URL may be a secret: it is in no event, and rests sealed like the secret itself.
    expect(JSON.stringify(await deployment.recorded())).not.toContain('canary');
    const { rows } = await deployment.admin.query(
      "select encode(sealed, 'escape') as text, to_jsonb(w) - 'sealed' as rest from delivery.webhooks w",
    );
    expect(JSON.stringify(rows)).not.toMatch(/canary|whsec_/);
    expect(JSON.stringify(await listWebhooks(process.manage, { org: 'default' }))).not.toContain('whsec_');
    expect(process.failures).toEqual([]);
  });

  it('[WEBHOOK-8] a result carries the signed checkpoint of its head, the same in every attempt', async () => {
    const hooks = await receiver();
    hooks.answer = (_, response) => void response.writeHead(hooks.received.length === 1 ? 503 : 204).end();
    const process = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(process, hooks.url);
    const follower = process.follow();
    const run = await deployment.startRun();
    await deployment.finish(run);
    const head = (await process.store.readWithHashes(run)).at(-1);
    await deployment.admin.query(
      "insert into ledger.checkpoints (stream, seq, org_id, hash, jws, kid) values ($1, $2, 'default', decode($3, 'hex'), 'h.p.s', 'k')",
      [`run-${run.id}`, head?.seq, head?.hash],
    );
    await follower.caughtUp();
    await waiting(process, webhook, 1);
    deployment.advance(10_000);
    process.courier.wake();
    await settled(process, webhook);
    const [first, second] = hooks.received as [Received, Received];
    expect(JSON.parse(first.body).data.head).toEqual({ stream: `run-${run.id}`, seq: head?.seq, hash: head?.hash, jws: 'h.p.s' });
    expect(second.body).toBe(first.body);
    expect(verifies(second, webhook.secret)).toBe(true);
  });

  it('tells only who asked: of their events, of their agent, of what came after, and of their organisation', async () => {
    const hooks = await receiver();
    const process = deployment.startProcess([hooks.host]);
    const before = await deployment.startRun('other');
    await deployment.ask(before, 'c1');
    deployment.advance(1_000);
    const mine = await subscribe(process, `${hooks.url}/mine`, 'fixer');
    const all = await subscribe(process, `${hooks.url}/all`);
    await createWebhook(process.manage, {
      principal: { ...ada, org: 'elsewhere' },
      body: { url: `${hooks.url}/elsewhere`, events: ['approval.requested'] },
    });
    await createWebhook(process.manage, { principal: ada, body: { url: `${hooks.url}/results`, events: ['run.result'] } });
    const follower = process.follow();
    for (const agent of ['fixer', 'other']) await deployment.ask(await deployment.startRun(agent), 'c1');
    await follower.caughtUp();
    await settled(process, mine, 1);
    await settled(process, all, 2);
    expect(hooks.received.map(({ path }) => path).sort()).toEqual(['/all', '/all', '/mine']);
  });

  it('makes a delivery once, however often the follower sees the event', async () => {
    const hooks = await receiver();
    const process = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(process, hooks.url);
    const run = await deployment.startRun();
    await deployment.ask(run, 'c1');
    const events = (await process.store.read(run)).filter(({ type }) => type === 'approval.requested');
    for (let round = 0; round < 3; round += 1) await process.follower.handle(events, process.manage.sql);
    process.courier.wake();
    await settled(process, webhook, 1);
    expect(hooks.received).toHaveLength(1);
  });

  it('[WEBHOOK-3] tries again with the same id and body, waits as long as it is asked to, and records how it ended', async () => {
    const hooks = await receiver();
    hooks.answer = (_, response) => void response.writeHead(hooks.received.length === 1 ? 503 : 200, { 'retry-after': '100' }).end();
    const process = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(process, hooks.url);
    await testWebhook(process.manage, { principal: ada, webhook_id: webhook.id });
    const first = await waiting(process, webhook, 1);
    expect(first).toMatchObject({ attempts: 1, last_status: 503, reason: 'refused_status' });
    expect(Date.parse(first?.next_attempt_at ?? '') - deployment.clock.now().getTime()).toBeGreaterThan(90_000);
    deployment.advance(60_000);
    await process.looked();
    expect(hooks.received).toHaveLength(1);
    deployment.advance(41_000);
    process.courier.wake();
    const [done] = await settled(process, webhook);
    expect(done).toMatchObject({ state: 'delivered', attempts: 2, last_status: 200, reason: null });
    const [one, two] = hooks.received as [Received, Received];
    expect([idOf(two), two.body]).toEqual([idOf(one), one.body]);
    expect(two.headers['webhook-timestamp']).not.toBe(one.headers['webhook-timestamp']);
    expect(verifies(two, webhook.secret)).toBe(true);
  });

  it('[WEBHOOK-3] is dead after the last attempt, and sent again on the whole schedule when a person asks', async () => {
    const hooks = await receiver();
    hooks.answer = (_, response) => void response.writeHead(500).end();
    const process = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(process, hooks.url);
    const { id } = await testWebhook(process.manage, { principal: ada, webhook_id: webhook.id });
    for (let attempt = 1; attempt < 8; attempt += 1) {
      await waiting(process, webhook, attempt);
      deployment.advance(18_001_000);
      process.courier.wake();
    }
    expect(await settled(process, webhook)).toMatchObject([{ state: 'dead', attempts: 8, reason: 'refused_status', last_status: 500 }]);
    await until(async () => (await typesOf(id)).length === 1);
    deployment.advance(86_400_000);
    await process.looked();
    expect(hooks.received).toHaveLength(8);

    hooks.answer = (_, response) => void response.writeHead(204).end();
    await redeliver(process.manage, { principal: ada, webhook_id: webhook.id, delivery_id: id });
    expect(await settled(process, webhook)).toMatchObject([{ state: 'delivered', attempts: 9 }]);
    await until(async () => (await typesOf(id)).length === 2);
    expect(await typesOf(id)).toEqual(['callback.failed', 'callback.delivered']);
    await expect(
      redeliver(process.manage, { principal: { ...ada, org: 'elsewhere' }, webhook_id: webhook.id, delivery_id: id }),
    ).rejects.toMatchObject({ code: 'not_found' });
  });

  it('sends nothing more to a receiver that answered 410', async () => {
    const hooks = await receiver();
    let release: () => void = () => undefined;
    hooks.answer = (one, response) => {
      // The second one has to be pending when the first is answered.
      if (hooks.received.length === 1) release = () => response.writeHead(410).end();
      else response.writeHead(one.body === '' ? 400 : 503).end();
    };
    const process = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(process, hooks.url);
    const test = () => testWebhook(process.manage, { principal: ada, webhook_id: webhook.id });
    await test();
    await until(() => hooks.received.length === 1);
    await test();
    await until(async () => (await deliveriesOf(process, webhook)).some(({ last_status }) => last_status === 503));
    release();
    const states = (await settled(process, webhook, 2)).map(({ state, reason }) => [state, reason]);
    expect(states).toEqual([
      ['cancelled', 'refused_status'],
      ['dead', 'gone'],
    ]);
    expect((await listWebhooks(process.manage, { org: 'default' }))[0]?.disabled_at).not.toBeNull();
    await expect(test()).rejects.toMatchObject({ code: 'conflict' });
    await until(async () => (await typesOf(webhook.id)).length === 2);
    expect(await typesOf(webhook.id)).toEqual(['webhook.created', 'webhook.disabled']);
  });

  it('[WEBHOOK-5] sends again, under the same id, what a process sent and could not record', async () => {
    const hooks = await receiver();
    const dying = deployment.startProcess([hooks.host], ({ table }: CourierPorts) => ({
      table: { ...table, settle: () => Promise.reject(new Error('killed before it could record')) },
    }));
    const webhook = await subscribe(dying, hooks.url);
    const { id } = await testWebhook(dying.manage, { principal: ada, webhook_id: webhook.id });
    await until(() => hooks.received.length === 1);
    await dying.courier.stop();

    const next = deployment.startProcess([hooks.host]);
    // Its lease is that of the process that died.
    const { rows: leased } = await deployment.admin.query('select attempts from delivery.deliveries where leased_until is not null');
    expect([leased.length, hooks.received.length]).toEqual([1, 1]);
    deployment.advance(30_001);
    next.courier.wake();
    expect(await settled(next, webhook)).toMatchObject([{ id, state: 'delivered', attempts: 2 }]);
    expect(hooks.received.map(idOf)).toEqual([id, id]);
    const { rows } = await deployment.admin.query('select attempt, reason, status from delivery.attempts order by attempt');
    expect(rows).toEqual([
      { attempt: 1, reason: 'process_lost', status: null },
      { attempt: 2, reason: null, status: 204 },
    ]);
  });

  it('[WEBHOOK-5] two processes never make the same attempt', async () => {
    const hooks = await receiver();
    hooks.answer = (_, response) => void setTimeout(() => response.writeHead(204).end(), 5);
    const processes = [deployment.startProcess([hooks.host]), deployment.startProcess([hooks.host])];
    const [first] = processes as [Process];
    const webhook = await subscribe(first, hooks.url);
    for (let n = 0; n < 60; n += 1) {
      await testWebhook({ ...first.manage, wake: () => undefined }, { principal: ada, webhook_id: webhook.id });
    }
    for (const process of processes) process.courier.wake();
    const all = await settled(first, webhook, 60);
    expect(all.every(({ state, attempts }) => state === 'delivered' && attempts === 1)).toBe(true);
    expect(new Set(hooks.received.map(idOf)).size).toBe(60);
    expect(hooks.received).toHaveLength(60);
    await until(async () => (await deployment.recorded()).filter(({ type }) => type === 'callback.delivered').length === 60);
  });

  /** Deliveries that wait, and a courier that has not been told of them. */
  const add = async (process: Process, webhook: WebhookWithSecret, count: number): Promise<string[]> => {
    const quiet = { ...process.manage, wake: () => undefined };
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) ids.push((await testWebhook(quiet, { principal: ada, webhook_id: webhook.id })).id);
    return ids;
  };
  const claim = (process: Process) => process.deliveries.claim({ room: 1_000, now: deployment.clock.now() });
  const delivered = { state: 'delivered', status: 204, reason: null, nextAttemptAt: null, disables: false } as const;

  it('takes, begins, settles and records a page in one transaction each', async () => {
    const process = deployment.startProcess([]);
    const webhook = await subscribe(process, 'https://hooks.example.com/');
    const ids = await add(process, webhook, 100);
    const took = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
      const before = process.counts.transactions;
      const result = await work();
      return [result, process.counts.transactions - before];
    };
    const now = deployment.clock.now();
    const [page, claims] = await took(() => claim(process));
    expect([page.length, claims]).toEqual([64, 1]);
    const [begun, begins] = await took(() => Promise.all(page.map((each) => process.deliveries.begin(each, each.body, now))));
    expect([begun.map((each) => each?.id), begins]).toEqual([page.map(({ id }) => id), 1]);
    const [, settles] = await took(() => Promise.all(page.map((each) => process.deliveries.settle(each, delivered, now))));
    expect(settles).toBe(1);
    // One read and one delete; two connections of the appender share what is appended.
    const [, records] = await took(() => process.record());
    expect(records).toBe(2);
    const { rows } = await deployment.admin.query<{ events: number; appends: number }>(
      `select count(*)::integer as events, count(distinct xmin::text)::integer as appends from ledger.events where category = 'delivery'`,
    );
    expect(rows[0]?.events).toBe(64);
    expect(rows[0]?.appends).toBeLessThanOrEqual(2);
    const rest = await claim(process);
    expect(new Set([...page, ...rest].map(({ id }) => id))).toEqual(new Set(ids));
  });

  it('sends 256 messages to one receiver in fewer transactions than there are messages, eight at once', async () => {
    const hooks = await receiver();
    const held: ServerResponse[] = [];
    let most = 0;
    hooks.answer = (_, response) => {
      most = Math.max(most, held.push(response));
      // Eight are under way, and no ninth comes.
      if (held.length === 8) for (const each of held.splice(0)) each.writeHead(204).end();
    };
    let recordings = 0;
    const process = deployment.startProcess([hooks.host], ({ record }) => ({
      record: () => {
        recordings += 1;
        return record();
      },
    }));
    const webhook = await subscribe(process, hooks.url);
    await add(process, webhook, 256);
    process.counts.transactions = 0;
    process.courier.wake();
    await until(async () => (await deployment.recorded()).filter(({ type }) => type === 'callback.delivered').length === 256);
    await process.courier.stop();
    expect(process.counts.transactions).toBeLessThan(256);
    // Half a page, not each attempt, is a reason to bring the ledger up to date.
    expect(recordings).toBeLessThan(128);
    expect([new Set(hooks.received.map(idOf)).size, hooks.received.length, most]).toEqual([256, 256, 8]);
    expect(process.failures).toEqual([]);
  });

  it('makes the deliveries of many events with one look at their runs and one insert', async () => {
    const process = deployment.startProcess([]);
    const [mine, other] = [
      await subscribe(process, 'https://hooks.example.com/', 'fixer'),
      await subscribe(process, 'https://b.example.com/'),
    ];
    const runs: StreamRef[] = [];
    for (const agent of ['fixer', 'fixer', 'planner']) runs.push(await deployment.startRun(agent));
    for (const run of runs) await deployment.finish(run);
    const events = (await Promise.all(runs.map((run) => process.store.read(run)))).flat().filter(({ type }) => type === 'run.result');
    const looks = jest.spyOn(process.store, 'eventsAt');
    process.counts.statements = 0;
    await process.follower.handle(events, process.manage.sql);
    expect([looks.mock.calls.length, process.counts.statements]).toEqual([1, 2]);
    expect((await deliveriesOf(process, mine)).map(({ run_id }) => run_id).sort()).toEqual(
      runs
        .slice(0, 2)
        .map(({ id }) => id)
        .sort(),
    );
    expect(await deliveriesOf(process, other)).toHaveLength(3);
    const { rows } = await deployment.admin.query<{ body: string }>('select body from delivery.deliveries where webhook_id = $1', [
      other.id,
    ]);
    const told = rows.map(({ body }) => JSON.parse(body).data).map(({ run_id, agent, head }) => [run_id, agent, head.hash]);
    const expected = await Promise.all(
      runs.map(async (run, n) => [run.id, n < 2 ? 'fixer' : 'planner', (await process.store.readWithHashes(run)).at(-1)?.hash]),
    );
    expect(told.sort()).toEqual(expected.sort());
  });

  it('[WEBHOOK-5] one attempt that cannot be settled keeps back no other, and is made again under its id', async () => {
    const hooks = await receiver();
    const process = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(process, hooks.url);
    const ids = await add(process, webhook, 8);
    const bad = String(ids[3]);
    await deployment.admin.query(`
      create function delivery.refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
      create trigger refuse before update on delivery.deliveries for each row
        when (new.id = '${bad}' and new.state = 'delivered') execute function delivery.refuse()`);
    process.courier.wake();
    const others = async () => (await deliveriesOf(process, webhook)).filter(({ state }) => state === 'delivered').map(({ id }) => id);
    await until(async () => (await others()).length === 7);
    expect(await others()).not.toContain(bad);
    await until(() => process.failures.length > 0);
    expect(process.failures).toMatchObject([{ message: 'refused' }]);
    await deployment.admin.query('drop trigger refuse on delivery.deliveries');
    deployment.advance(30_001);
    process.courier.wake();
    await settled(process, webhook, 8);
    expect(hooks.received.map(idOf).filter((id) => id === bad)).toEqual([bad, bad]);
    expect(hooks.received).toHaveLength(9);
    const { rows } = await deployment.admin.query('select attempt, reason from delivery.attempts where delivery_id = $1 order by attempt', [
      bad,
    ]);
    expect(rows).toEqual([
      { attempt: 1, reason: 'process_lost' },
      { attempt: 2, reason: null },
    ]);
  });

  it('[WEBHOOK-5] what a process had taken and not begun when it died costs no attempt', async () => {
    const hooks = await receiver();
    const dying = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(dying, hooks.url);
    const ids = await add(dying, webhook, 20);
    expect(await claim(dying)).toHaveLength(20);
    const next = deployment.startProcess([hooks.host]);
    expect(await claim(next)).toEqual([]);
    deployment.advance(30_001);
    next.courier.wake();
    const all = await settled(next, webhook, 20);
    expect(all.every(({ state, attempts }) => state === 'delivered' && attempts === 1)).toBe(true);
    expect(hooks.received.map(idOf).sort()).toEqual(ids.sort());
    expect((await deployment.admin.query("select 1 from delivery.attempts where reason = 'process_lost'")).rowCount).toBe(0);
  });

  it('a process that stops gives back what it has not begun, and waits for what it has', async () => {
    const hooks = await receiver();
    const held: ServerResponse[] = [];
    hooks.answer = (_, response) => void held.push(response);
    const stopping = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(stopping, hooks.url);
    await add(stopping, webhook, 20);
    stopping.courier.wake();
    await until(() => held.length === 8);
    const stopped = stopping.courier.stop();
    await until(
      async () => (await deployment.admin.query('select 1 from delivery.deliveries where leased_until is not null')).rowCount === 8,
    );
    hooks.answer = (_, response) => void response.writeHead(204).end();
    for (const response of held) response.writeHead(204).end();
    await stopped;
    const next = deployment.startProcess([hooks.host]);
    next.courier.wake();
    const all = await settled(next, webhook, 20);
    expect(all.every(({ state, attempts }) => state === 'delivered' && attempts === 1)).toBe(true);
    expect(hooks.received).toHaveLength(20);
  });

  it('[WEBHOOK-6] a receiver belongs to one process at a time, so its bound holds over all of them', async () => {
    const [one, two] = [deployment.startProcess([]), deployment.startProcess([])];
    const [first, second] = [await subscribe(one, 'https://hooks.example.com/'), await subscribe(one, 'https://b.example.com/')];
    await add(one, first, 100);
    // Both ask while neither has committed.
    const gate = await deployment.admin.connect();
    await gate.query('select pg_advisory_lock(42)');
    await deployment.admin.query(`
      create function delivery.wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(42); return new; end $$;
      create trigger wait before update on delivery.deliveries for each row execute function delivery.wait()`);
    const asked = Promise.all([claim(one), claim(two)]);
    await until(
      async () =>
        (await deployment.admin.query("select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"))
          .rowCount === 2,
    );
    await gate.query('select pg_advisory_unlock(42)');
    gate.release();
    const pages = await asked;
    await deployment.admin.query('drop trigger wait on delivery.deliveries');
    expect(pages.map(({ length }) => length).sort((a, b) => a - b)).toEqual([0, 64]);
    const [owner, other] = pages[0]?.length === 64 ? [one, two] : [two, one];
    await add(one, second, 1);
    expect((await claim(other)).map(({ webhookId }) => webhookId)).toEqual([second.id]);
    const page = pages.flat();
    await Promise.all(page.slice(0, 63).map((each) => owner.deliveries.giveBack(each)));
    expect(await claim(other)).toEqual([]);
    await owner.deliveries.giveBack(page[63] as (typeof page)[number]);
    expect(await claim(other)).toHaveLength(64);
  });

  it('[WEBHOOK-2] what was taken before a rotation is signed with the new secret, and before a removal is not sent', async () => {
    const process = deployment.startProcess([]);
    const webhook = await subscribe(process, 'https://hooks.example.com/');
    await add(process, webhook, 2);
    const [first, second] = await claim(process);
    if (first === undefined || second === undefined) throw new Error('nothing was claimed');
    const { secret } = await rotateSecret(process.manage, { principal: ada, webhook_id: webhook.id });
    const now = deployment.clock.now();
    expect((await process.deliveries.begin(first, first.body, now))?.secrets).toMatchObject({ secret, old: { secret: webhook.secret } });
    await removeWebhook(process.manage, { principal: ada, webhook_id: webhook.id });
    expect(await process.deliveries.begin(second, second.body, now)).toBeNull();
  });

  it('begins nothing once its lease has ended', async () => {
    const process = deployment.startProcess([]);
    await add(process, await subscribe(process, 'https://hooks.example.com/'), 2);
    const [first, second] = await claim(process);
    if (first === undefined || second === undefined) throw new Error('nothing was claimed');
    const at = (ms: number): Date => new Date(deployment.clock.now().getTime() + ms);
    expect(await process.deliveries.begin(first, first.body, at(25_000))).toMatchObject({ id: first.id });
    expect(await process.deliveries.begin(second, second.body, at(31_000))).toBeNull();
    const { rows } = await deployment.admin.query<{ leased_until: Date }>('select leased_until from delivery.deliveries where id = $1', [
      first.id,
    ]);
    expect(rows[0]?.leased_until.getTime()).toBeGreaterThan(at(50_000).getTime());
    // Twice is once.
    expect(await process.deliveries.begin(first, first.body, at(26_000))).toBeNull();
  });

  it('[WEBHOOK-6] one receiver of 100 that never answers, with much waiting for it, delays no other', async () => {
    const [hooks, dead] = [await receiver(), await receiver()];
    const held: ServerResponse[] = [];
    dead.answer = (_, response) => void held.push(response);
    const process = deployment.startProcess([hooks.host, dead.host]);
    const silent = await subscribe(process, `${dead.url}/dead`);
    const healthy: WebhookWithSecret[] = [];
    for (let n = 0; n < 99; n += 1) healthy.push(await subscribe(process, `${hooks.url}/${n}`));
    const quiet = { ...process.manage, wake: () => undefined };
    for (let n = 0; n < 300; n += 1) await testWebhook(quiet, { principal: ada, webhook_id: silent.id });
    process.courier.wake();
    await until(() => dead.received.length === 8);
    for (const webhook of healthy) await testWebhook(quiet, { principal: ada, webhook_id: webhook.id });
    process.courier.wake();
    await until(() => hooks.received.length === 99);
    const failures = async (): Promise<number | undefined> =>
      (await deployment.admin.query<{ failures: number }>('select failures from delivery.webhooks where id = $1', [silent.id])).rows[0]
        ?.failures;
    // All the while the dead one holds its eight attempts.
    expect([dead.received.length, await failures()]).toEqual([8, 0]);
    for (const response of held.splice(0)) response.writeHead(500).end();
    // Once it has failed, one at a time.
    await until(async () => (await failures()) === 8);
    await until(() => dead.received.length === 9);
    // What had been taken for it is given back.
    await until(
      async () =>
        (await deployment.admin.query('select 1 from delivery.deliveries where webhook_id = $1 and leased_until is not null', [silent.id]))
          .rowCount === 1,
    );
    await testWebhook(process.manage, { principal: ada, webhook_id: (healthy[0] as WebhookWithSecret).id });
    await until(() => hooks.received.length === 100);
    expect(dead.received).toHaveLength(9);
    dead.answer = (_, response) => void response.writeHead(500).end();
    for (const response of held) response.writeHead(500).end();
  });

  it('a webhook whose sealed row cannot be opened fails alone, with its reason, and is sent to once its row is back', async () => {
    const hooks = await receiver();
    const process = deployment.startProcess([hooks.host]);
    const [copied, newer, healthy] = [
      await subscribe(process, `${hooks.url}/copied`),
      await subscribe(process, `${hooks.url}/newer`),
      await subscribe(process, `${hooks.url}/healthy`),
    ];
    const sealedOf = async ({ id }: WebhookWithSecret) =>
      (await deployment.admin.query<{ sealed: Buffer }>('select sealed from delivery.webhooks where id = $1', [id])).rows[0]?.sealed;
    const store = (webhook: WebhookWithSecret, sealed: Buffer | undefined) =>
      deployment.admin.query('update delivery.webhooks set sealed = $2 where id = $1', [webhook.id, sealed]);
    const own = await sealedOf(copied);
    await store(copied, await sealedOf(healthy));
    await store(
      newer,
      deployment.box.seal(newer.id, { ...deployment.box.open(newer.id, (await sealedOf(newer)) as Buffer), kind: 2 } as never),
    );

    const quiet = { ...process.manage, wake: () => undefined };
    for (const webhook of [copied, newer, healthy]) await testWebhook(quiet, { principal: ada, webhook_id: webhook.id });
    process.courier.wake();
    expect(await settled(process, healthy)).toMatchObject([{ state: 'delivered' }]);
    for (const webhook of [copied, newer])
      expect(await waiting(process, webhook, 1)).toMatchObject({ reason: 'unreadable_secret', last_status: null });
    expect(hooks.received.map(({ path }) => path)).toEqual(['/healthy']);
    expect((await listWebhooks(process.manage, { org: 'default' })).map(({ url }) => url)).toEqual([null, null, `${hooks.url}/healthy`]);
    await expect(rotateSecret(process.manage, { principal: ada, webhook_id: newer.id })).rejects.toMatchObject({ code: 'conflict' });
    await removeWebhook(process.manage, { principal: ada, webhook_id: newer.id });

    await store(copied, own);
    deployment.advance(10_000);
    process.courier.wake();
    expect(await settled(process, copied)).toMatchObject([{ state: 'delivered', attempts: 2 }]);
    expect(hooks.received.map(({ path }) => path)).toEqual(['/healthy', '/copied']);
    expect(process.failures).toEqual([]);
  });

  it('forgets a webhook at once: what waits is cancelled, what is under way is not tried again', async () => {
    const hooks = await receiver();
    let release: () => void = () => undefined;
    hooks.answer = (_, response) => {
      if (hooks.received.length === 2) release = () => response.writeHead(500).end();
      else response.writeHead(500).end();
    };
    const process = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(process, hooks.url);
    const test = () => testWebhook(process.manage, { principal: ada, webhook_id: webhook.id });
    await test();
    await waiting(process, webhook, 1);
    await test();
    await until(() => hooks.received.length === 2);
    await removeWebhook(process.manage, { principal: ada, webhook_id: webhook.id });
    release();
    deployment.advance(3_600_000);
    await process.looked();
    expect(hooks.received).toHaveLength(2);
    const { rows } = await deployment.admin.query('select distinct state from delivery.deliveries');
    expect(rows).toEqual([{ state: 'cancelled' }]);
    expect((await deployment.admin.query("select 1 from delivery.webhooks where sealed <> ''")).rowCount).toBe(0);
    expect(await typesOf(webhook.id)).toEqual(['webhook.created', 'webhook.removed']);
    await expect(test()).rejects.toMatchObject({ code: 'not_found' });
    await expect(removeWebhook(process.manage, { principal: ada, webhook_id: webhook.id })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('[WEBHOOK-2] signs with the old secret too for a day after a rotation', async () => {
    const hooks = await receiver();
    const process = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(process, hooks.url);
    const fresh = await rotateSecret(process.manage, { principal: ada, webhook_id: webhook.id });
    expect(fresh.secret).not.toBe(webhook.secret);
    const test = () => testWebhook(process.manage, { principal: ada, webhook_id: webhook.id });
    await test();
    await settled(process, webhook, 1);
    deployment.advance(86_400_001);
    await test();
    await settled(process, webhook, 2);
    const good = hooks.received.map((one) => [verifies(one, fresh.secret), verifies(one, webhook.secret)]);
    expect(good).toEqual([
      [true, true],
      [true, false],
    ]);
  });

  it('does not tell of an approval that has expired meanwhile', async () => {
    const hooks = await receiver();
    hooks.answer = (_, response) => void response.writeHead(500).end();
    const process = deployment.startProcess([hooks.host]);
    const webhook = await subscribe(process, hooks.url);
    const follower = process.follow();
    const run: StreamRef = await deployment.startRun();
    await deployment.ask(run, 'c1', { expires_at: new Date(deployment.clock.now().getTime() + 4_000).toISOString() });
    await follower.caughtUp();
    expect(await settled(process, webhook)).toMatchObject([{ state: 'dead', reason: 'expired', attempts: 1 }]);
  });

  it('[WEBHOOK-4] refuses a URL it would not call, naming the field', async () => {
    const process = deployment.startProcess([]);
    for (const url of ['http://hooks.example.com/', 'https://10.0.0.1/', 'https://a:b@hooks.example.com/'])
      await expect(subscribe(process, url)).rejects.toMatchObject({ code: 'unprocessable', errors: [{ pointer: '/url' }] });
    expect(await listWebhooks(process.manage, { org: 'default' })).toEqual([]);
    expect(await deployment.recorded()).toEqual([]);
    await subscribe(process, 'https://hooks.example.com/');
  });
});
