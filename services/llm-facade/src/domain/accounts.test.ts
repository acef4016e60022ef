import { type Account, accountExceeded, accountWarnings, budgetView, type LimitedAccount, roomIn, scopeOf, storedScope } from './accounts';
import { live } from './runs.fixture';

const account = (limit: number, spent: number, reserved = 0, about: Partial<Account> = {}): LimitedAccount => ({
  scope: 'org',
  period: '2026-11',
  ...about,
  limit,
  spent,
  reserved,
});

describe('accounts that several runs spend from', () => {
  it('admit what fits into each of them', () => {
    expect(roomIn([], 50)).toEqual({ kind: 'room', upTo: 50 });
    expect(roomIn([account(100, 30, 20), account(1_000, 0)], 50)).toEqual({ kind: 'room', upTo: 50 });
  });

  it('let a request wait while others hold what it needs', () => {
    expect(roomIn([account(100, 30, 21)], 50)).toEqual({ kind: 'held' });
    expect(roomIn([account(1_000, 0), account(100, 99, 1)], 50)).toEqual({ kind: 'held' });
  });

  it('give a request that is alone what the tightest of them has left', () => {
    expect(roomIn([account(100, 60), account(100, 70)], 50)).toEqual({ kind: 'room', upTo: 30 });
  });

  it('name the one with nothing left, also when its limit was lowered under what is spent', () => {
    const spent = account(100, 100, 0, { scope: 'agent:fixer' });
    expect(roomIn([account(1_000, 0), spent], 1)).toEqual({ kind: 'spent', account: spent });
    expect(roomIn([account(50, 100)], 1)).toMatchObject({ kind: 'spent' });
    expect(accountExceeded(spent).data).toEqual({
      budget: 'cost_micro_usd',
      limit: 100,
      spent: 100,
      account: { scope: 'agent:fixer', period: '2026-11' },
    });
    // What costs nothing takes nothing from it.
    expect(roomIn([spent], 0)).toEqual({ kind: 'room', upTo: 0 });
  });

  it('are warned of in a run once each, from 80 % on', () => {
    const warned = (spent: number, run = live()) => accountWarnings(run, [account(100, spent)], 10);
    expect(warned(69)).toEqual([]);
    expect(warned(70)).toMatchObject([
      { type: 'budget.warned', data: { limit: 100, spent: 80, account: { scope: 'org', period: '2026-11' } } },
    ]);
    const told = live({}, [
      'budget.warned',
      { budget: 'cost_micro_usd', limit: 100, spent: 80, account: { scope: 'org', period: '2026-11' } },
    ]);
    expect(warned(80, told)).toEqual([]);
    // Another account, and the run's own budget, are warned of apart.
    expect(accountWarnings(told, [account(100, 80, 0, { scope: 'agent:a' })], 10)).toHaveLength(1);
    expect(told.warned.has('cost_micro_usd')).toBe(false);
  });

  it('are shown as open, warned and exhausted', () => {
    const states = [
      [null, 5],
      [100, 79],
      [100, 80],
      [100, 100],
    ].map(([limit, spent]) => budgetView({ ...account(0, spent ?? 0), limit: limit ?? null }).state);
    expect(states).toEqual(['open', 'open', 'warned', 'exhausted']);
  });

  it('are stored under the name of their organisation', () => {
    for (const scope of ['org', 'agent:fixer', 'agent:org:x']) expect(scopeOf('acme', storedScope('acme', scope))).toBe(scope);
    expect(storedScope('acme', 'agent:fixer')).not.toBe(storedScope('other', 'agent:fixer'));
  });
});
