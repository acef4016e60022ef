import type { EventDraft, RecordedEvent } from '@fluidbox/contracts';
import fc from 'fast-check';
import { accountChanges, accountTotals, evolveRun, initialRun } from '.';

const runId = '0198c0de-0000-7000-8000-000000000001';
const idOf = (n: number): string => `0198c0de-0000-7000-8000-00000000010${n}`;
type Draft = Pick<EventDraft, 'type' | 'data'>;
const draft = (type: EventDraft['type'], data: object): Draft => ({ type, data }) as Draft;
const created = draft('session.created', { run_id: runId, agent: 'fixer', budgets: {} });
const reservedFor = (n: number, cost: number | null, month?: string): Draft =>
  draft('budget.reserved', {
    reservation_id: idOf(n),
    tokens: 1,
    cost_micro_usd: cost,
    expires_at: '2026-11-29T20:30:00.000Z',
    ...(month === undefined ? {} : { month }),
  });
const settledFor = (n: number, cost: number | null): Draft =>
  draft('budget.settled', { reservation_id: idOf(n), tokens: 1, cost_micro_usd: cost, basis: 'usage' });
const released = (n: number): Draft => draft('budget.released', { reservation_id: idOf(n), cause: 'not_sent' });
const recorded = (drafts: readonly Draft[]): RecordedEvent[] =>
  drafts.map(({ type, data }, i) => ({
    seq: i + 1,
    globalPosition: i + 1,
    eventId: idOf(0),
    org: 'acme',
    stream: `run-${runId}`,
    type,
    version: 1,
    actor: 'service:test',
    occurredAt: '2026-11-29T20:00:00.000Z',
    data: data as Record<string, unknown>,
  }));
const fold = (...drafts: Draft[]) => recorded([created, ...drafts]).reduce(evolveRun, initialRun());
const totals = (...drafts: Draft[]) =>
  accountTotals([{ org: 'acme', events: recorded([created, ...drafts]) }]).map(({ scope, period, reserved, spent }) => [
    scope,
    period,
    reserved,
    spent,
  ]);

describe('accounts that runs share', () => {
  it('move together: organisation and agent, in all and in the month', () => {
    expect(accountChanges(fold(), 'acme', [reservedFor(1, 70, '2026-11')])).toEqual(
      ['org:acme', 'agent:acme:fixer'].flatMap((scope) =>
        ['total', '2026-11'].map((period) => ({ scope, period, reserve: 70, settle: 0 })),
      ),
    );
  });

  it('are charged in the month of the reservation, with what it cost, and get back what it held', () => {
    expect(
      totals(reservedFor(1, 70, '2026-11'), settledFor(1, 30), reservedFor(2, 5, '2026-12'), released(2), reservedFor(3, 9, '2026-12')),
    ).toEqual([
      ['agent:acme:fixer', '2026-11', 0, 30],
      ['agent:acme:fixer', '2026-12', 9, 0],
      ['agent:acme:fixer', 'total', 9, 30],
      ['org:acme', '2026-11', 0, 30],
      ['org:acme', '2026-12', 9, 0],
      ['org:acme', 'total', 9, 30],
    ]);
  });

  it('are left alone by what never touched them: no price, no month, a settlement of nothing', () => {
    expect(accountChanges(fold(), 'acme', [reservedFor(1, null, '2026-11')])).toEqual([]);
    expect(accountChanges(fold(reservedFor(1, 70)), 'acme', [settledFor(1, 70)])).toEqual([]);
    expect(accountChanges(fold(), 'acme', [settledFor(1, 70), released(2)])).toEqual([]);
  });

  it('are the same computed from the whole stream as moved group by group, and hold exactly what is open', () => {
    const anyEvent = fc.oneof(
      fc
        .tuple(fc.integer({ min: 1, max: 6 }), fc.option(fc.integer({ min: 0, max: 90 })), fc.constantFrom('2026-11', '2026-12'))
        .map(([n, cost, month]) => reservedFor(n, cost, month)),
      fc.tuple(fc.integer({ min: 1, max: 6 }), fc.option(fc.integer({ min: 0, max: 120 }))).map(([n, cost]) => settledFor(n, cost)),
      fc.integer({ min: 1, max: 6 }).map(released),
    );
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
        // A reservation id is used once.
        const used = new Set<unknown>();
        const stream = events.filter((event) => {
          const { reservation_id: id } = event.data as { reservation_id?: unknown };
          if (event.type !== 'budget.reserved') return true;
          return !used.has(id) && used.add(id);
        });
        let run = initialRun();
        const moved = new Map<string, { reserved: number; spent: number }>();
        for (const event of recorded([created, ...stream])) {
          for (const { scope, period, reserve, settle } of accountChanges(run, 'acme', [event as unknown as Draft])) {
            const account = moved.get(`${scope} ${period}`) ?? { reserved: 0, spent: 0 };
            moved.set(`${scope} ${period}`, { reserved: account.reserved + reserve, spent: account.spent + settle });
          }
          run = evolveRun(run, event);
        }
        const all = accountTotals([{ org: 'acme', events: recorded([created, ...stream]) }]);
        for (const { scope, period, reserved, spent } of all) expect(moved.get(`${scope} ${period}`)).toEqual({ reserved, spent });
        const open = [...run.reservations.values()].reduce((sum, { costMicroUsd }) => sum + costMicroUsd, 0);
        const total = all.find(({ scope, period }) => scope === 'org:acme' && period === 'total') ?? { reserved: 0, spent: 0 };
        expect([total.reserved, total.spent]).toEqual([open, run.spent.costMicroUsd]);
        expect(all.every(({ reserved, spent }) => reserved >= 0 && spent >= 0)).toBe(true);
      }),
      { seed: 11 },
    );
  });
});
