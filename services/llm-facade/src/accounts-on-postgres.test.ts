import { randomBytes, randomUUID } from 'node:crypto';
import { type EventDraft, runStream, type ServiceName } from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createPostgresStore, type EventStore, testServiceUrl } from '@fluidbox/event-store';
import { accountTotals, runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';
import { sqlOf } from '@fluidbox/service-kit';
import { createdRun, fakeClock, startTestPostgres, type TestPostgres, until } from '@fluidbox/testing';
import pg from 'pg';
import { budgetAccounts } from './adapters/budget-accounts';
import type { Caller } from './app/authorize';
import { bookSpend } from './app/book';
import { listBudgets, setBudget } from './app/budgets';
import { ReservationQueue } from './app/reservation-queue';
import { reserve } from './app/reserve';
import { sweepReservations } from './app/sweep-reservations';
import type { Reservation } from './domain/admission';
import { ModelRequestRefused } from './domain/refusal';
import { release, settle } from './domain/settlement';
import { specOf } from './testing/facade-fixture';

const started = '2026-11-30T12:00:00.000Z';
const usage = { inputTokens: 1, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0, reasoningTokens: 0 };
/** One token for so much money. */
const priced = (microUsd: number) => ({ input: microUsd * 1_000_000, output: 0, cache_read: 0, cache_write: 0 });
const code = (error: unknown): string => (error instanceof ModelRequestRefused ? error.refusal.code : String(error));

/** Facades as processes have them: each its own connections, its own ledger with its own folds, its own queue. They share a database, and nothing else. */
describe('budgets on a real Postgres, with several facades', () => {
  let postgres: TestPostgres;
  let stores: EventStore[];
  let pool: pg.Pool;
  let clock: ReturnType<typeof fakeClock>;
  let facades: ReturnType<typeof facadeOn>[];
  let runs: ReturnType<typeof createLedger>;
  let openRuns: ReturnType<typeof runStream>[];

  const facadeOn = (ledger: ReturnType<typeof createLedger>) => ({
    ledger,
    clock,
    ids: { uuid: randomUUID as () => string },
    queue: new ReservationQueue(),
    accounts: budgetAccounts(sqlOf(pool)),
    settings: { reservationWaitMs: 0, bodyBytesMax: 1, bookingPatienceMs: 5_000 },
    openRuns: async () => openRuns,
    log: { warn: () => undefined, error: () => undefined },
  });
  beforeAll(async () => {
    postgres = await startTestPostgres();
  });
  beforeEach(async () => {
    const database = await postgres.createDatabase({ migrated: true });
    clock = fakeClock(started);
    stores = [];
    openRuns = [];
    const kek = kekFromBytes(randomBytes(32));
    const ledgerOf = (service: ServiceName) => {
      const store = createPostgresStore({ url: testServiceUrl(database.url, service), poolSize: 3 });
      stores.push(store);
      return createLedger({ store, keyring: createKekKeyring({ store, kek, clock }), clock, ids: { uuid: randomUUID }, service });
    };
    pool = new pg.Pool({ connectionString: testServiceUrl(database.url, 'llm-facade'), max: 3 });
    runs = ledgerOf('runs');
    facades = [1, 2, 3].map(() => facadeOn(ledgerOf('llm-facade')));
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await pool.end();
  });
  afterAll(() => postgres.stop());

  const draft = (type: string, data: Record<string, unknown>) => ({ type, actor: 'service:runs', data }) as unknown as EventDraft;
  const startRun = async (agent: string, budgets: Partial<ReturnType<typeof specOf>['budgets']> = {}): Promise<Caller> => {
    const stream = runStream(randomUUID(), 'default');
    const spec = specOf({ budgets: { max_tokens: null, max_cost_micro_usd: null, ...budgets } });
    openRuns.push(stream);
    await runs.decide(runFold, stream, () => ({
      result: null,
      setGeneration: 1,
      events: [
        draft('session.created', createdRun(stream.id, { agent, budgets: spec.budgets })),
        draft('lease.granted', { generation: 1, valid_until: '2027-11-29T20:15:00.000Z' }),
        draft('session.status_changed', { from: 'initializing', to: 'running', reason: 'sandbox_started' }),
      ],
    }));
    return { stream, generation: 1, spec: { ...spec, agent: { ...spec.agent, name: agent } } };
  };
  const facade = (n: number) => facades[n % facades.length] ?? facadeOn(runs);
  const never = new AbortController().signal;
  const ask = (n: number, caller: Caller, costMicroUsd: number): Promise<Reservation> =>
    reserve(facade(n), caller, { tokens: 1, inputTokens: 1, costMicroUsd }, never);
  const spend = (n: number, caller: Caller, reservation: Reservation, costMicroUsd: number): Promise<void> =>
    bookSpend(facade(n), caller, reservation, costMicroUsd, (run) =>
      settle(run, {
        reservation,
        model: 'm',
        price: priced(costMicroUsd),
        status: 200,
        stopReason: 'end_turn',
        usage,
        basis: 'usage',
        calls: [],
        gaps: [],
        reportOnly: false,
        agentId: null,
        durationMs: 1,
      }),
    );
  const parallel = async (callers: readonly Caller[], costMicroUsd: number) => {
    const calls = Array.from({ length: 40 }, async (_, n) => {
      const caller = callers[n % callers.length] as Caller;
      return { caller, reservation: await ask(n, caller, costMicroUsd) };
    });
    const settled = await Promise.allSettled(calls);
    return {
      admitted: settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
      refused: settled.flatMap((one) => (one.status === 'rejected' ? [code(one.reason)] : [])),
    };
  };
  const limit = (scope: string, period: 'total' | 'month', usd: number | null) =>
    setBudget(facade(0), { principal: { name: 'ada', role: 'admin', org: 'default' }, scope, body: { period, max_cost_usd: usd } });
  const stored = async () =>
    (
      await pool.query<{ scope: string; period: string; reserved: number; spent: number }>(
        `select scope, period, reserved::int, spent::int from ledger.budget_accounts where period <> 'month' and (reserved <> 0 or spent <> 0) order by scope || ' ' || period`,
      )
    ).rows;
  const recomputed = async () => {
    const streams = await Promise.all(openRuns.map(async (stream) => ({ org: stream.org, events: await runs.store.read(stream) })));
    return accountTotals(streams).filter(({ reserved, spent }) => reserved !== 0 || spent !== 0);
  };

  it('[BUDGET-3] forty parallel calls against the budget of a run for one: one is admitted, and its surplus is all that is overspent', async () => {
    const caller = await startRun('a', { max_cost_micro_usd: 40_000 });
    const { admitted, refused } = await parallel([caller], 40_000);
    expect(admitted).toHaveLength(1);
    expect(new Set(refused)).toEqual(new Set(['budget_reserved']));
    await spend(0, caller, (admitted[0] as { reservation: Reservation }).reservation, 50_000);
    expect((await runs.state(runFold, caller.stream, { fresh: true })).state.spent.costMicroUsd).toBe(50_000);
    await expect(ask(1, caller, 1)).rejects.toMatchObject({ refusal: { status: 429, code: 'budget_exhausted', retry: 'never' } });
  });

  it('[BUDGET-4] the same against an account that eight runs share; then every one of them ends with a 429 that names it', async () => {
    await limit('org', 'month', 0.04);
    const callers = await Promise.all(Array.from({ length: 8 }, (_, n) => startRun(`a${n % 2}`)));
    const { admitted, refused } = await parallel(callers, 40_000);
    expect(admitted).toHaveLength(1);
    expect([...new Set(refused)]).toEqual(['budget_reserved']);
    for (const { caller, reservation } of admitted) await spend(0, caller, reservation, 50_000);
    const rejected = await Promise.allSettled(callers.map((caller, n) => ask(n, caller, 10)));
    expect(rejected.map((one) => (one.status === 'rejected' ? code(one.reason) : 'admitted'))).toEqual(
      callers.map(() => 'budget_exhausted'),
    );
    const account = { scope: 'org', period: '2026-11' };
    const { state } = await runs.state(runFold, (callers[3] as Caller).stream, { fresh: true });
    expect(state).toMatchObject({ modelAccessEnded: 'budget' });
    expect([...state.exceeded]).toEqual([`cost_micro_usd of ${account.scope} ${account.period}`]);
    expect(await listBudgets(facade(0), { org: 'default' as never })).toContainEqual({
      ...account,
      limit_micro_usd: 40_000,
      spent_micro_usd: 50_000,
      reserved_micro_usd: 0,
      state: 'exhausted',
    });
    expect(await stored()).toEqual(await recomputed());
  });

  it('[BUDGET-4] a request that is alone on an account gets what is left of it, and a limit that is raised lets others in', async () => {
    await limit('agent:a', 'total', 0.03);
    const [one, two] = [await startRun('a'), await startRun('a')];
    const first = await ask(0, one, 40_000);
    expect(first.costMicroUsd).toBe(30_000);
    await expect(ask(1, two, 10)).rejects.toMatchObject({ refusal: { status: 503, code: 'budget_reserved', retry: { afterSecs: 2 } } });
    // Another agent has an account of its own.
    expect((await ask(2, await startRun('b'), 40_000)).costMicroUsd).toBe(40_000);
    await limit('agent:a', 'total', 1);
    expect((await ask(1, two, 10)).costMicroUsd).toBe(10);
    await limit('agent:a', 'total', 0);
    await spend(0, one, first, 20_000);
    // Lowered under what is spent: the next request ends its run, and only a limit that is lifted lets another one begin.
    await expect(ask(2, two, 10)).rejects.toMatchObject({ refusal: { status: 429 } });
    await expect(ask(1, two, 10)).rejects.toMatchObject({ refusal: { status: 429, message: expect.stringContaining('agent:a') } });
    await limit('agent:a', 'total', null);
    expect((await ask(2, await startRun('a'), 10)).costMicroUsd).toBe(10);
  });

  it('a new month begins with its own limit; what was reserved in the old one is charged to it', async () => {
    await limit('org', 'month', 0.05);
    const caller = await startRun('a');
    clock.set('2026-11-30T23:59:59.000Z');
    const late = await ask(0, caller, 50_000);
    clock.set('2026-12-01T00:00:01.000Z');
    const next = await ask(1, caller, 40_000);
    await spend(0, caller, late, 50_000);
    await spend(1, caller, next, 30_000);
    expect(await stored()).toEqual([
      { scope: 'agent:default:a', period: '2026-11', reserved: 0, spent: 50_000 },
      { scope: 'agent:default:a', period: '2026-12', reserved: 0, spent: 30_000 },
      { scope: 'agent:default:a', period: 'total', reserved: 0, spent: 80_000 },
      { scope: 'org:default', period: '2026-11', reserved: 0, spent: 50_000 },
      { scope: 'org:default', period: '2026-12', reserved: 0, spent: 30_000 },
      { scope: 'org:default', period: 'total', reserved: 0, spent: 80_000 },
    ]);
    expect(await ask(2, caller, 20_000)).toMatchObject({ month: '2026-12' });
    await limit('org', 'month', 0.01);
    const limits = (await listBudgets(facade(0), { org: 'default' as never })).filter(
      ({ scope, period }) => scope === 'org' && period !== 'total',
    );
    expect(limits.map(({ period, limit_micro_usd }) => [period, limit_micro_usd])).toEqual([
      ['2026-11', 50_000],
      ['2026-12', 10_000],
    ]);
  });

  it('a limit that is set while the first requests of a month arrive is that of the month, however they meet', async () => {
    const callers = await Promise.all(Array.from({ length: 6 }, (_, n) => startRun(`a${n}`)));
    for (let month = 1; month <= 6; month += 1) {
      clock.set(`2027-0${month}-01T00:00:00.000Z`);
      await Promise.all([
        ...callers.map((caller, n) => ask(n, caller, 10).then((reservation) => spend(n, caller, reservation, 10))),
        limit('org', 'month', month),
        ...callers.map((_, n) => limit(`agent:a${n}`, 'month', month)),
      ]);
    }
    const months = (await listBudgets(facade(0), { org: 'default' as never })).filter(({ period }) => period.startsWith('2027-'));
    expect(months.map(({ period, limit_micro_usd }) => [period, limit_micro_usd])).toEqual(
      months.map(({ period }) => [period, Number(period.slice(-2)) * 1_000_000]),
    );
    expect(months).toHaveLength(7 * 6);
    expect(await stored()).toEqual(await recomputed());
  });

  it('real usage that is told after the end of its run corrects the accounts once, and nothing else', async () => {
    const caller = await startRun('a');
    const reservation = await ask(0, caller, 40_000);
    const { runId, events } = { runId: caller.stream.id, events: [{ reservation_id: reservation.reservationId }] };
    await runs.decide(runFold, caller.stream, (run) => ({
      result: null,
      closes: true,
      accounts: [
        { scope: 'org:default', period: 'total', reserve: -40_000, settle: 40_000 },
        { scope: 'org:default', period: '2026-11', reserve: -40_000, settle: 40_000 },
        { scope: 'agent:default:a', period: 'total', reserve: -40_000, settle: 40_000 },
        { scope: 'agent:default:a', period: '2026-11', reserve: -40_000, settle: 40_000 },
      ],
      events: [
        draft('budget.settled', { ...events[0], tokens: run.spent.tokens + 1, cost_micro_usd: 40_000, basis: 'pessimistic', lost: true }),
        draft('session.status_changed', { from: 'finalizing', to: 'failed', reason: 'collected', outcome: 'failed' }),
      ],
    }));
    for (const n of [0, 0, 1]) await spend(n, caller, reservation, 5_000);
    expect((await stored()).map(({ reserved, spent }) => [reserved, spent])).toEqual(Array.from({ length: 4 }, () => [0, 5_000]));
    const { rows } = await pool.query('select run_id, cost_micro_usd::int as cost from ledger.budget_corrections');
    expect(rows).toEqual([{ run_id: runId, cost: -35_000 }]);
  });

  it('a correction locks its accounts in the order of their keys, as appends do: one that waits for the first holds none of the others', async () => {
    const caller = await startRun('a');
    await ask(0, caller, 40_000);
    const { accounts } = facade(0);
    const told = { runId: caller.stream.id, org: 'default', agent: 'a', month: '2026-11', costMicroUsd: 5 };
    const open = await pool.connect();
    await open.query('begin');
    await open.query(`update ledger.budget_accounts set spent = spent + 100 where scope = 'agent:default:a' and period = '2026-11'`);
    const correcting = accounts.correct({ ...told, reservationId: randomUUID() });
    await until(async () => {
      const { rowCount } = await pool.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
      return rowCount === 1;
    });
    const { rows } = await pool.query(
      `select scope, period from ledger.budget_accounts where period <> 'month' order by 1, 2 for update skip locked`,
    );
    await open.query('commit');
    open.release();
    await correcting;
    expect(rows).toEqual([
      { scope: 'agent:default:a', period: 'total' },
      { scope: 'org:default', period: '2026-11' },
      { scope: 'org:default', period: 'total' },
    ]);
    expect((await stored()).map(({ spent }) => spent)).toEqual([105, 5, 5, 5]);
  });

  it('[BUDGET-4] whatever comes in which order: no account holds more than its limit, and all of it can be computed from the events', async () => {
    await limit('org', 'total', 0.5);
    await limit('agent:a0', 'month', 0.2);
    const callers = await Promise.all(Array.from({ length: 6 }, (_, n) => startRun(`a${n % 3}`, { max_cost_micro_usd: 200_000 })));
    let seed = 7;
    const random = (max: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % max;
    };
    let most = 0;
    const watch = async () => {
      const { rows } = await pool.query<{ over: string }>('select max(spent + reserved - "limit") as over from ledger.budget_accounts');
      most = Math.max(most, Number(rows[0]?.over ?? 0));
    };
    const steps = Array.from({ length: 120 }, (_, n) => ({
      n,
      caller: callers[random(callers.length)] as Caller,
      cost: 1_000 + random(30_000),
      end: random(10),
      share: random(100),
    }));
    for (let at = 0; at < steps.length; at += 12) {
      await Promise.all(
        steps.slice(at, at + 12).map(async ({ n, caller, cost, end, share }) => {
          const reservation = await ask(n, caller, cost).catch(() => null);
          if (reservation === null || end === 0) return;
          if (end === 1) await bookSpend(facade(n), caller, reservation, 0, (run) => release(run, reservation.reservationId, 'not_sent'));
          else await spend(n + 1, caller, reservation, Math.max(1, Math.floor(((reservation.costMicroUsd ?? 0) * share) / 100)));
        }),
      );
      await watch();
    }
    expect(most).toBeLessThanOrEqual(0);
    expect(await stored()).toEqual(await recomputed());
    // What a facade left behind is charged in full, to the accounts too.
    clock.advance(31 * 60_000);
    expect(await sweepReservations(facade(0))).toBeGreaterThan(0);
    expect((await stored()).every(({ reserved }) => reserved === 0)).toBe(true);
    expect(await stored()).toEqual(await recomputed());
  });
});
