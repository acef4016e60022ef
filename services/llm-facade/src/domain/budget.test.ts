import type { EventDraft } from '@fluidbox/contracts';
import { callCounts, type RunState, reserved } from '@fluidbox/run-stream';
import fc from 'fast-check';
import { refuseAccess } from './access';
import { admit, type Reservation } from './admission';
import { estimateOf, outputTokensMin, outputWithin } from './estimate';
import { created, fold, type Given, lease, live, now, recorded, reservedFor, running, settledFor } from './runs.fixture';
import { type Outcome, release, settle, settlePessimistically } from './settlement';
import { noUsage } from './usage';

const id = (n: number): string => `0198c0de-0000-7000-8000-0000000000${String(n).padStart(2, '0')}`;
const ask = (run: RunState, n: number, tokens: number, cost: number | null = 0) =>
  admit(run, { reservationId: id(n), generation: 1, estimate: { tokens, costMicroUsd: cost, inputTokens: 0 }, now });
const types = (events: readonly EventDraft[]): string[] => events.map(({ type }) => type);

describe('admission', () => {
  it('reserves the estimate', () => {
    const { events, result } = ask(live(), 1, 5_000, 70);
    expect(result).toEqual({ kind: 'admitted', reservation: { reservationId: id(1), tokens: 5_000, costMicroUsd: 70, month: '2026-11' } });
    expect(events).toMatchObject([
      { type: 'budget.reserved', data: { tokens: 5_000, cost_micro_usd: 70, expires_at: '2026-11-29T20:30:00.000Z' } },
    ]);
  });

  it('admits a sole claimant with what is left, and refuses it when nothing is', () => {
    const almost = live({ max_tokens: 1_000 }, reservedFor(id(1), 999), settledFor(id(1), 999));
    expect(ask(almost, 2, 40_000).result).toMatchObject({ kind: 'admitted', reservation: { tokens: 1 } });
    const spent = live({ max_tokens: 1_000 }, reservedFor(id(1), 1_000), settledFor(id(1), 1_000));
    const { events, result } = ask(spent, 2, 1);
    expect(result).toMatchObject({ kind: 'refused', refusal: { status: 429, code: 'budget_exhausted', retry: 'never' } });
    expect(events).toMatchObject([{ type: 'budget.exceeded', data: { budget: 'tokens', limit: 1_000, spent: 1_000 } }]);
  });

  it('lets a request that was admitted with less write what its reservation pays for, and one small answer at least', () => {
    const price = { input: 1_000_000, output: 10_000_000, cache_read: 100_000, cache_write: 1_000_000 };
    const request = { outputTokens: 64_000, estimate: estimateOf(3_000, 64_000, price), price };
    const { tokens, costMicroUsd } = request.estimate;
    expect(outputWithin(request, { tokens, costMicroUsd })).toBe(64_000);
    expect(outputWithin(request, { tokens, costMicroUsd: 1_000 + 200_000 })).toBe(20_000);
    expect(outputWithin(request, { tokens: 1_000 + 9_000, costMicroUsd })).toBe(9_000);
    expect(outputWithin(request, { tokens: 1_000 + 9_000, costMicroUsd: 1_000 + 80_000 })).toBe(8_000);
    expect(outputWithin(request, { tokens, costMicroUsd: 1 })).toBe(outputTokensMin);
    expect(outputWithin({ ...request, outputTokens: 100 }, { tokens: 1, costMicroUsd: 1 })).toBe(100);
    const unpriced = { ...request, estimate: estimateOf(3_000, 64_000, null), price: null };
    expect(outputWithin(unpriced, { tokens, costMicroUsd: null })).toBe(64_000);
    expect(outputWithin(unpriced, { tokens: 1_000 + 9_000, costMicroUsd: null })).toBe(9_000);
  });

  it('says budget.exceeded once', () => {
    const spent = live({ max_tokens: 1_000 }, reservedFor(id(1), 1_000), settledFor(id(1), 1_000), [
      'budget.exceeded',
      { budget: 'tokens', limit: 1_000, spent: 1_000 },
    ]);
    expect(ask(spent, 2, 1)).toMatchObject({ events: [], result: { kind: 'refused', refusal: { code: 'budget_exhausted' } } });
  });

  it('lets exactly one of ten parallel calls through, and one more when it turns out cheaper (H-LM-04)', () => {
    const given: Given[] = [
      created({ max_tokens: null, max_cost_micro_usd: 1_000_000 }),
      lease,
      running,
      reservedFor(id(1), 0, 950_000),
      settledFor(id(1), 0, 950_000),
    ];
    const kinds: string[] = [];
    for (let n = 10; n < 20; n++) {
      const { events, result } = ask(fold(...given), n, 4_000, 40_000);
      given.push(...recorded(events));
      kinds.push(result.kind);
    }
    expect(kinds).toEqual(['admitted', ...Array<string>(9).fill('wait')]);
    given.push(settledFor(id(10), 1_000, 10_000));
    expect(fold(...given).spent.costMicroUsd).toBe(960_000);
    expect(ask(fold(...given), 20, 4_000, 40_000).result.kind).toBe('admitted');
  });

  it('admits side by side what fits', () => {
    const run = live({ max_tokens: 10_000 }, reservedFor(id(1), 6_000));
    expect(ask(run, 2, 4_000).result.kind).toBe('admitted');
    expect(ask(run, 2, 4_001).result.kind).toBe('wait');
  });

  it('never holds more than is left unless alone, whatever comes in which order', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            tokens: fc.integer({ min: 1, max: 60_000 }),
            settles: fc.boolean(),
            share: fc.double({ min: 0, max: 1, noNaN: true }),
          }),
          { maxLength: 30 },
        ),
        (steps) => {
          const given: Given[] = [created({ max_tokens: 50_000, max_cost_micro_usd: null }), lease, running];
          let open: { id: string; tokens: number }[] = [];
          steps.forEach((step, n) => {
            const run = fold(...given);
            const { events, result } = ask(run, n, step.tokens);
            given.push(...recorded(events));
            if (result.kind === 'admitted') open.push({ id: id(n), tokens: result.reservation.tokens });
            const after = fold(...given);
            expect(reserved(after).tokens + after.spent.tokens).toBeLessThanOrEqual(50_000);
            const first = open[0];
            if (step.settles && first !== undefined) {
              open = open.slice(1);
              given.push(settledFor(first.id, Math.floor(first.tokens * step.share)));
            }
          });
        },
      ),
      { seed: 7 },
    );
  });

  it('estimates with the dearest kind of input', () => {
    const price = { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 };
    expect(estimateOf(3_000, 100, price)).toEqual({ tokens: 1_100, inputTokens: 1_000, costMicroUsd: 1_250 + 500 });
    expect(estimateOf(10, 0, null)).toEqual({ tokens: 4, inputTokens: 4, costMicroUsd: null });
  });
});

describe('access', () => {
  const exceeded: Given = ['budget.exceeded', { budget: 'tool_calls', limit: 1, spent: 1 }];
  const cancelled: Given = [
    'session.status_changed',
    { from: 'running', to: 'cancelling', reason: 'cancel_requested', outcome: 'cancelled' },
  ];
  it.each([
    ['a live run', live(), 1, now, null],
    ['no run', fold(), 1, now, 401],
    ['an old generation', live({}, ['lease.granted', { generation: 2, valid_until: '2026-11-29T20:15:00.000Z' }]), 1, now, 409],
    [
      'an old generation with a dead lease',
      live({}, ['lease.granted', { generation: 2, valid_until: '2026-11-29T20:15:00.000Z' }]),
      1,
      now + 3_600_000,
      409,
    ],
    ['a dead lease', live(), 1, now + 16 * 60_000, 401],
    ['a cancelled run', live({}, cancelled), 1, now, 403],
    ['a run whose budget is spent', live({}, exceeded), 1, now, 429],
    [
      'a run that is over its budget and winding down',
      live({}, exceeded, ['session.status_changed', { from: 'running', to: 'cancelling', reason: 'budget', outcome: 'budget_exceeded' }]),
      1,
      now,
      429,
    ],
    [
      'a run past its wall clock',
      live({}, ['lease.granted', { generation: 1, valid_until: '2026-11-29T21:15:00.000Z' }]),
      1,
      now + 31 * 60_000,
      429,
    ],
    ['a run with a coverage gap', live({}, ['coverage.gap', { tool_call_id: 'c', tool: 'Bash', class: 'uncovered' }]), 1, now, 403],
    [
      'a run with a reported gap',
      live({}, ['coverage.gap', { tool_call_id: 'c', tool: 'Bash', class: 'uncovered', report_only: true }]),
      1,
      now,
      null,
    ],
  ])('of %s', (_name, run, generation, at, status) => {
    expect(refuseAccess(run, generation, at)?.status ?? null).toBe(status);
  });
});

describe('settlement', () => {
  const price = { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 };
  const reservation: Reservation = { reservationId: id(1), tokens: 5_000, costMicroUsd: 9_000, month: '2026-11' };
  const outcome = (change: Partial<Outcome> = {}): Outcome => ({
    reservation,
    model: 'claude-haiku-4-5',
    price,
    status: 200,
    stopReason: 'tool_use',
    usage: { ...noUsage, inputTokens: 100, outputTokens: 20, cacheReadTokens: 3, cacheWriteTokens: 4 },
    basis: 'usage',
    calls: [{ toolCallId: 'toolu_1', tool: 'Bash', inputDigest: `sha256:${'1b'.repeat(32)}` }],
    gaps: [],
    reportOnly: false,
    agentId: null,
    durationMs: 5,
    ...change,
  });
  const open = (budgets = {}): RunState => live(budgets, reservedFor(id(1), 5_000, 9_000));

  it('books usage, cost and calls in one group', () => {
    const events = settle(open(), outcome());
    expect(types(events)).toEqual(['budget.settled', 'model.response', 'model.tool_call']);
    expect(events).toMatchObject([
      { data: { tokens: 127, cost_micro_usd: 206, basis: 'usage' } },
      {
        data: { input_tokens: 100, output_tokens: 20, cache_read_tokens: 3, cache_write_tokens: 4, cost_micro_usd: 206, estimated: false },
      },
      { actor: 'model', data: { tool_call_id: 'toolu_1', tool: 'Bash' } },
    ]);
  });

  it('does not settle twice, nor name a call twice', () => {
    const run = live({}, reservedFor(id(1), 5_000, 9_000), settledFor(id(1), 5_000, 9_000), [
      'model.tool_call',
      { tool_call_id: 'toolu_1', tool: 'Bash', input_digest: `sha256:${'1b'.repeat(32)}`, reservation_id: id(1) },
    ]);
    expect(types(settle(run, outcome()))).toEqual(['model.response']);
  });

  it('names a second call under the id of a first as a gap, in one answer and in a later one; its repeat says nothing new', () => {
    const first = {
      toolCallId: 'toolu_1',
      tool: 'Bash',
      inputDigest: `sha256:${'1b'.repeat(32)}`,
      inputFields: { command: `sha256:${'2b'.repeat(32)}` },
    };
    const second = { ...first, inputDigest: `sha256:${'3b'.repeat(32)}` };
    const events = settle(open(), outcome({ calls: [first, second, first, second] }));
    expect(types(events)).toEqual(['budget.settled', 'model.response', 'model.tool_call', 'model.tool_call', 'coverage.gap']);
    expect(events[2]?.data).toMatchObject({ input_fields: first.inputFields });
    const after = live({}, reservedFor(id(1), 5_000, 9_000), ...recorded(settle(open(), outcome({ calls: [first] }))));
    expect(types(settle(after, outcome({ calls: [first] })))).toEqual(['model.response']);
    expect(settle(after, outcome({ calls: [second], reportOnly: true })).slice(1)).toMatchObject([
      { type: 'model.tool_call' },
      { type: 'coverage.gap', data: { tool_call_id: 'toolu_1', class: 'uncovered', report_only: true } },
    ]);
    const told = live({}, reservedFor(id(1), 5_000, 9_000), ...recorded(events));
    expect(callCounts(told)).toMatchObject({ model: 2, uncovered: 2 });
    expect(types(settle(told, outcome({ calls: [second] })))).toEqual(['model.response']);
  });

  it('warns once at 80 % and says exceeded beyond the limit, not at it', () => {
    const at = (limit: number, ...more: Given[]): string[] =>
      types(settle(live({ max_tokens: limit }, ...more, reservedFor(id(1), 127)), outcome({ calls: [] }))).slice(2);
    expect(at(1_000)).toEqual([]);
    expect(at(158)).toEqual(['budget.warned']);
    expect(at(127)).toEqual(['budget.warned']);
    expect(at(126)).toEqual(['budget.exceeded']);
    expect(at(158, ['budget.warned', { budget: 'tokens', limit: 158, spent: 130 }])).toEqual([]);
  });

  it('charges a reservation in full when nobody knows better, and gives it back when nothing was sent', () => {
    expect(settlePessimistically(open(), id(1))).toMatchObject([
      { type: 'budget.settled', data: { tokens: 5_000, cost_micro_usd: 9_000, basis: 'pessimistic' } },
    ]);
    expect(release(open(), id(1), 'not_sent')).toMatchObject([{ type: 'budget.released', data: { cause: 'not_sent' } }]);
    expect(settlePessimistically(open(), id(1))[0]?.data).not.toHaveProperty('lost');
    expect(settlePessimistically(open(), id(1), { lost: true })[0]?.data).toMatchObject({ lost: true });
    expect([settlePessimistically(live(), id(1)), release(live(), id(1), 'not_sent')]).toEqual([[], []]);
  });
});
