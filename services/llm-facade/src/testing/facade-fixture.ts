import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { type EventDraft, type EventType, harnesses, RunSpec, runStream, type ServiceName, streamNameOf } from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore, type Ledger } from '@fluidbox/event-store';
import { accountChanges, runFold } from '@fluidbox/run-stream';
import { createRunTokenVerifier, fieldDigests, generateSigningKey, kekFromBytes, signRunToken } from '@fluidbox/seal';
import { createdRun, fakeClock, sequentialIds } from '@fluidbox/testing';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { orgUpstreams } from '../adapters/org-upstreams';
import { specReader } from '../adapters/run-specs';
import { REQUESTS } from '../adapters/tokens';
import { createUpstream, type UpstreamOptions } from '../adapters/upstream';
import { upstreamKeys } from '../adapters/upstream-keys';
import type { Organisations, Ports, Settings } from '../app/ports';
import { RecentLimits } from '../app/recent-limits';
import type { RequestsInFlight } from '../app/requests-in-flight';
import { ReservationQueue } from '../app/reservation-queue';
import { dialects } from '../domain/dialects';
import { facadeOn } from '../llm-facade.module';
import { memoryAccounts } from './memory-accounts';
import { memoryUpstreams } from './memory-upstreams';

const runId = '0198c0de-0000-7000-8000-000000000001';
const stream = runStream(runId, 'default');
export const providerKey = 'provider-key';
const digest = `sha256:${'0a'.repeat(32)}`;
const started = '2026-11-29T20:00:00.000Z';

/** A frozen spec of a run on the Claude harness. */
export function specOf(
  change: {
    budgets?: Partial<RunSpec['budgets']>;
    coverage?: string;
    guards?: Record<string, number>;
    priced?: boolean;
    dialect?: RunSpec['harness']['dialect'];
  } = {},
): RunSpec {
  return RunSpec.parse({
    spec_version: 1,
    run_id: runId,
    org: 'default',
    created_at: started,
    agent: { id: runId, name: 'fixer', revision: 1 },
    harness: {
      id: 'claude-agent-sdk',
      image: 'claude-runner',
      dialect: change.dialect ?? 'anthropic_messages',
      tool_names: { Task: 'Agent' },
      no_effect_tools: [],
      refusal: { requiresErrorFlag: true, prefixes: ['<tool_use_error>'] },
      compared_fields: { Bash: ['command'] },
      environment: {},
    },
    runner_digest: digest,
    model: 'claude-haiku-4-5',
    task_digest: digest,
    system_prompt_digest: null,
    policy: {
      name: 'default',
      version: 1,
      digest,
      source: '',
      document: { coverage: change.coverage ?? 'enforce', ...(change.guards === undefined ? {} : { guards: change.guards }) },
    },
    workspace: { kind: 'scratch' },
    autonomy: 'supervised',
    trust_tier: 'trusted',
    budgets: { max_wall_clock_secs: 1_800, max_tokens: 100_000, max_cost_micro_usd: 1_000_000, max_tool_calls: 100, ...change.budgets },
    tool_surface: ['Bash', 'Read', 'Agent'],
    price_table: {
      version: 'test',
      digest,
      price: change.priced === false ? null : { input: 1_000_000, output: 10_000_000, cache_read: 100_000, cache_write: 1_250_000 },
    },
    invocation: { kind: 'api', principal: 'admin' },
  });
}

/** The same on the Codex harness. */
export function codexSpec(change: Parameters<typeof specOf>[0] = {}): RunSpec {
  const spec = specOf({ ...change, dialect: 'openai_responses' });
  const row = harnesses.codex;
  const harness = {
    ...spec.harness,
    id: row.id,
    image: row.image,
    tool_names: row.toolNames,
    call_form: row.callForm,
    text_tools: row.textTools,
    no_effect_tools: row.noEffectTools,
    refusal: row.refusal,
    compared_fields: row.comparedFields,
  };
  return RunSpec.parse({ ...spec, harness, model: 'gpt-5.5', tool_surface: ['Bash', 'Edit', 'BashOutput'] });
}

export type Respond = (request: http.IncomingMessage, body: string, response: http.ServerResponse) => void | Promise<void>;

/** A provider that answers as each test wants; it remembers what it saw. */
export async function startProvider() {
  const seen: { path: string; headers: http.IncomingHttpHeaders; body: Record<string, unknown>; closed: Promise<unknown> }[] = [];
  let respond: Respond = (_request, _body, response) => void response.end();
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    seen.push({ path: request.url ?? '', headers: request.headers, body: JSON.parse(body), closed: once(response, 'close') });
    await respond(request, body, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    answers: (next: Respond) => {
      respond = next;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
export type Provider = Awaited<ReturnType<typeof startProvider>>;

const draft = (type: EventType, data: Record<string, unknown>, content?: unknown) =>
  ({ type, actor: 'service:test', data, ...(content === undefined ? {} : { content }) }) as unknown as EventDraft;

/** The real facade over HTTP on a real ledger in memory; `runs` and `gate` write from ledgers of their own, as other processes do. */
export async function startFacade(
  upstreamUrl: string | null,
  options: {
    spec?: RunSpec;
    settings?: Partial<Settings>;
    timeouts?: Pick<UpstreamOptions, 'firstByteMs' | 'idleMs'>;
    ledger?: (ledger: Ledger) => Ledger;
    organisations?: Partial<Organisations>;
  } = {},
) {
  const spec = options.spec ?? specOf();
  const clock = fakeClock(started);
  const ids = sequentialIds();
  const store = createMemoryStore();
  const keyring = createKekKeyring({ store, kek: kekFromBytes(randomBytes(32)), clock });
  const ledgerOf = (service: ServiceName) => createLedger({ store, keyring, clock, ids, service });
  const [runs, gate, own] = [ledgerOf('runs'), ledgerOf('gate'), ledgerOf('llm-facade')];
  const key = generateSigningKey();
  const specDigest = await store.putDocument(Buffer.from(JSON.stringify(spec)));
  const grant = (generation: number, validUntil: string) =>
    runs.decide(runFold, stream, () => ({
      events: [draft('lease.granted', { generation, valid_until: validUntil })],
      result: null,
      setGeneration: generation,
    }));

  await runs.decide(runFold, stream, () => ({
    createKeys: keyring.create(`run-${runId}`),
    result: null,
    events: [
      draft(
        'session.created',
        createdRun(runId, {
          harness: spec.harness.id,
          model: spec.model,
          spec_digest: specDigest,
          budgets: spec.budgets,
          invoked_by: 'admin',
        }),
        { task: 't', system_prompt: null },
      ),
    ],
  }));
  await grant(1, '2026-11-29T20:15:00.000Z');
  await runs.record(stream, [
    draft('session.status_changed', {
      from: 'initializing',
      to: 'running',
      reason: 'sandbox_started',
      deadline_at: '2026-11-29T20:30:00.000Z',
    }),
  ]);

  const problems: string[] = [];
  const logged: string[] = [];
  const note = (fields: object, message: string): void => {
    problems.push(message);
    logged.push(inspect(fields, { depth: 8 }));
  };
  const log = { warn: note, error: note };
  const accounts = memoryAccounts(store);
  const deployed = new Map(
    upstreamUrl === null
      ? []
      : dialects.map(({ id, provider }) => [
          id,
          { upstream: createUpstream({ baseUrl: upstreamUrl, provider, key: providerKey, ...options.timeouts }), key: providerKey },
        ]),
  );
  const organisations: Organisations = {
    table: memoryUpstreams(),
    keys: upstreamKeys(kekFromBytes(randomBytes(32))),
    privateHosts: ['127.0.0.1'],
    ...options.organisations,
  };
  const ports: Ports = {
    ledger: options.ledger?.(own) ?? own,
    tokens: createRunTokenVerifier(key.publicKeys),
    clock,
    ids,
    specOf: specReader(store),
    upstreams: orgUpstreams({ own: deployed, organisations, clock, log, timeouts: options.timeouts }),
    organisations,
    queue: new ReservationQueue(),
    openRuns: async () => [stream],
    accounts,
    recentLimits: new RecentLimits(accounts.limitedOf),
    log,
    settings: { reservationWaitMs: 20_000, bodyBytesMax: 1024 * 1024, bookingPatienceMs: 0, ...options.settings },
  };
  const app = await NestFactory.create<NestFastifyApplication>(facadeOn(ports), new FastifyAdapter(), { logger: false });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}/internal/llm/`;
  const tokenOf = (change: { audience?: 'llm' | 'tool'; generation?: number } = {}) =>
    signRunToken(key, {
      audience: change.audience ?? 'llm',
      runId,
      org: 'default',
      generation: change.generation ?? 1,
      jti: 'j',
      expiresAt: new Date('2026-11-29T22:00:00.000Z'),
    });
  const token = await tokenOf();

  return {
    url,
    ports,
    stream,
    clock,
    store,
    /** Of another facade on the same store. */
    otherLedger: ledgerOf('llm-facade'),
    problems,
    /** The same with everything that stood beside the message. */
    logged,
    grant,
    tokenOf,
    post: (body: unknown, init: { path?: string; headers?: Record<string, string>; signal?: AbortSignal; method?: string } = {}) =>
      fetch(url + (init.path ?? 'v1/messages'), {
        method: init.method ?? 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': token, ...init.headers },
        ...(init.method === 'GET' ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        ...(init.signal === undefined ? {} : { signal: init.signal }),
      }),
    /** What the gate does with a call, unheard by the facade's cache. */
    gateDecides: async (
      call: string,
      verdict: 'allow' | 'deny' = 'allow',
      input: Record<string, unknown> = { command: 'ls' },
      tool = 'Bash',
    ) => {
      const fields = fieldDigests(await keyring.keysOf(streamNameOf(stream)), input, spec.harness.compared_fields[tool]);
      await gate.record(stream, [
        draft(
          'tool.requested',
          {
            tool_call_id: call,
            tool,
            input_digest: digest,
            generation: 1,
            ...(fields === undefined ? {} : { input_fields: fields }),
          },
          { input, summary: '' },
        ),
        draft(
          'tool.decision',
          { tool_call_id: call, tool, verdict, source: 'policy', input_digest: digest, code: 'rule' },
          { reason: '', message: '' },
        ),
      ]);
    },
    /** The run's end as `runs` writes it, with what is open charged in full. */
    endRun: () =>
      runs.decide(runFold, stream, (run) => {
        const events = [
          ...[...run.reservations.values()].map(({ reservationId, tokens, costMicroUsd }) =>
            draft('budget.settled', {
              reservation_id: reservationId,
              tokens,
              cost_micro_usd: costMicroUsd,
              basis: 'pessimistic',
              lost: true,
            }),
          ),
          draft('session.status_changed', { from: 'finalizing', to: 'failed', reason: 'collected', outcome: 'failed' }),
        ];
        return { events, result: null, closes: true, accounts: accountChanges(run, stream.org, events) };
      }),
    cancel: () =>
      runs.record(stream, [
        draft('session.status_changed', { from: 'running', to: 'cancelling', reason: 'cancel_requested', outcome: 'cancelled' }),
      ]),
    /** The facade's own events so far. */
    events: async () =>
      (await store.read(stream)).filter(
        (event) => !['session.created', 'lease.granted', 'session.status_changed', 'tool.requested', 'tool.decision'].includes(event.type),
      ),
    types: async () => (await store.read(stream)).slice(3).map((event) => event.type),
    idle: () => app.get<RequestsInFlight>(REQUESTS).drain(60_000),
    stop: async () => {
      await app.get<RequestsInFlight>(REQUESTS).drain(0);
      app.getHttpServer().closeAllConnections();
      await app.close();
      await ports.upstreams.close();
    },
  };
}
export type Facade = Awaited<ReturnType<typeof startFacade>>;

/** Events of a streamed answer, as the provider writes them. */
export const sse = (events: readonly Record<string, unknown>[]): string =>
  events.map((event) => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`).join('');
export const opening = (input = 60): Record<string, unknown> => ({
  type: 'message_start',
  message: { id: 'msg_1', content: [], usage: { input_tokens: input, output_tokens: 1 } },
});
export const words = (text: string): Record<string, unknown> => ({
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text },
});
export const call = (id: string, name = 'Bash', index = 0): Record<string, unknown>[] => [
  { type: 'content_block_start', index, content_block: { type: 'tool_use', id, name, input: {} } },
  { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: '{"command":"ls"}' } },
  { type: 'content_block_stop', index },
];
export const ending = (output = 400, reason = 'tool_use'): Record<string, unknown>[] => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: output } },
  { type: 'message_stop' },
];
export const streams =
  (events: readonly Record<string, unknown>[]): Respond =>
  (_request, _body, response) => {
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'request-id': 'req_1',
      'set-cookie': 'a=b',
      'anthropic-ratelimit-requests-remaining': '7',
      server: 'x',
    });
    response.end(sse(events));
  };
