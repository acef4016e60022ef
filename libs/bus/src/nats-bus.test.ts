import {
  callMapEntries,
  FreezeRunSpec,
  Heartbeat,
  type LogMessage,
  natsPermissions,
  Problem,
  RequestPermission,
  type ServiceName,
  serviceNames,
} from '@fluidbox/contracts';
import { startTestNats, type TestNats, until } from '@fluidbox/testing';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { Bus } from './api';
import { type BusOptions, connectBus } from './nats-bus';

const run_id = '00000000-0000-7000-8000-000000000001' as never;
const org = 'default' as never;
const beat = { run_id, org, generation: 1 };
const logMessage = (over: Partial<LogMessage> = {}): LogMessage => ({
  stream: `run-${run_id}`,
  category: 'run',
  org,
  id: run_id,
  firstSeq: 1,
  lastSeq: 1,
  generation: 1,
  events: [{ seq: 1, globalPosition: 1, body: '{}' }],
  ...over,
});

describe('the bus over NATS', () => {
  let nats: TestNats;
  const buses: Bus[] = [];
  const warnings: string[] = [];
  const busOf = async (service: ServiceName, options: Partial<BusOptions> = {}): Promise<Bus> => {
    const bus = await connectBus({
      service,
      url: nats.url,
      user: service,
      password: 'pw',
      onWarning: (message, error) => void warnings.push(`${message} ${String(error ?? '')}`),
      ...options,
    });
    buses.push(bus);
    return bus;
  };
  /** What every bus listens to is known to the server. */
  const flushed = () => Promise.all(buses.map((bus) => bus.flush()));
  beforeAll(async () => {
    const users = serviceNames.map((name) => ({ user: name, password: 'pw', permissions: natsPermissions(name) }));
    nats = await startTestNats({ users: [...users, { user: 'operator', password: 'pw' }] });
  });
  afterEach(async () => {
    await Promise.all(buses.splice(0).map((bus) => bus.close()));
    warnings.length = 0;
  });
  afterAll(() => nats.stop());

  describe('request and reply', () => {
    it('carries the value, the organisation, the principal and the trace', async () => {
      const runs = await busOf('runs');
      const seen: unknown[] = [];
      runs.respond(Heartbeat, async (request, meta) => {
        seen.push(request, meta);
        return { ok: true, action: 'quiesce' };
      });
      const edge = await busOf('runner-gateway');
      await flushed();
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      await expect(edge.request(Heartbeat, beat, { meta: { principal: 'ada', traceparent } })).resolves.toEqual({
        ok: true,
        action: 'quiesce',
      });
      expect(seen).toEqual([beat, { org: 'default', principal: 'ada', traceparent }]);
    });

    it('passes the trace on to what the handler asks in turn', async () => {
      const [specs, runs, edge] = [await busOf('run-specs'), await busOf('runs'), await busOf('runner-gateway')];
      let trace: string | null = null;
      specs.respond(FreezeRunSpec, async (_request, meta) => {
        trace = meta.traceparent;
        throw new Problem('not_found', 'no such agent');
      });
      runs.respond(Heartbeat, async () => {
        const principal = { name: 'ada', role: 'admin' as const, org };
        await runs.request(FreezeRunSpec, {
          run_id,
          org,
          salt: 'x',
          principal,
          invocation: 'api',
          body: { agent: 'a', task: 'b' } as never,
        });
        return { ok: true, action: null };
      });
      await flushed();
      await expect(edge.request(Heartbeat, beat, { meta: { traceparent: '00-trace' } })).rejects.toMatchObject({ code: 'not_found' });
      expect(trace).toBe('00-trace');
    });

    it('throws the problem that the handler threw, with its fields', async () => {
      const runs = await busOf('runs');
      const thrown = new Problem('stale_lease', 'generation: this is an older one', {
        errors: [{ pointer: '/generation', detail: 'old' }],
        extra: { current: 2 },
      });
      runs.respond(Heartbeat, async () => {
        throw thrown;
      });
      const edge = await busOf('runner-gateway');
      await flushed();
      const problem = await edge.request(Heartbeat, beat).catch((error: unknown) => error);
      expect(problem).toBeInstanceOf(Problem);
      expect(problem).toMatchObject({ code: 'stale_lease', message: thrown.message, errors: thrown.errors, extra: thrown.extra });
    });

    it('answers a bug with `internal` and keeps its message to itself', async () => {
      const runs = await busOf('runs');
      runs.respond(Heartbeat, async () => {
        throw new Error('secret detail');
      });
      const edge = await busOf('runner-gateway');
      await flushed();
      const problem = (await edge.request(Heartbeat, beat).catch((error: unknown) => error)) as Problem;
      expect(problem.code).toBe('internal');
      expect(problem.message).not.toContain('secret detail');
      expect(warnings.join()).toContain('secret detail');
    });

    it('refuses on both sides what does not fit the schema', async () => {
      const runs = await busOf('runs');
      runs.respond(Heartbeat, async () => ({ ok: true, action: 'explode' }) as never);
      const edge = await busOf('runner-gateway');
      await flushed();
      await expect(edge.request(Heartbeat, { ...beat, generation: 'one' as never })).rejects.toMatchObject({
        code: 'unprocessable',
        errors: [{ pointer: '/generation' }],
      });
      await expect(edge.request(Heartbeat, beat)).rejects.toMatchObject({ code: 'internal' });
    });

    it('waits for a service that is just starting', async () => {
      const [edge, runs] = [await busOf('runner-gateway'), await busOf('runs')];
      await flushed();
      const answered = edge.request(Heartbeat, beat);
      runs.respond(Heartbeat, async () => ({ ok: true, action: null }));
      await expect(answered).resolves.toEqual({ ok: true, action: null });
    });

    it('answers `unavailable` when nobody comes to run that service within the timeout', async () => {
      const edge = await busOf('runner-gateway');
      await flushed();
      await expect(edge.request(Heartbeat, beat, { timeoutMs: 2_000 })).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('no process of that service'),
      });
    });

    it('answers `unavailable` when the reply takes too long', async () => {
      const runs = await busOf('runs');
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      runs.respond(Heartbeat, async () => {
        await held;
        return { ok: true, action: null };
      });
      const edge = await busOf('runner-gateway');
      await flushed();
      await expect(edge.request(Heartbeat, beat, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'unavailable' });
      release();
    });

    it('answers `overloaded` beyond its bound, and serves again when there is room', async () => {
      const runs = await busOf('runs', { inFlightMax: 1 });
      let release = (): void => undefined;
      let started = false;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      runs.respond(Heartbeat, async () => {
        started = true;
        await held;
        return { ok: true, action: null };
      });
      const edge = await busOf('runner-gateway');
      await flushed();
      const first = edge.request(Heartbeat, beat);
      await until(() => started);
      await expect(edge.request(Heartbeat, beat)).rejects.toMatchObject({ code: 'overloaded' });
      release();
      await expect(first).resolves.toMatchObject({ ok: true });
      await expect(edge.request(Heartbeat, beat)).resolves.toMatchObject({ ok: true });
    });

    it('serves each request once when several processes of the service run', async () => {
      const counts = [0, 0];
      for (const index of [0, 1]) {
        const runs = await busOf('runs');
        runs.respond(Heartbeat, async () => {
          counts[index] = (counts[index] ?? 0) + 1;
          return { ok: true, action: null };
        });
      }
      const edge = await busOf('runner-gateway');
      await flushed();
      await Promise.all(Array.from({ length: 40 }, () => edge.request(Heartbeat, beat)));
      expect((counts[0] ?? 0) + (counts[1] ?? 0)).toBe(40);
    });

    it('finishes what runs before a drained subscription ends', async () => {
      const runs = await busOf('runs');
      let release = (): void => undefined;
      let started = false;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const subscription = runs.respond(Heartbeat, async () => {
        started = true;
        await held;
        return { ok: true, action: null };
      });
      const edge = await busOf('runner-gateway');
      await flushed();
      const answered = edge.request(Heartbeat, beat);
      await until(() => started);
      const drained = subscription.drain();
      release();
      await expect(answered).resolves.toMatchObject({ ok: true });
      await drained;
      await expect(edge.request(Heartbeat, beat)).rejects.toMatchObject({ code: 'unavailable' });
    });
  });

  describe('the log', () => {
    it('reaches every process that follows the category, and a watcher of that run only', async () => {
      const [runs, gate, edge] = [await busOf('runs'), await busOf('gate'), await busOf('runner-gateway')];
      const seen = { gate: [] as number[], run: [] as number[], other: [] as number[] };
      gate.followLog(['run'], (message) => seen.gate.push(message.lastSeq));
      edge.followStream('run', org, run_id, (message) => seen.run.push(message.lastSeq));
      edge.followStream('run', org, '00000000-0000-7000-8000-00000000ffff', (message) => seen.other.push(message.lastSeq));
      await flushed();
      runs.publishLog(logMessage());
      runs.publishLog(logMessage({ firstSeq: 2, lastSeq: 3 }));
      await until(() => seen.gate.length === 2 && seen.run.length === 2);
      expect(seen).toEqual({ gate: [1, 3], run: [1, 3], other: [] });
    });

    it('tells those who follow in the publishing process once, in order, until they drain', async () => {
      const [runs, gate] = [await busOf('runs'), await busOf('gate')];
      const seen = { own: [] as number[], watcher: [] as number[], agents: [] as number[], gate: [] as number[] };
      const own = runs.followLog(['run'], (message) => seen.own.push(message.lastSeq));
      runs.followLog(['run'], () => {
        throw new Error('a bug in one handler');
      });
      runs.followStream('run', org, run_id, (message) => seen.watcher.push(message.lastSeq));
      runs.followStream('run', org, '00000000-0000-7000-8000-00000000ffff', (message) => seen.watcher.push(message.lastSeq));
      runs.followLog(['agent'], (message) => seen.agents.push(message.lastSeq));
      gate.followLog(['run'], (message) => seen.gate.push(message.lastSeq));
      await flushed();
      runs.publishLog(logMessage());
      expect(seen.own).toEqual([]);
      runs.publishLog(logMessage({ firstSeq: 2, lastSeq: 3 }));
      await until(() => seen.gate.length === 2 && seen.own.length === 2);
      await own.drain();
      runs.publishLog(logMessage({ firstSeq: 4, lastSeq: 4 }));
      await until(() => seen.gate.length === 3 && seen.watcher.length === 3);
      // An echo would have come before this answer of the server.
      await runs.flush();
      expect(seen).toEqual({ own: [1, 3], watcher: [1, 3, 4], agents: [], gate: [1, 3, 4] });
      expect(warnings.filter((warning) => warning.includes('a bug in one handler'))).toHaveLength(3);
    });

    it('carries only the range when the events are larger than 256 KiB', async () => {
      const [runs, gate] = [await busOf('runs'), await busOf('gate')];
      const seen: LogMessage[] = [];
      gate.followLog(['run'], (message) => seen.push(message));
      await flushed();
      runs.publishLog(logMessage({ lastSeq: 2, events: [{ seq: 2, globalPosition: 2, body: 'x'.repeat(300_000) }] }));
      runs.publishLog(logMessage({ firstSeq: 3, lastSeq: 3, events: [{ seq: 3, globalPosition: 3, body: 'x' }] }));
      await until(() => seen.length === 2);
      expect(seen.map(({ firstSeq, lastSeq, events }) => [firstSeq, lastSeq, events?.length ?? null])).toEqual([
        [1, 2, null],
        [3, 3, 1],
      ]);
    });

    it('captures each batch once in LOG, although it is published again', async () => {
      const [runs, projector] = [await busOf('runs'), await busOf('projector')];
      const id = '00000000-0000-7000-8000-00000000abcd';
      for (const bus of [runs, projector]) bus.publishLog(logMessage({ id, stream: `run-${id}`, lastSeq: 7 }));
      const operator = await connect({ servers: nats.url, user: 'operator', pass: 'pw' });
      const manager = await jetstreamManager(operator);
      const count = async () =>
        (await manager.streams.info('LOG', { subjects_filter: `fb.log.run.${org}.${id}` })).state.subjects?.[`fb.log.run.${org}.${id}`];
      await until(count);
      await projector.close();
      expect(await count()).toBe(1);
      await operator.close();
    });
  });

  describe('when the server goes away', () => {
    it('rejects `unavailable` within the timeout, and works again afterwards without anybody doing anything', async () => {
      const [runs, edge] = [await busOf('runs'), await busOf('runner-gateway')];
      runs.respond(Heartbeat, async () => ({ ok: true, action: null }));
      const followed: number[] = [];
      edge.followStream('run', org, run_id, (message) => followed.push(message.lastSeq));
      let reconnects = 0;
      edge.onReconnect(() => {
        reconnects += 1;
      });
      await flushed();
      await expect(edge.request(Heartbeat, beat)).resolves.toMatchObject({ ok: true });
      await nats.restart({
        whileDown: async () => {
          await until(() => !edge.connected && !runs.connected);
          // The server stays away until it has given up.
          await expect(edge.request(Heartbeat, beat, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'unavailable' });
        },
      });
      await until(() => edge.connected && runs.connected && reconnects === 1);
      await expect(edge.request(Heartbeat, beat)).resolves.toMatchObject({ ok: true });
      runs.publishLog(logMessage({ lastSeq: 9 }));
      await until(() => followed.includes(9));
    });

    it('waits for a short outage within the timeout, and holds back the wake-ups of that time', async () => {
      const [runs, edge] = [await busOf('runs'), await busOf('runner-gateway')];
      runs.respond(Heartbeat, async () => ({ ok: true, action: null }));
      const followed: number[] = [];
      edge.followStream('run', org, run_id, (message) => followed.push(message.lastSeq));
      await flushed();
      await edge.request(Heartbeat, beat);
      let answered: Promise<unknown> = Promise.resolve();
      await nats.restart({
        whileDown: async () => {
          await until(() => !edge.connected && !runs.connected);
          runs.publishLog(logMessage({ lastSeq: 42 }));
          answered = edge.request(Heartbeat, beat, { timeoutMs: 10_000 }).catch((error: Problem) => error.code);
        },
      });
      // The responder may come back a moment after the requester: both outcomes are honest, a lost request is not.
      expect([{ ok: true, action: null }, 'unavailable']).toContainEqual(await answered);
      await until(() => runs.connected);
    });
  });

  it('makes the log and the witness again after the server lost its disk, before anything is published to them', async () => {
    const [projector, runs] = [await busOf('projector'), await busOf('runs')];
    let reconnects = 0;
    projector.onReconnect(() => {
      reconnects += 1;
      projector.publishWitness(org, 'again', { seq: 2, hash: 'x', jws: 'y' });
    });
    await flushed();
    await nats.restart({
      wipe: true,
      whileDown: async () => {
        await until(() => !projector.connected);
        projector.publishWitness(org, 'held', { seq: 1, hash: 'x', jws: 'y' });
      },
    });
    await until(() => reconnects === 1 && runs.connected);
    runs.publishLog(logMessage({ lastSeq: 77 }));
    const operator = await connect({ servers: nats.url, user: 'operator', pass: 'pw' });
    const manager = await jetstreamManager(operator);
    await until(async () => (await manager.streams.info('LOG')).state.messages === 1);
    await until(async () => (await manager.streams.info('WITNESS')).state.messages === 2);
    await operator.close();
  });

  describe('permissions made from the call map', () => {
    it('lets no service send a command that the map does not give it', async () => {
      const [gate, approvals] = [await busOf('gate'), await busOf('approvals')];
      let asked = 0;
      gate.respond(RequestPermission, async () => {
        asked += 1;
        return { status: 'decided', answer: { decision: 'allow' } };
      });
      const request = { run_id, org, generation: 1, tool_call_id: 'a' as never, tool: 'Bash', input: {}, mended: false };
      await expect(approvals.request(RequestPermission, request, { timeoutMs: 300 })).rejects.toBeInstanceOf(Problem);
      expect(asked).toBe(0);
      const edge = await busOf('runner-gateway');
      await flushed();
      await expect(edge.request(RequestPermission, request)).resolves.toEqual({ status: 'decided', answer: { decision: 'allow' } });
      expect(asked).toBe(1);
    });

    it('lets only the owner of the streams configure them: a stream can capture and republish any subject', async () => {
      await busOf('projector');
      const ask = async (user: string, requests: readonly (readonly [api: string, body: object])[], timeout: number) => {
        const connection = await connect({ servers: nats.url, user, pass: 'pw', inboxPrefix: `_INBOX_${user}` });
        const answers = await Promise.all(
          requests.map(([api, body]) =>
            connection.request(`$JS.API.${api}`, JSON.stringify(body), { timeout }).then(
              (reply) => (reply.json<{ error?: unknown }>().error === undefined ? 'done' : 'refused'),
              () => 'no answer',
            ),
          ),
        );
        await connection.close();
        return answers;
      };
      for (const service of serviceNames.filter((name) => name !== 'projector')) {
        const answers = await ask(
          service,
          [
            ['STREAM.UPDATE.LOG', { name: 'LOG', subjects: ['fb.log.>', '_INBOX_scheduler.>'] }],
            ['STREAM.CREATE.LOG', { name: 'LOG', subjects: ['fb.cmd.>'] }],
            ['STREAM.UPDATE.WITNESS', { name: 'WITNESS', subjects: ['fb.cmd.>'] }],
            [`CONSUMER.CREATE.LOG.${service}`, { stream_name: 'LOG', config: { name: service, deliver_subject: 'fb.cmd.gate.x' } }],
          ],
          500,
        );
        expect({ service, answers }).toEqual({ service, answers: Array(4).fill('no answer') });
      }
      expect(await ask('projector', [['STREAM.INFO.LOG', {}]], 30_000)).toEqual(['done']);
    });

    it('lets no service answer for another', async () => {
      const approvals = await busOf('approvals');
      approvals.respond(RequestPermission, async () => ({ status: 'decided', answer: { decision: 'allow' } }));
      await until(() => warnings.some((warning) => warning.includes('permission')));
      const edge = await busOf('runner-gateway');
      await flushed();
      const request = { run_id, org, generation: 1, tool_call_id: 'a' as never, tool: 'Bash', input: {}, mended: false };
      await expect(edge.request(RequestPermission, request)).rejects.toMatchObject({ code: 'unavailable' });
    });

    it('lets no service publish a log that it does not append to, and no service read another one’s inbox', async () => {
      const projector = await busOf('projector');
      const seen: LogMessage[] = [];
      projector.followLog(['run'], (message) => seen.push(message));
      await flushed();
      const specs = await busOf('run-specs');
      specs.publishLog(logMessage({ lastSeq: 666 }));
      const thief = await connect({ servers: nats.url, user: 'run-specs', pass: 'pw' });
      const refused = new Promise<Error | null>((resolve) => {
        thief.subscribe('_INBOX_gateway.>', { callback: (error) => resolve(error) });
      });
      await expect(refused).resolves.toMatchObject({ name: 'PermissionViolationError' });
      await thief.close();
      const runs = await busOf('runs');
      runs.publishLog(logMessage({ lastSeq: 1 }));
      await until(() => seen.some((message) => message.lastSeq === 1));
      expect(seen.map((message) => message.lastSeq)).not.toContain(666);
    });

    it('lets every service of the map start, and only the projector witness', async () => {
      for (const service of serviceNames) await busOf(service);
      expect(serviceNames.filter((name) => callMapEntries[name].republishes === true)).toEqual(['projector']);
      const operator = await connect({ servers: nats.url, user: 'operator', pass: 'pw' });
      const witnessed = new Promise<string>((resolve) => {
        operator.subscribe('fb.witness.>', { callback: (_error, message) => resolve(message.string()) });
      });
      await operator.flush();
      buses[0]?.publishWitness(org, 'forged', { seq: 1, hash: 'x', jws: 'forged' });
      buses.at(-1)?.publishWitness(org, 'true', { seq: 1, hash: 'x', jws: 'true' });
      await expect(witnessed).resolves.toContain('"jws":"true"');
      await operator.close();
    });
  });

  it('refuses to start on a server with small messages, a wrong password or no server, and says which', async () => {
    const small = await startTestNats({ maxPayloadBytes: 1024 * 1024 });
    await expect(connectBus({ service: 'gate', url: small.url })).rejects.toThrow(/max_payload: 8MB/);
    await small.stop();
    await expect(connectBus({ service: 'gate', url: nats.url, user: 'gate', password: 'wrong' })).rejects.toThrow(
      /gate cannot use NATS at .*uthoriz/,
    );
    await expect(connectBus({ service: 'gate', url: small.url, startTimeoutMs: 300 })).rejects.toThrow(/gate cannot use NATS at/);
  });
});
