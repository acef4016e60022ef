import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { type Bus, connectBus } from '@fluidbox/bus';
import {
  type Audience,
  Heartbeat,
  natsPermissions,
  type ParsedRequestOf,
  Problem,
  RenewLease,
  type ReplyOf,
  ReportEvent,
  ReportResult,
  RequestPermission,
  runStream,
  type ServiceName,
  serviceNames,
  WorkspaceKey,
} from '@fluidbox/contracts';
import { createLedger, createPostgresStore, type EventStore, FolderBlobStore, type Ledger, testServiceUrl } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { generateSigningKey, generateSigningKeyFiles, grantedKeyring, type SigningKey, signRunToken } from '@fluidbox/seal';
import { type RunningService, startService, uuidV7Ids } from '@fluidbox/service-kit';
import { startTestNats, startTestPostgres, type TestNats, type TestPostgres, until } from '@fluidbox/testing';
import type { DynamicModule } from '@nestjs/common';
import { PORTS } from './adapters/tokens';
import type { Ports } from './app/ports';
import { runnerGatewayModule } from './runner-gateway.module';
import { definition } from './service';

const digest = `sha256:${'a'.repeat(64)}`;
const ids = uuidV7Ids();
const clock = { now: () => new Date() };
const minute = 60_000;
const paddingMs = 20;
const allow: ReplyOf<typeof RequestPermission> = { status: 'decided', answer: { decision: 'allow' } };
const pendingUntil = (at: number): ReplyOf<typeof RequestPermission> => ({
  status: 'pending',
  approval_id: `apr_${ids.uuid()}_call`,
  expires_at: new Date(at).toISOString(),
});

describe('the runner plane', () => {
  let postgres: TestPostgres;
  let nats: TestNats;
  let folder: string;
  let key: SigningKey;
  let store: EventStore;
  let runs: Ledger;
  let buses: Record<'gate' | 'runs', Bus>;
  let service: RunningService;
  let blobs: FolderBlobStore;
  let ports: Ports;
  let gate: (request: ParsedRequestOf<typeof RequestPermission>) => Promise<ReplyOf<typeof RequestPermission>>;
  let asked: ParsedRequestOf<typeof RequestPermission>[] = [];
  let traces: (string | null)[] = [];
  let told: unknown[] = [];
  let owner: (name: string, request: unknown) => unknown;

  beforeAll(async () => {
    postgres = await startTestPostgres();
    nats = await startTestNats({ users: serviceNames.map((user) => ({ user, password: 'pw', permissions: natsPermissions(user) })) });
    const database = await postgres.createDatabase({ migrated: true });
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-runner-plane-'));
    key = generateSigningKeyFiles(path.join(folder, 'key.pem'), path.join(folder, 'keys.json'));
    blobs = new FolderBlobStore(path.join(folder, 'blobs'));
    const secrets = {
      database_url: testServiceUrl(database.url, 'runner-gateway'),
      nats_url: nats.url,
      nats_user: 'runner-gateway',
      nats_password: 'pw',
    };
    fs.writeFileSync(path.join(folder, 'secrets.json'), JSON.stringify(secrets), { mode: 0o600 });
    const busOf = (name: ServiceName) => connectBus({ service: name, url: nats.url, user: name, password: 'pw' });
    buses = { gate: await busOf('gate'), runs: await busOf('runs') };
    store = createPostgresStore({ url: testServiceUrl(database.url, 'runs') });
    store.onCommitted((message) => buses.runs.publishLog(message));
    runs = createLedger({ store, keyring: grantedKeyring('runs'), clock, ids, service: 'runs' });
    buses.gate.respond(RequestPermission, (request, { traceparent }) => {
      asked.push(request);
      traces.push(traceparent);
      return gate(request);
    });
    const tell = (name: string) => async (request: unknown) => {
      told.push([name, request]);
      return owner(name, request) as never;
    };
    buses.runs.respond(ReportEvent, tell('event'));
    buses.runs.respond(Heartbeat, tell('heartbeat'));
    buses.runs.respond(ReportResult, tell('result'));
    buses.runs.respond(RenewLease, tell('renew'));
    buses.runs.respond(WorkspaceKey, tell('workspace'));
    await Promise.all([buses.gate.flush(), buses.runs.flush()]);
    service = await startService(
      {
        ...definition,
        module: (context, config) => {
          const module = runnerGatewayModule(context, config, paddingMs);
          ports = portsOf(module);
          return module;
        },
      },
      {
        FLUIDBOX_SECRETS_FILE: path.join(folder, 'secrets.json'),
        FLUIDBOX_CONTROL_PORT: '0',
        FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: path.join(folder, 'keys.json'),
        FLUIDBOX_BLOBS_DIR: path.join(folder, 'blobs'),
        FLUIDBOX_LOG_LEVEL: 'silent',
      },
    );
  });
  beforeEach(() => {
    asked = [];
    traces = [];
    told = [];
    gate = async () => allow;
    owner = () => ({});
  });
  afterAll(async () => {
    await service.stop();
    await Promise.all([buses.gate.close(), buses.runs.close(), store.close()]);
    await nats.stop();
    await postgres.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  interface Run {
    readonly id: string;
    token(audience: Audience, over?: { generation?: number; key?: SigningKey; expiresAt?: Date; org?: string }): Promise<string>;
    lease(generation: number, validUntil: Date): Promise<void>;
  }

  /** A run with a living lease of generation 1. */
  async function aRun({ leaseMs = 15 * minute } = {}): Promise<Run> {
    const id = ids.uuid();
    const stream = runStream(id, 'default');
    const budgets = { max_wall_clock_secs: 600, max_tokens: null, max_cost_micro_usd: null, max_tool_calls: null };
    const created = {
      ...{ run_id: id, agent: 'fixer', agent_revision: 1, harness: 'scripted', model: 'none', policy: 'default', policy_version: 1 },
      ...{ spec_digest: digest, request_digest: digest, autonomy: 'supervised' as const, trust_tier: 'trusted' as const, budgets },
      ...{ workspace_kind: 'scratch', invoked_by: 'ada' },
    };
    await runs.decide(runFold, stream, () => ({
      events: [{ type: 'session.created', actor: 'service:runs', data: created }],
      result: null,
    }));
    const lease = async (generation: number, validUntil: Date): Promise<void> => {
      const data = { generation, valid_until: validUntil.toISOString() };
      await runs.decide(runFold, stream, () => ({
        events: [{ type: 'lease.granted', actor: 'service:runs', data }],
        setGeneration: generation,
        result: null,
      }));
    };
    await lease(1, new Date(Date.now() + leaseMs));
    const token: Run['token'] = (audience, over = {}) =>
      signRunToken(over.key ?? key, {
        audience,
        runId: id,
        org: over.org ?? 'default',
        generation: over.generation ?? 1,
        jti: ids.uuid(),
        expiresAt: over.expiresAt ?? new Date(Date.now() + 60 * minute),
      });
    return { id, token, lease };
  }

  const call = async (method: string, route: string, token: string | null, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.url}/internal/${route}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  const post = (route: string, token: string | null, body: unknown = {}) => call('POST', route, token, body);
  const question = { tool_call_id: 'call-1', tool: 'Bash', input: { command: 'ls' } };

  describe('admits', () => {
    const routes: readonly (readonly [Audience, string, string, unknown])[] = [
      ['tool', 'POST', 'permission', question],
      ['tool', 'POST', 'tools/call', { ...question, tool: 'mcp__x__y' }],
      ['control', 'POST', 'events', { body: { type: 'agent.message', data: { role: 'assistant', text: 'hi' } } }],
      ['control', 'POST', 'heartbeat', {}],
      ['control', 'POST', 'result', { outcome: 'completed' }],
      ['workspace', 'GET', 'workspace', undefined],
    ];
    const answers: Readonly<Record<string, unknown>> = { event: { seq: 3 }, heartbeat: { ok: true, action: null }, result: { ok: true } };

    it.each(routes)('only the audience %s to %s %s', async (audience, method, route, body) => {
      const run = await aRun();
      const { sha256, bytes } = await blobs.put(run.id, Buffer.alloc(32, 1), chunks('archive'));
      owner = (name) => answers[name] ?? { archive_digest: sha256, archive_bytes: bytes, key: Buffer.alloc(32, 1).toString('base64') };
      for (const other of ['tool', 'control', 'workspace', 'llm'] as const) {
        const answer = await call(method, `sessions/${run.id}/${route}`, await run.token(other), body);
        if (other === audience) expect([other, answer.status]).toEqual([other, 200]);
        else expect([other, answer.status, answer.text]).toEqual([other, 403, '{"error":"wrong_audience"}']);
      }
    });

    it('only the audience control to token/renew', async () => {
      const run = await aRun();
      owner = () => ({ renewed: true, ttl_secs: 900 });
      expect((await post('token/renew', await run.token('control'), { ttl_secs: 10_800 })).text).toBe('{"renewed":true,"ttl_secs":900}');
      expect((await post('token/renew', await run.token('llm'))).text).toBe('{"error":"wrong_audience"}');
      expect(told).toEqual([['renew', { run_id: run.id, org: 'default', generation: 1, ttl_secs: 900 }]]);
    });

    it('in the order signature, audience, path, generation, lease', async () => {
      const [run, other] = [await aRun(), await aRun()];
      const at = (id: string, token: string | null) => post(`sessions/${id}/heartbeat`, token).then(({ status, text }) => [status, text]);
      owner = () => ({ ok: true, action: null });
      const forged = await run.token('llm', { key: generateSigningKey(), generation: 9 });
      expect(await at(other.id, forged)).toEqual([401, '{"error":"unauthorized"}']);
      expect(await at(other.id, null)).toEqual([401, '{"error":"unauthorized"}']);
      expect(await at(other.id, await run.token('control', { expiresAt: new Date(Date.now() - 1_000) }))).toEqual([
        401,
        '{"error":"unauthorized"}',
      ]);
      expect(await at(other.id, await run.token('llm', { generation: 9 }))).toEqual([403, '{"error":"wrong_audience"}']);
      expect(await at(other.id, await run.token('control', { generation: 9 }))).toEqual([404, '{"error":"not_found"}']);
      await run.lease(2, new Date(Date.now() - minute));
      expect(await at(run.id, await run.token('control', { generation: 1 }))).toEqual([409, '{"error":"stale_lease"}']);
      expect(await at(run.id, await run.token('control', { generation: 2 }))).toEqual([401, '{"error":"unauthorized"}']);
      await run.lease(2, new Date(Date.now() + minute));
      expect(await at(run.id, await run.token('control', { generation: 2 }))).toEqual([200, '{"ok":true,"action":null}']);
    });

    it('a result after the lease ran out, but of this generation only', async () => {
      const run = await aRun({ leaseMs: -minute });
      owner = () => ({ ok: true, note: 'already terminal' });
      const result = { outcome: 'completed' };
      expect((await post(`sessions/${run.id}/result`, await run.token('control'), result)).text).toBe(
        '{"ok":true,"note":"already terminal"}',
      );
      expect((await post(`sessions/${run.id}/result`, await run.token('control', { generation: 2 }), result)).status).toBe(409);
      expect((await post(`sessions/${run.id}/heartbeat`, await run.token('control'))).status).toBe(401);
    });

    it('nobody who sends a cookie beside the token', async () => {
      const run = await aRun();
      owner = () => ({ ok: true, action: null });
      const answer = await call('POST', `sessions/${run.id}/heartbeat`, await run.token('control'), {}, { cookie: 'a=b' });
      expect(answer.status).toBe(400);
    });

    it('the run of another organisation to nothing', async () => {
      const run = await aRun();
      expect((await post(`sessions/${run.id}/heartbeat`, await run.token('control', { org: 'other' }))).status).toBe(404);
    });
  });

  describe('permission', () => {
    const ask = async (run: Run, body: unknown = question) => post(`sessions/${run.id}/permission`, await run.token('tool'), body);

    it('passes the decision on, with the request as it was digested', async () => {
      const run = await aRun();
      gate = async () => ({ status: 'decided', answer: { decision: 'deny', message: 'no', code: 'policy' } });
      const answer = await ask(run);
      expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { decision: 'deny', message: 'no', code: 'policy' }]);
      expect(asked).toEqual([{ run_id: run.id, org: 'default', generation: 1, ...question, mended: false }]);
    });

    it('mends text that could not be stored, and says so to the gate', async () => {
      const run = await aRun();
      await ask(run, '{"tool_call_id":"c","tool":"Bash","input":{"command":"a\\u0000b","k\\ud800":1}}');
      expect(asked[0]).toMatchObject({ input: { command: 'a\u2400b', 'k\ufffd': 1 }, mended: true });
    });

    it.each([
      ['a call id that is not one', { ...question, tool_call_id: 'a b' }, 'tool_call_id'],
      ['an unknown field', { ...question, verdict: 'allow' }, 'verdict'],
      ['an input that is no object', { ...question, input: 'ls' }, 'input'],
    ])('refuses %s with a 422 that names it', async (_what, body, field) => {
      const answer = await ask(await aRun(), body);
      expect([answer.status, asked.length]).toEqual([422, 0]);
      expect((JSON.parse(answer.text) as { error: string }).error).toContain(field);
    });

    it('refuses keys that reach into prototypes, also inside an input, with a 422', async () => {
      const answer = await ask(await aRun(), '{"tool_call_id":"c","tool":"Bash","input":{"__proto__":{"x":1}}}');
      expect([answer.status, asked.length]).toEqual([422, 0]);
      expect(answer.text).toContain('__proto__');
    });

    it('refuses a body of more than 2 MiB with 413', async () => {
      const answer = await ask(await aRun(), { ...question, input: { command: 'x'.repeat(2 * 1024 * 1024) } });
      expect([answer.status, answer.text]).toEqual([413, '{"error":"payload_too_large"}']);
    });

    it('answers 503, not a denial, when the gate cannot be asked', async () => {
      gate = () => Promise.reject(new Problem('unavailable', 'restarting'));
      const answer = await ask(await aRun());
      expect([answer.status, answer.text]).toEqual([503, '{"error":"unavailable"}']);
    });

    it('parks a pending call, pads it, and answers when the decision is in the log', async () => {
      const run = await aRun();
      gate = async () => pendingUntil(Date.now() + 10 * minute);
      const parked = await open(run);
      expect(parked.status).toBe(200);
      await until(() => parked.text().length >= 3);
      expect(parked.text().trim()).toBe('');
      expect(asked).toHaveLength(1);
      gate = async () => allow;
      // Not about this run, or not about this call: nobody is asked again.
      const other = await aRun();
      settled(other.id);
      settled(run.id, 'call-2');
      settled(run.id);
      await parked.ended;
      expect(JSON.parse(parked.text())).toEqual({ decision: 'allow' });
      expect(asked).toHaveLength(2);
      // Both questions belong to the call, whoever woke it.
      expect(traces).toEqual([parked.traceparent, parked.traceparent]);
    });

    it('does not lose a decision that falls between the gate’s `pending` and the wait', async () => {
      const run = await aRun();
      let seen = (): void => undefined;
      const heard = new Promise<void>((resolve) => {
        seen = resolve;
      });
      const ear = await connectBus({ service: 'runner-gateway', url: nats.url, user: 'runner-gateway', password: 'pw' });
      ear.followStream('run', 'default', run.id, seen);
      await ear.flush();
      gate = async () => {
        gate = async () => allow;
        settled(run.id);
        await heard;
        return pendingUntil(Date.now() + 10 * minute);
      };
      const parked = await open(run);
      await parked.ended;
      expect(JSON.parse(parked.text())).toEqual({ decision: 'allow' });
      await ear.close();
    });

    it('asks again when the approval expires', async () => {
      const run = await aRun();
      let first = true;
      gate = async () => {
        if (!first) return { status: 'decided', answer: { decision: 'deny', message: 'Nobody answered.', code: 'expired' } };
        first = false;
        return pendingUntil(Date.now() + 50);
      };
      const parked = await open(run);
      await parked.ended;
      expect(JSON.parse(parked.text())).toMatchObject({ decision: 'deny', code: 'expired' });
      expect(asked).toHaveLength(2);
    });

    it('asks again after an outage of the bus', async () => {
      const run = await aRun();
      gate = async () => pendingUntil(Date.now() + 10 * minute);
      const parked = await open(run);
      gate = async () => allow;
      await nats.restart({ whileDown: async () => void (await until(() => !buses.gate.connected)) });
      await parked.ended;
      // Its own question may come before the gate is back: then the connection is cut, and the runner asks again.
      if (parked.whole()) expect(JSON.parse(parked.text())).toEqual({ decision: 'allow' });
      else expect(parked.text().trim()).toBe('');
      await until(() => buses.gate.connected && buses.runs.connected);
    });

    it('cuts the connection, never denies, when asking fails after `pending`', async () => {
      const run = await aRun();
      gate = async () => pendingUntil(Date.now() + 10 * minute);
      const parked = await open(run);
      gate = () => Promise.reject(new Problem('unavailable', 'restarting'));
      settled(run.id);
      await parked.ended;
      expect([parked.whole(), parked.text().trim()]).toEqual([false, '']);
    });

    it('drops the question when the caller goes, and settles nothing', async () => {
      const run = await aRun();
      gate = async () => pendingUntil(Date.now() + 10 * minute);
      const parked = await open(run);
      parked.leave();
      await until(() => ports.parked.size === 0);
      expect(ports.wakeUps.waiting(run.id)).toBe(0);
      // A call that is parked later hears of its settlement, so the gate has not been asked about the first one again.
      const other = await aRun();
      const parkedLater = await open(other);
      gate = async () => allow;
      settled(run.id);
      settled(other.id);
      await parkedLater.ended;
      expect(asked.filter((request) => request.run_id === run.id)).toHaveLength(1);
    });

    it('lets go of parked calls when the service stops', async () => {
      const own = await startService(
        { ...definition, module: (context, config) => runnerGatewayModule(context, config, paddingMs) },
        ownEnvironment(),
      );
      const run = await aRun();
      gate = async () => pendingUntil(Date.now() + 10 * minute);
      const parked = await open(run, own.url);
      // Whoever is not let go is cut two seconds later, when the listener gives up; the rest of the stop takes as long as it takes.
      const started = performance.now();
      const stopped = own.stop();
      await parked.ended;
      expect([parked.whole(), performance.now() - started < 1_900]).toEqual([false, true]);
      await stopped;
    });

    const ownEnvironment = () => ({
      FLUIDBOX_SECRETS_FILE: path.join(folder, 'secrets.json'),
      FLUIDBOX_CONTROL_PORT: '0',
      FLUIDBOX_TOKEN_PUBLIC_KEYS_FILE: path.join(folder, 'keys.json'),
      FLUIDBOX_BLOBS_DIR: path.join(folder, 'blobs'),
      FLUIDBOX_LOG_LEVEL: 'silent',
    });

    /** What approvals would append: the wake-up is all that this plane uses. */
    const settled = (id: string, tool_call_id = question.tool_call_id): void =>
      buses.runs.publishLog({
        stream: `run-${id}`,
        category: 'run',
        org: 'default',
        id,
        firstSeq: 50,
        lastSeq: 51,
        generation: 1,
        events: [{ seq: 50, globalPosition: 1, body: JSON.stringify({ data: { tool_call_id }, type: 'approval.decided' }) }],
      });

    /** A call of which the headers have come: the gate has said `pending`. */
    async function open(run: Run, url = service.url) {
      const body = JSON.stringify(question);
      const headers = {
        authorization: `Bearer ${await run.token('tool')}`,
        'content-type': 'application/json',
        'content-length': body.length,
      };
      const request = http.request(`${url}/internal/sessions/${run.id}/permission`, { method: 'POST', headers });
      request.end(body);
      const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
        request.once('response', resolve);
        request.once('error', reject);
      });
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('error', () => undefined);
      const ended = new Promise<void>((resolve) => response.once('close', resolve));
      return {
        status: response.statusCode,
        traceparent: response.headers.traceparent,
        text: () => text,
        whole: () => response.complete,
        leave: () => void response.destroy(),
        ended,
      };
    }
  });

  describe('tools/call', () => {
    const brokered = { ...question, tool: 'mcp__jira__create' };
    const callTool = async (run: Run, body: unknown = brokered) => post(`sessions/${run.id}/tools/call`, await run.token('tool'), body);

    it('has the gate record that the tool is not there, and says so', async () => {
      gate = async () => ({
        status: 'decided',
        answer: { decision: 'deny', message: 'This tool is not available.', code: 'not_on_surface' },
      });
      expect((await callTool(await aRun())).text).toBe('{"ok":false,"denied":true,"message":"This tool is not available."}');
      expect(asked).toHaveLength(1);
    });
    it('claims nothing when the gate would allow it', async () => {
      expect(JSON.parse((await callTool(await aRun())).text)).toMatchObject({
        ok: false,
        error: expect.stringContaining('No brokered tool'),
      });
    });
    it('refuses a tool of the sandbox without asking, and a run that is over with the contract’s words', async () => {
      expect((await callTool(await aRun(), question)).status).toBe(400);
      expect(asked).toHaveLength(0);
      gate = async () => ({ status: 'decided', answer: { decision: 'deny', message: 'over', code: 'session_terminal' } });
      const over = await callTool(await aRun());
      expect([over.status, over.text]).toEqual([400, '{"error":"session is not active"}']);
    });
  });

  describe('reports', () => {
    it('passes on what a runner may say, and drops what the gate alone says', async () => {
      const run = await aRun();
      owner = () => ({ seq: 7 });
      const token = await run.token('control');
      const message = { type: 'agent.message', data: { role: 'assistant', text: 'a\u0000b' } };
      expect((await post(`sessions/${run.id}/events`, token, { actor: 'runner', body: message })).text).toBe('{"seq":7}');
      expect((await post(`sessions/${run.id}/events`, token, { body: { type: 'tool.requested', data: { x: 1 } } })).text).toBe(
        '{"seq":null,"dropped":"tool.requested"}',
      );
      expect((await post(`sessions/${run.id}/events`, token, { body: { type: 'tool.decision', data: {} } })).status).toBe(422);
      expect(told).toEqual([['event', { run_id: run.id, org: 'default', generation: 1, event: message }]]);
    });

    it('lets a runner end completed or failed only', async () => {
      const run = await aRun();
      owner = () => ({ ok: true });
      const result = async (outcome: string) => (await post(`sessions/${run.id}/result`, await run.token('control'), { outcome })).status;
      expect([await result('failed'), await result('cancelled'), await result('budget_exceeded')]).toEqual([200, 422, 422]);
    });

    it('keeps the words of the contract for a run that is over, a stale generation and an owner that is away', async () => {
      const run = await aRun();
      const beat = async (problem: Problem) => {
        owner = () => {
          throw problem;
        };
        const { status, text } = await post(`sessions/${run.id}/heartbeat`, await run.token('control'));
        return [status, text];
      };
      expect(await beat(new Problem('run_not_active', 'x'))).toEqual([400, '{"error":"session is not active"}']);
      expect(await beat(new Problem('stale_lease', 'x'))).toEqual([409, '{"error":"stale_lease"}']);
      expect(await beat(new Problem('overloaded', 'x'))).toEqual([503, '{"error":"overloaded"}']);
    });
  });

  describe('workspace', () => {
    const key32 = randomBytes(32);
    const fetchWorkspace = async (run: Run) => call('GET', `sessions/${run.id}/workspace`, await run.token('workspace'));

    it('streams the archive, opened, with its length', async () => {
      const run = await aRun();
      const plain = 'x'.repeat(200_000);
      const { sha256, bytes } = await blobs.put(run.id, key32, chunks(plain));
      owner = () => ({ archive_digest: sha256, archive_bytes: bytes, key: key32.toString('base64') });
      const answer = await fetchWorkspace(run);
      expect([answer.status, answer.headers.get('content-type'), answer.headers.get('content-length')]).toEqual([
        200,
        'application/gzip',
        '200000',
      ]);
      expect(answer.text).toBe(plain);
    });

    it('answers 404 before there is one, and 502 when it is lost or does not open', async () => {
      const run = await aRun();
      owner = () => {
        throw new Problem('conflict', 'the workspace is not ready yet');
      };
      expect((await fetchWorkspace(run)).status).toBe(404);
      owner = () => ({ archive_digest: digest, archive_bytes: 3, key: key32.toString('base64') });
      expect((await fetchWorkspace(run)).status).toBe(502);
      const { sha256, bytes } = await blobs.put(run.id, key32, chunks('abc'));
      owner = () => ({ archive_digest: sha256, archive_bytes: bytes, key: randomBytes(32).toString('base64') });
      expect((await fetchWorkspace(run)).status).toBe(502);
    });
  });

  it('answers an unknown path in its own words', async () => {
    const answer = await post('nothing', null);
    expect([answer.status, answer.text]).toEqual([404, '{"error":"not_found"}']);
  });
});

/** What the module hands to its controllers. */
function portsOf({ providers = [] }: DynamicModule): Ports {
  for (const provider of providers) if ('useFactory' in provider && provider.provide === PORTS) return provider.useFactory() as Ports;
  throw new Error('the module provides no ports');
}

async function* chunks(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}
