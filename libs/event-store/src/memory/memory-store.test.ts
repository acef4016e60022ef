import { groupOf, newRun } from '../fixtures/events';
import { describeEventStore } from '../fixtures/store-suite';
import { createMemoryStore } from './memory-store';

describeEventStore('memory', async (limits) => {
  const store = createMemoryStore();
  for (const { scope, period, limit } of limits) store.accounts.of(scope, period).limit = limit;
  return store;
});

it('moves budget accounts with the event in memory too, all or none; a new month takes the limit of every month', async () => {
  const store = createMemoryStore();
  store.accounts.of('org:acme', 'month').limit = 100;
  const run = newRun();
  const reserve = (amount: number, period = '2026-11') => [
    { scope: 'agent:a', period, reserve: amount, settle: 0 },
    { scope: 'org:acme', period, reserve: amount, settle: 0 },
  ];
  const append = async (accounts: ReturnType<typeof reserve>) => {
    const [result] = await store.append([groupOf(run, 'any', 1, { accounts })]);
    return result?.ok === true ? 'ok' : result?.reason;
  };
  expect([await append(reserve(60)), await append(reserve(50)), await append(reserve(40))]).toEqual(['ok', 'over_account', 'ok']);
  expect(await append(reserve(100, '2026-12'))).toBe('ok');
  expect(await append([{ scope: 'org:acme', period: '2026-11', reserve: -60, settle: 125 }])).toBe('ok');
  expect(store.accounts.of('agent:a', '2026-11')).toMatchObject({ limit: null, reserved: 100, spent: 0 });
  expect(store.accounts.of('org:acme', '2026-11')).toMatchObject({ limit: 100, reserved: 40, spent: 125 });
  expect(await store.head(run)).toMatchObject({ version: 4 });
});
