import { randomBytes } from 'node:crypto';
import {
  CreateSessionBody,
  type EventDraft,
  harnesses,
  Problem,
  RunSpec,
  runStream,
  type ServiceName,
  type TimelineEvent,
} from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore, type EventStore } from '@fluidbox/event-store';
import { createRunTokenVerifier, generateSigningKey, kekFromBytes, saltedDigest, signRunToken } from '@fluidbox/seal';
import { fakeClock, sequentialIds } from '@fluidbox/testing';
import { collectedDiff } from '../domain/collected-diff.fixture';
import { cancelRun } from './cancel-run';
import { createRun } from './create-run';
import { driveRun } from './drive-run';
import { runKeys, workspaceKey } from './hand-out-keys';
import { heartbeat } from './heartbeat';
import { Heartbeats } from './heartbeats';
import { launchRun } from './launch-run';
import type { Ports } from './ports';
import { renewLease } from './renew-lease';
import { reportEvent } from './report-event';
import { reportResult } from './report-result';

const digest = `sha256:${'a'.repeat(64)}`;
const org = 'default';
const ada = { name: 'ada', role: 'member', org } as const;
const body = (fields: Record<string, unknown> = {}) => CreateSessionBody.parse({ agent: 'fixer', task: 'fix the test', ...fields });

const never = (): never => {
  throw new Error('nothing is erased here');
};

/** The real use cases on a real ledger; only time, the freezing service and the scheduler are played by the test. */
function world() {
  const clock = fakeClock();
  const ids = sequentialIds();
  const memory = createMemoryStore();
  /** Set: the next append commits, and whoever waits for it never hears so, as when the connection breaks. */
  let loseNextAnswer = false;
  const store: EventStore = {
    ...memory,
    append: async (groups) => {
      const answers = await memory.append(groups);
      if (!loseNextAnswer) return answers;
      loseNextAnswer = false;
      throw new Problem('unavailable', 'the answer was lost');
    },
  };
  const keyring = createKekKeyring({ store, kek: kekFromBytes(randomBytes(32)), clock });
  const ledgerOf = (service: ServiceName) => {
    const ledger = createLedger({ store, keyring, clock, ids, service });
    store.onCommitted((message) => ledger.apply(message));
    return ledger;
  };
  const scheduler = ledgerOf('scheduler');
  const facade = ledgerOf('llm-facade');
  const stored = new Map<string, number>();
  const table = {
    store: async (beats: ReadonlyMap<string, number>) => beats.forEach((at, id) => void stored.set(id, at)),
    read: async (runId: string) => stored.get(runId) ?? null,
  };
  const signingKey = generateSigningKey();
  let freezes = 0;
  const ports: Ports = {
    ledger: ledgerOf('runs'),
    clock,
    ids,
    signToken: (grant) => signRunToken(signingKey, grant),
    heartbeats: new Heartbeats(table, clock.now().getTime()),
    heartbeatSilenceMs: 60_000,
    // Erasing has its own test, on real tables: erase-content.test.ts.
    erasures: { promise: never, open: never, destroy: never, done: never, promiseExpired: never },
    blobs: { remove: never },
    freeze: async (request) => {
      freezes += 1;
      const { id, image, dialect, toolNames, noEffectTools, refusal, environment, tools } = harnesses.scripted;
      const spec = RunSpec.parse({
        spec_version: 1,
        run_id: request.run_id,
        org: request.org,
        created_at: clock.now().toISOString(),
        agent: { id: request.run_id, name: 'fixer', revision: 1 },
        harness: { id, image, dialect, tool_names: toolNames, no_effect_tools: noEffectTools, refusal, environment },
        runner_digest: digest,
        model: 'none',
        task_digest: saltedDigest(Buffer.from(request.salt, 'base64'), request.body.task),
        system_prompt_digest: null,
        policy: { name: 'default', version: 1, digest, source: '', document: {} },
        workspace: { kind: 'scratch' },
        autonomy: 'supervised',
        trust_tier: 'trusted',
        budgets: { max_wall_clock_secs: 600, max_tokens: null, max_cost_micro_usd: null, max_tool_calls: null },
        tool_surface: tools,
        price_table: { version: '1', digest, price: null },
        invocation: { kind: request.invocation, principal: request.principal.name },
      });
      return { spec_digest: digest, spec, system_prompt: 'be brief' };
    },
  };
  const create = (key: string | null = null, principal: typeof ada | { name: string; role: 'member'; org: string } = ada, fields = {}) =>
    createRun(ports, { principal: principal as never, idempotency_key: key, body: body(fields), invocation: 'api' });
  const runOf = async (key: string | null = null) => {
    const { run_id } = await create(key);
    const run = { run_id, org } as never as { run_id: RunSpec['run_id']; org: RunSpec['org'] };
    const stream = runStream(run_id, org);
    const fact = (ledger: typeof scheduler, type: string, data: Record<string, unknown>, content?: unknown) =>
      ledger.record(stream, [
        { type, actor: 'service:test', data, ...(content === undefined ? {} : { content }) } as unknown as EventDraft,
      ]);
    return {
      run,
      stream,
      drive: () => driveRun(ports, stream, { atLeast: 0 }),
      launch: () => launchRun(ports, run),
      sandboxExited: (cause: string, stderr_tail: string) =>
        fact(scheduler, 'sandbox.exited', { generation: 1, sandbox_id: 's1', exit_code: null, signal: null, cause }, { stderr_tail }),
      facade: (type: string, data: Record<string, unknown>) => fact(facade, type, data),
      async start() {
        const launch = await launchRun(ports, run);
        // The scheduler is granted the keys in its launch answer; here it shares the keyring.
        await fact(scheduler, 'workspace.initialized', {
          kind: 'scratch',
          base_digest: digest,
          archive_digest: digest,
          archive_bytes: 7,
          files: 0,
          bytes: 0,
          skipped: 0,
        });
        await fact(scheduler, 'sandbox.started', {
          generation: launch.generation,
          provider: 'local',
          sandbox_id: 's1',
          runner_digest: digest,
          isolation: { namespaces: true, seccomp: true, unprivileged_uid: true, limits: 'cgroup2' },
        });
        await driveRun(ports, stream, { atLeast: 0 });
        return launch;
      },
      async collect() {
        await fact(scheduler, 'sandbox.exited', { generation: 1, sandbox_id: 's1', exit_code: 0, signal: null, cause: 'stopped' });
        await fact(scheduler, 'artifact.collected', collectedDiff(digest));
      },
      events: async () => (await store.read(stream)) as readonly TimelineEvent[],
      statuses: async () =>
        ((await store.read(stream)) as readonly TimelineEvent[]).flatMap((event) =>
          event.type === 'session.status_changed' ? [event.data.to] : [],
        ),
    };
  };
  const loseAnswer = () => {
    loseNextAnswer = true;
  };
  return { clock, ports, loseAnswer, store, accounts: memory.accounts, stored, signingKey, create, runOf, freezes: () => freezes };
}
const codeOf = async (refused: Promise<unknown>): Promise<string> => {
  const problem = await refused.then(
    () => 'accepted',
    (error: unknown) => error,
  );
  if (!(problem instanceof Problem)) throw problem;
  return problem.code;
};

describe('the life of a run', () => {
  it('goes from creation to its result, with every status once', async () => {
    const { ports, runOf } = world();
    const run = await runOf();
    await run.start();
    expect(await reportResult(ports, { ...run.run, generation: 1, result: { outcome: 'completed', summary: 'done\u0000' } })).toEqual({
      ok: true,
    });
    await run.drive();
    await run.collect();
    expect(await run.drive()).toBeNull();
    expect(await run.statuses()).toEqual(['provisioning', 'initializing', 'running', 'finalizing', 'completed']);
    const events = await run.events();
    expect(events.at(-1)).toMatchObject({
      type: 'run.result',
      data: { outcome: 'completed', reason: 'runner_result', diff_sha256: digest },
    });
    const intent = events.find((event) => event.type === 'session.status_changed' && event.data.to === 'finalizing');
    expect(await ports.ledger.content(run.stream, intent?.seq ?? 0, 'rest')).toEqual({ summary: 'done␀' });
    expect(await reportResult(ports, { ...run.run, generation: 1, result: { outcome: 'failed' } })).toEqual({
      ok: true,
      note: 'already terminal',
    });
  });

  it('ends a cancelled run after its runner left, and tells every beat to quiesce until then', async () => {
    const { ports, runOf } = world();
    const run = await runOf();
    await run.start();
    expect(await heartbeat(ports, { ...run.run, generation: 1 })).toEqual({ ok: true, action: null });
    expect(await cancelRun(ports, { ...run.run, principal: ada as never })).toEqual({ cancelled: true });
    expect(await cancelRun(ports, { ...run.run, principal: ada as never })).toEqual({ cancelled: false });
    for (const _beat of [1, 2]) expect(await heartbeat(ports, { ...run.run, generation: 1 })).toEqual({ ok: true, action: 'quiesce' });
    await run.collect();
    expect(await run.drive()).toBeNull();
    expect(await run.statuses()).toEqual(['provisioning', 'initializing', 'running', 'cancelling', 'finalizing', 'cancelled']);
  });

  it('ends over budget although the runner says it completed', async () => {
    const { ports, runOf } = world();
    const run = await runOf();
    await run.start();
    await run.facade('budget.exceeded', { budget: 'tokens', limit: 1, spent: 2 });
    expect(await reportResult(ports, { ...run.run, generation: 1, result: { outcome: 'completed' } })).toEqual({
      ok: true,
      note: 'finalizing',
    });
    await run.collect();
    await run.drive();
    expect((await run.statuses()).at(-1)).toBe('budget_exceeded');
  });

  it('[COVERAGE-3] charges what a lost facade had reserved, to the accounts too, and says that an answer was lost', async () => {
    const { clock, ports, accounts, runOf } = world();
    const run = await runOf();
    await run.start();
    await run.facade('budget.reserved', {
      reservation_id: '00000000-0000-7000-8000-0000000000aa',
      tokens: 9,
      cost_micro_usd: 70,
      expires_at: '2026-01-01T00:30:00.000Z',
      month: '2026-01',
    });
    for (const period of ['total', '2026-01'])
      for (const scope of [`org:${org}`, `agent:${org}:fixer`]) accounts.of(scope, period).reserved = 70;
    await reportResult(ports, { ...run.run, generation: 1, result: { outcome: 'completed', summary: 'done' } });
    await run.collect();
    clock.advance(31_000);
    await run.drive();
    expect((await run.events()).at(-1)?.data).toMatchObject({
      outcome: 'completed',
      coverage: 'unknown',
      lost_answers: 1,
      cost_micro_usd: 70,
    });
    expect(accounts.all().map(({ reserved, spent }) => [reserved, spent])).toEqual(Array.from({ length: 4 }, () => [0, 70]));
  });

  it.each([
    ['workspace_failed', 'failed', false],
    ['sandbox_failed', 'failed', true],
    ['sandbox_exited', 'lost', true],
  ])('says why it ended when the reason is %s', async (reason, cause, started) => {
    const { ports, runOf } = world();
    const run = await runOf();
    await (started ? run.start() : run.launch());
    await run.sandboxExited(cause, '/srv/x: there is no such folder\n');
    await run.drive();
    const intent = (await run.events()).at(-1);
    expect(intent?.data).toMatchObject({ to: 'finalizing', outcome: 'failed', reason });
    expect(await ports.ledger.content(run.stream, intent?.seq ?? 0, 'rest')).toEqual({ summary: '/srv/x: there is no such folder' });
  });

  it('leaves the last words of a runner that only left, and the result of one that reported, as they are', async () => {
    const { ports, runOf } = world();
    const left = await runOf();
    await left.start();
    await left.sandboxExited('exited', 'a stack trace');
    await left.drive();
    expect(await ports.ledger.content(left.stream, (await left.events()).at(-1)?.seq ?? 0, 'rest')).toBeNull();
    const done = await runOf('done');
    await done.start();
    await reportResult(ports, { ...done.run, generation: 1, result: { outcome: 'completed', summary: 'done' } });
    await done.sandboxExited('failed', 'late');
    await done.drive();
    expect((await done.statuses()).at(-1)).toBe('finalizing');
  });

  it('fails a silent run after 60 s, unless another process heard it', async () => {
    const { clock, ports, runOf, stored } = world();
    const run = await runOf();
    await run.start();
    clock.advance(40_000);
    await heartbeat(ports, { ...run.run, generation: 1 });
    clock.advance(59_000);
    await run.drive();
    expect((await run.statuses()).at(-1)).toBe('running');
    stored.set(run.stream.id, clock.now().getTime());
    clock.advance(59_000);
    await run.drive();
    expect((await run.statuses()).at(-1)).toBe('running');
    clock.advance(1_000);
    await run.drive();
    expect((await run.events()).at(-1)).toMatchObject({ data: { to: 'finalizing', reason: 'heartbeat_lost', outcome: 'failed' } });
  });

  it('refuses to say that a run ended before anybody looked at its sandbox', async () => {
    const { clock, ports, runOf } = world();
    const run = await runOf();
    await run.start();
    await reportResult(ports, { ...run.run, generation: 1, result: { outcome: 'completed' } });
    clock.advance(3_600_000);
    await run.drive();
    expect((await run.statuses()).at(-1)).toBe('finalizing');
  });
});

describe('creating', () => {
  it('answers the first run to the same key and body, without freezing again', async () => {
    const { create, freezes } = world();
    const first = await create('key');
    expect(first.replayed).toBe(false);
    expect(await create('key')).toEqual({ run_id: first.run_id, replayed: true });
    expect(freezes()).toBe(1);
    expect((await create('other')).run_id).not.toBe(first.run_id);
  });

  it('refuses the key for another body', async () => {
    const { create } = world();
    await create('key');
    expect(await codeOf(create('key', ada, { task: 'something else' }))).toBe('idempotency_mismatch');
  });

  it('says so when the run of a key was erased: the requests cannot be compared any more', async () => {
    const { clock, create, store } = world();
    const { run_id } = await create('key');
    store.wrappedKeys = async () => ({ projection: null, rest: null, salt: null });
    // Opened keys are kept for a minute.
    clock.advance(61_000);
    const answer = await create('key').catch((error: unknown) => error);
    expect(answer).toMatchObject({ code: 'idempotency_mismatch', message: expect.stringContaining('is erased; use a new key') });
    expect((await create('other')).run_id).not.toBe(run_id);
  });

  it('gives everybody keys of their own: the same one of another person tells nothing and takes nothing', async () => {
    const { create } = world();
    const first = await create('key');
    const other = await create('key', { name: 'bob', role: 'member', org });
    expect(other.replayed).toBe(false);
    expect(other.run_id).not.toBe(first.run_id);
    expect(await create('key')).toEqual({ run_id: first.run_id, replayed: true });
  });

  it('makes one run of two requests with one key at the same moment', async () => {
    const { create } = world();
    const [a, b] = await Promise.all([create('key'), create('key')]);
    expect(a.run_id).toBe(b.run_id);
    expect([a.replayed, b.replayed].sort()).toEqual([false, true]);
  });
});

describe('an answer that is lost after the commit', () => {
  it('does not make a second run: the repeat finds the first', async () => {
    const { create, loseAnswer, freezes } = world();
    loseAnswer();
    expect(await codeOf(create('key'))).toBe('unavailable');
    expect(await create('key')).toMatchObject({ replayed: true });
    expect(freezes()).toBe(1);
  });

  it('does not make a second end: the repeated result is known, and the first one counts', async () => {
    const { ports, runOf, loseAnswer } = world();
    const run = await runOf();
    await run.start();
    loseAnswer();
    expect(await codeOf(reportResult(ports, { ...run.run, generation: 1, result: { outcome: 'completed' } }))).toBe('unavailable');
    expect(await reportResult(ports, { ...run.run, generation: 1, result: { outcome: 'failed' } })).toEqual({
      ok: true,
      note: 'finalizing',
    });
    await run.collect();
    await run.drive();
    expect(await run.statuses()).toEqual(['provisioning', 'initializing', 'running', 'finalizing', 'completed']);
  });

  it('does not repeat a step of the driver', async () => {
    const { ports, runOf, loseAnswer } = world();
    const run = await runOf();
    await run.start();
    await cancelRun(ports, { ...run.run, principal: ada as never });
    await run.collect();
    for (let tries = 0; tries < 2; tries += 1) {
      loseAnswer();
      expect(await codeOf(run.drive())).toBe('unavailable');
    }
    expect(await run.drive()).toBeNull();
    expect(await run.statuses()).toEqual(['provisioning', 'initializing', 'running', 'cancelling', 'finalizing', 'cancelled']);
    expect((await run.events()).filter((event) => event.type === 'run.result')).toHaveLength(1);
  });
});

describe('launching', () => {
  it('hands the scheduler what the sandbox needs; the tokens verify for their audience and generation', async () => {
    const { clock, runOf, signingKey } = world();
    const run = await runOf();
    const launch = await run.start();
    expect(launch).toMatchObject({ generation: 1, task: 'fix the test', system_prompt: 'be brief', spec_digest: digest });
    const verifier = createRunTokenVerifier(signingKey.publicKeys);
    const check = await verifier.verify(launch.tokens.tool, 'tool', clock.now());
    expect(check).toMatchObject({ ok: true, claims: { sub: run.stream.id, gen: 1, org } });
    expect(await verifier.verify(launch.tokens.tool, 'llm', clock.now())).toMatchObject({ ok: false, failure: 'wrong_audience' });
    expect(new Set(Object.values(launch.tokens)).size).toBe(4);
  });

  it('fences what the generation before still says', async () => {
    const { ports, runOf } = world();
    const run = await runOf();
    await launchRun(ports, run.run);
    await launchRun(ports, run.run);
    const event = { type: 'agent.message', data: { role: 'assistant', text: 'hello' } } as const;
    expect(await codeOf(reportEvent(ports, { ...run.run, generation: 1, event }))).toBe('stale_lease');
    expect(await codeOf(heartbeat(ports, { ...run.run, generation: 1 }))).toBe('stale_lease');
    expect(await codeOf(renewLease(ports, { ...run.run, generation: 1, ttl_secs: 900 }))).toBe('stale_lease');
    expect((await reportEvent(ports, { ...run.run, generation: 2, event })).seq).toBeGreaterThan(0);
  });
});

describe('what runners report', () => {
  it('is stored with its text as content only', async () => {
    const { ports, runOf } = world();
    const run = await runOf();
    await run.start();
    const { seq } = await reportEvent(ports, {
      ...run.run,
      generation: 1,
      event: { type: 'agent.message', data: { role: 'assistant', text: 'secret plan\uD800' } },
    });
    const event = (await run.events()).find((candidate) => candidate.seq === seq);
    expect(JSON.stringify(event)).not.toContain('secret plan');
    expect(await ports.ledger.content(run.stream, seq, 'rest')).toEqual({ text: 'secret plan\uFFFD' });
  });

  it('is refused once the run is over', async () => {
    const { ports, runOf } = world();
    const run = await runOf();
    await run.start();
    await cancelRun(ports, { ...run.run, principal: ada as never });
    await run.collect();
    await run.drive();
    expect(
      await codeOf(
        reportEvent(ports, { ...run.run, generation: 1, event: { type: 'run.error', data: { code: 'late', message: 'late' } } }),
      ),
    ).toBe('run_not_active');
    expect(await codeOf(runKeys(ports, run.run))).toBe('run_not_active');
    expect(await heartbeat(ports, { ...run.run, generation: 1 })).toEqual({ ok: true, action: 'quiesce' });
  });

  it('opens the archive for this generation once the workspace is ready', async () => {
    const { ports, runOf } = world();
    const run = await runOf();
    await launchRun(ports, run.run);
    expect(await codeOf(workspaceKey(ports, { ...run.run, generation: 1 }))).toBe('conflict');
    await run.start();
    const { rest } = await runKeys(ports, run.run);
    expect(await workspaceKey(ports, { ...run.run, generation: 2 })).toEqual({ archive_digest: digest, archive_bytes: 7, key: rest });
  });
});
