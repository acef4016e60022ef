import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import type { Server } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { type Bus, connectBus, currentRequestMeta } from '@fluidbox/bus';
import { Heartbeat, natsPermissions, Problem, RequestPermission, type ServiceName, serviceNames } from '@fluidbox/contracts';
import { testServiceUrl } from '@fluidbox/event-store';
import { generateKekFile } from '@fluidbox/seal';
import { startTestNats, startTestPostgres, type TestNats, type TestPostgres, until } from '@fluidbox/testing';
import { Body, Controller, Get, Inject, Module, Post } from '@nestjs/common';
import { pino } from 'pino';
import { z } from 'zod';
import type { Environment, RunningService, ServiceContext, ServiceDefinition } from './api';
import { createHttpApplication } from './http';
import { startService } from './start-service';
import { subscribe, zodPipe } from './subscribe';

const CONTEXT = Symbol('context');
const Greeting = z.strictObject({ name: z.string().min(2) });

@Controller('greetings')
class GreetingsController {
  constructor(@Inject(CONTEXT) private readonly context: ServiceContext) {}
  @Get()
  meta() {
    return { service: this.context.name, ...currentRequestMeta() };
  }
  @Post()
  greet(@Body(zodPipe(Greeting)) body: z.output<typeof Greeting>) {
    if (body.name === 'bug') throw new Error('secret detail');
    if (body.name === 'problem') throw new Problem('stale_version', 'name: was changed', { extra: { version: 3 } });
    return { hello: body.name };
  }
}
@Module({})
class TestModule {}

const run_id = '00000000-0000-7000-8000-000000000001' as never;
const org = 'default' as never;

describe('a service', () => {
  let postgres: TestPostgres;
  let nats: TestNats;
  let folder: string;
  let environment: Environment;
  const running: RunningService[] = [];
  const steps: string[] = [];

  const definition = (name: ServiceName, over: Partial<ServiceDefinition<{ port: number }>> = {}): ServiceDefinition<{ port: number }> => ({
    name,
    config: z.object({ TEST_PORT: z.coerce.number({ error: 'must be a port' }) }).transform((env) => ({ port: env.TEST_PORT })),
    module: (context) => ({ module: TestModule, controllers: [GreetingsController], providers: [{ provide: CONTEXT, useValue: context }] }),
    ...over,
  });
  const start = async (over: Partial<ServiceDefinition<{ port: number }>>, name: ServiceName = 'gate', env: Environment = environment) => {
    const service = await startService(definition(name, over), env);
    running.push(service);
    return service;
  };
  const edge = (): Promise<Bus> => connectBus({ service: 'runner-gateway', url: nats.url, user: 'runner-gateway', password: 'pw' });

  beforeAll(async () => {
    postgres = await startTestPostgres();
    nats = await startTestNats({ users: serviceNames.map((user) => ({ user, password: 'pw', permissions: natsPermissions(user) })) });
    const database = await postgres.createDatabase({ migrated: true });
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-kit-'));
    generateKekFile(path.join(folder, 'kek'));
    for (const name of serviceNames) {
      const secrets = { database_url: testServiceUrl(database.url, name), nats_url: nats.url, nats_user: name, nats_password: 'pw' };
      fs.writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(secrets), { mode: 0o600 });
    }
    environment = {
      FLUIDBOX_SECRETS_DIR: folder,
      FLUIDBOX_KEK_FILE: path.join(folder, 'kek'),
      FLUIDBOX_LOG_LEVEL: 'silent',
      TEST_PORT: '0',
    };
  });
  afterEach(async () => {
    for (const service of running.splice(0)) await service.stop();
    steps.length = 0;
  });
  afterAll(async () => {
    await nats.stop();
    await postgres.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  describe('over HTTP', () => {
    const serve = () => start({ http: ({ port }) => ({ port, address: '127.0.0.1', bodyBytesMax: 1_000 }) });
    const post = (url: string | null, body: string, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
      fetch(`${url}/greetings`, { method: 'POST', body, headers });

    it('serves its controllers with request id and trace, which its own requests carry on', async () => {
      const { url } = await serve();
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const response = await fetch(`${url}/greetings`, { headers: { traceparent, 'x-request-id': 'mine' } });
      expect(response.headers.get('x-request-id')).toBe('mine');
      expect(await response.json()).toMatchObject({ service: 'gate', traceparent });
      expect(await (await post(url, '{"name":"ada"}')).json()).toEqual({ hello: 'ada' });
    });

    it('keeps the trace although a body was read before', async () => {
      const { url } = await serve();
      const response = await post(url, '{"name":"x"}');
      expect(response.status).toBe(422);
      const trace = response.headers.get('traceparent')?.split('-')[1];
      expect(await response.json()).toMatchObject({ trace_id: trace });
    });

    it.each([
      ['a wrong field', '{"name":"x"}', 422, { code: 'unprocessable', errors: [{ pointer: '/name' }] }],
      ['an unknown field', '{"name":"ada","x":1}', 422, { code: 'unprocessable' }],
      ['a key that reaches into prototypes', '{"name":"ada","__proto__":{"x":1}}', 422, { code: 'unprocessable' }],
      ['no JSON', '{', 400, { code: 'invalid_request' }],
      ['a body over the limit', JSON.stringify({ name: 'x'.repeat(2_000) }), 413, { code: 'payload_too_large' }],
      ['a problem', '{"name":"problem"}', 409, { code: 'stale_version', version: 3 }],
      ['a bug', '{"name":"bug"}', 500, { code: 'internal' }],
    ])('answers %s with a problem document', async (_what, body, status, document) => {
      const { url } = await serve();
      const response = await post(url, body);
      expect(response.status).toBe(status);
      expect(response.headers.get('content-type')).toContain('application/problem+json');
      const text = await response.text();
      expect(JSON.parse(text)).toMatchObject({ status, instance: '/greetings', ...document });
      expect(text).not.toContain('secret detail');
    });

    it('lets nobody keep an answer, nor a connection by a request that never arrives', async () => {
      const module = { module: TestModule };
      const app = await createHttpApplication(module, { port: 0, address: '127.0.0.1', bodyBytesMax: 1_000 }, pino({ level: 'silent' }), {
        notReady: async () => undefined,
      });
      expect((app.getHttpServer() as Server).requestTimeout).toBe(60_000);
      expect((app.getHttpServer() as Server).headersTimeout).toBeLessThanOrEqual(60_000);
      await app.close();
      const { url } = await serve();
      for (const response of [await fetch(`${url}/greetings`), await post(url, '{"name":"x"}'), await fetch(`${url}/nowhere`)])
        expect(response.headers.get('cache-control')).toBe('no-store');
    });

    it('answers an unknown media type with 415 and an unknown path with 404', async () => {
      const { url } = await serve();
      expect((await post(url, '<a/>', { 'content-type': 'application/xml' })).status).toBe(415);
      const missing = await fetch(`${url}/nothing`);
      expect([missing.status, ((await missing.json()) as { code: string }).code]).toEqual([404, 'not_found']);
    });

    it('is ready while its parts are there, and only alive while NATS is away', async () => {
      const { url } = await serve();
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
      await nats.restart({
        whileDown: async () => {
          await until(async () => (await fetch(`${url}/readyz`)).status === 503);
          expect((await fetch(`${url}/healthz`)).status).toBe(200);
        },
      });
      await until(async () => (await fetch(`${url}/readyz`)).status === 200);
    });

    it('is not held up by a request that never ends', async () => {
      const { url } = await start({
        http: ({ port }) => ({ port, address: '127.0.0.1', bodyBytesMax: 1_000 }),
        module: (context) => ({
          module: TestModule,
          controllers: [HangingController],
          providers: [{ provide: CONTEXT, useValue: context }],
        }),
      });
      const hanging = fetch(`${url}/hang`).catch((error: Error) => error.name);
      await until(() => hangs > 0);
      await running.pop()?.stop();
      expect(await hanging).toBe('TypeError');
    });
  });

  it('starts in order and stops in reverse', async () => {
    const bus = await edge();
    const service = await start({
      subscriptions: () => {
        steps.push('subscribe');
        return [subscribe(RequestPermission, async () => ({ status: 'decided', answer: { decision: 'allow' } }))];
      },
      lifecycle: () => ({
        start: async () => void steps.push('start'),
        stop: async () => {
          const answer = await bus.request(RequestPermission, {
            run_id,
            org,
            generation: 1,
            tool_call_id: 'a' as never,
            tool: 'T',
            input: {},
            mended: false,
          });
          steps.push(`stop while still answering ${answer.status}`);
        },
      }),
    });
    await service.stop();
    expect(steps).toEqual(['subscribe', 'start', 'stop while still answering decided']);
    await expect(
      bus.request(RequestPermission, { run_id, org, generation: 1, tool_call_id: 'a' as never, tool: 'T', input: {}, mended: false }),
    ).rejects.toMatchObject({ code: 'unavailable' });
    await bus.close();
  });

  it('publishes what it commits; others apply it, are woken by it and follow it', async () => {
    const contexts = new Map<ServiceName, ServiceContext>();
    const heard: string[] = [];
    const followed: string[] = [];
    const module = (context: ServiceContext) => {
      contexts.set(context.name, context);
      return { module: TestModule, providers: [{ provide: CONTEXT, useValue: context }] };
    };
    await start({ module }, 'runs');
    await start(
      {
        module,
        onLog: () => (message) => heard.push(message.stream),
        followers: () => [
          {
            name: 'gate.test',
            categories: ['run'],
            async handle(events) {
              for (const event of events) followed.push(`${event.type} ${event.seq}`);
            },
          },
        ],
      },
      'gate',
    );
    const runs = contexts.get('runs');
    const gate = contexts.get('gate');
    if (runs === undefined || gate === undefined) throw new Error('not started');
    const stream = { category: 'run' as const, id: runs.ids.uuid(), org: 'default' };
    const fold = { initial: () => 0, evolve: (count: number) => count + 1 };
    const data = { deadline_at: '2030-01-01T00:00:00.000Z', reason: 'wall_clock' as const };
    await runs.ledger.decide(fold, stream, () => ({
      events: [{ type: 'run.quiesce_requested', data, actor: 'service:runs' }],
      result: null,
    }));
    await until(() => heard.length === 1 && followed.length === 1);
    expect(followed).toEqual(['run.quiesce_requested 1']);
    expect((await gate.ledger.state(fold, stream)).version).toBe(1);
    await runs.ledger.record(stream, [{ type: 'run.quiesce_requested', data, actor: 'service:runs' }]);
    // The cached fold moves without a read.
    await until(async () => (await gate.ledger.state(fold, stream)).version === 2);
    await until(() => followed.length === 2);
  });

  it('stops also while NATS is away', async () => {
    const service = await start({
      subscriptions: () => [subscribe(RequestPermission, async () => ({ status: 'decided', answer: { decision: 'allow' } }))],
    });
    await nats.restart({
      whileDown: async () => {
        await service.stop();
      },
    });
  });

  describe('refuses to start', () => {
    const failure = async (name: ServiceName, env: Environment, over: Partial<ServiceDefinition<{ port: number }>> = {}): Promise<string> =>
      start(over, name, env).then(
        () => 'it started',
        (error: Error) => error.message,
      );

    it('with a wrong setting, naming it', async () => {
      expect(await failure('gate', { ...environment, TEST_PORT: 'many' })).toMatch(
        /gate is not configured:\n {2}TEST_PORT: must be a port/,
      );
    });
    it('without secrets, without a KEK where one is needed, and with a KEK that others can read', async () => {
      expect(await failure('gate', { TEST_PORT: '0' })).toMatch(/FLUIDBOX_SECRETS_FILE/);
      expect(await failure('gate', { ...environment, FLUIDBOX_KEK_FILE: undefined })).toMatch(/gate: set FLUIDBOX_KEK_FILE/);
      const open = path.join(folder, 'open-kek');
      fs.writeFileSync(open, randomBytes(32).toString('hex'), { mode: 0o644 });
      expect(await failure('gate', { ...environment, FLUIDBOX_KEK_FILE: open })).toMatch(/open-kek/);
      expect(await failure('runner-gateway', { ...environment, FLUIDBOX_KEK_FILE: undefined })).toBe('it started');
    });
    it('when its own start fails, and then leaves nothing behind', async () => {
      const reason = await failure('gate', environment, {
        subscriptions: () => [subscribe(RequestPermission, async () => ({ status: 'decided', answer: { decision: 'allow' } }))],
        lifecycle: () => ({
          start: () => Promise.reject(new Error('recovery failed')),
          stop: async () => void steps.push('stopped'),
        }),
      });
      expect(reason).toBe('recovery failed');
      expect(steps).toEqual(['stopped']);
      const bus = await edge();
      await expect(
        bus.request(RequestPermission, { run_id, org, generation: 1, tool_call_id: 'a' as never, tool: 'T', input: {}, mended: false }),
      ).rejects.toMatchObject({ code: 'unavailable' });
      await bus.close();
    });
  });

  it('reads a variable from the file that X_FILE names', async () => {
    const file = path.join(folder, 'port');
    fs.writeFileSync(file, '0\n');
    await expect(start({}, 'gate', { ...environment, TEST_PORT: undefined, TEST_PORT_FILE: file })).resolves.toMatchObject({
      name: 'gate',
    });
  });

  it('gives a service without KEK a keyring that opens only what was granted', async () => {
    let context: ServiceContext | undefined;
    const module = (given: ServiceContext) => {
      context = given;
      return { module: TestModule };
    };
    await start({ module }, 'scheduler');
    await expect(context?.keyring.keysOf('run-x')).rejects.toMatchObject({ code: 'forbidden' });
    const given = context?.granted?.grant('run-x', { rest: randomBytes(32).toString('base64'), salt: randomBytes(32).toString('base64') });
    await expect(context?.keyring.keysOf('run-x')).resolves.toBe(given);
  });

  it('uses Heartbeat only through the call map', async () => {
    // A service asks what the map gives it; NATS refuses the rest, and the caller hears of it as a problem.
    let context: ServiceContext | undefined;
    await start(
      {
        module: (given) => {
          context = given;
          return { module: TestModule };
        },
      },
      'approvals',
    );
    await expect(context?.bus.request(Heartbeat, { run_id, org, generation: 1 }, { timeoutMs: 300 })).rejects.toBeInstanceOf(Problem);
  });
});

let hangs = 0;
@Controller('hang')
class HangingController {
  @Get()
  hang() {
    hangs += 1;
    return new Promise(() => undefined);
  }
}
