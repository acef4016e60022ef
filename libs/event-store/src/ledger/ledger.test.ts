import { randomBytes } from 'node:crypto';
import { type EventDraft, Problem, type RecordedEvent, type ServiceName, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import { kekFromBytes } from '@fluidbox/seal';
import { startTestPostgres, type TestPostgres, until } from '@fluidbox/testing';
import type { Decision, EventStore, Fold, Ledger } from '../api';
import { clock, ids, leaseGranted, newRun } from '../fixtures/events';
import { createKekKeyring } from '../keyring';
import { createMemoryStore } from '../memory/memory-store';
import { createPostgresStore } from '../postgres/postgres-store';
import { testServiceUrl } from '../test-schema';
import { createLedger } from './create-ledger';

interface Counter {
  grants: number;
  last: number;
}
const counter: Fold<Counter> = {
  initial: () => ({ grants: 0, last: 0 }),
  evolve: (state, event) => {
    if (event.type === 'lease.granted') state.grants += 1;
    state.last = event.seq;
    return state;
  },
};
/** Grants the next lease; its number is the number of grants before it, so a lost update would show as a repeat. */
const grant = (state: Counter): Decision<number> => ({ events: [leaseGranted(state.grants + 1)], result: state.grants + 1 });
const kek = kekFromBytes(randomBytes(32));

function ledgerOf(store: EventStore, service: ServiceName = 'runs'): Ledger {
  return createLedger({ store, keyring: createKekKeyring({ store, kek, clock }), clock, ids, service });
}
const create = (ledger: Ledger, run: StreamRef): Promise<null> => {
  const keys = ledger.keyring.create(streamNameOf(run));
  return ledger.decide(counter, run, () => ({
    events: [
      {
        type: 'run.error',
        data: { code: 'first', reported_by: 'service' },
        content: { message: 'the word is xyzzy' },
        actor: 'service:runs',
      },
    ],
    result: null,
    createKeys: keys,
  }));
};

const kinds: readonly (readonly [string, (service: ServiceName) => Promise<EventStore>])[] = (() => {
  const memory = createMemoryStore();
  let database: Promise<string> | null = null;
  return [
    ['memory', async () => memory],
    [
      'Postgres',
      async (service) => {
        database ??= startTestPostgres().then(async (postgres) => {
          running = postgres;
          return (await postgres.createDatabase({ migrated: true })).url;
        });
        return createPostgresStore({ url: testServiceUrl(await database, service) });
      },
    ],
  ];
})();
let running: TestPostgres | null = null;
afterAll(async () => running?.stop());

describe.each(kinds)('ledger on %s', (_name, open) => {
  const opened: EventStore[] = [];
  const ledger = async (service: ServiceName = 'runs'): Promise<Ledger> => {
    const store = await open(service);
    opened.push(store);
    return ledgerOf(store, service);
  };
  afterAll(() => Promise.all(opened.map((store) => store.close())));

  it('folds, decides and appends; nothing to do appends nothing', async () => {
    const runs = await ledger();
    const run = newRun();
    expect(await runs.decide(counter, run, grant)).toBe(1);
    expect(await runs.decide(counter, run, grant)).toBe(2);
    expect(await runs.decide(counter, run, (state, version) => ({ events: [], result: [state.grants, version] }))).toEqual([2, 2]);
    expect(await runs.store.head(run)).toMatchObject({ version: 2 });
  });

  it('knows a stream by its organisation, too: under another one it is empty, however well it is known under its own', async () => {
    const runs = await ledger();
    const run = newRun();
    await runs.decide(counter, run, grant);
    expect((await runs.state(counter, { ...run, org: 'other' })).state).toEqual({ grants: 0, last: 0 });
    expect((await runs.state(counter, run)).state).toEqual({ grants: 1, last: 1 });
  });

  it('decides again on what it missed: three processes, no lost update, every decision ends', async () => {
    const processes = [await ledger(), await ledger(), await ledger()];
    const run = newRun();
    const numbers = await Promise.all(Array.from({ length: 45 }, (_, i) => (processes[i % 3] as Ledger).decide(counter, run, grant)));
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 45 }, (_, i) => i + 1));
  });

  it('hears nothing of others and is still right: the stale fold loses once and wins under the lock', async () => {
    const [a, b] = [await ledger(), await ledger()];
    const run = newRun();
    await a.decide(counter, run, grant);
    await b.state(counter, run);
    for (let i = 0; i < 5; i += 1) await a.decide(counter, run, grant);
    let asked = 0;
    const asking = (state: Counter): Decision<number> => {
      asked += 1;
      return grant(state);
    };
    expect(await b.decide(counter, run, asking)).toBe(7);
    expect(asked).toBe(2);
  });

  it('answers without appending when the second look shows that nothing is left to do', async () => {
    const [a, b] = [await ledger(), await ledger()];
    const run = newRun();
    await a.decide(counter, run, grant);
    await b.state(counter, run);
    await a.decide(counter, run, grant);
    const once = (state: Counter): Decision<string> =>
      state.grants < 2 ? { events: [leaseGranted(2)], result: 'granted' } : { events: [], result: 'was granted' };
    expect(await b.decide(counter, run, once)).toBe('was granted');
    expect(await a.store.head(run)).toMatchObject({ version: 2 });
  });

  it('keeps a fold current from the log, reads after a jump, ignores repeats', async () => {
    const [a, b] = [await ledger(), await ledger('gate')];
    const run = newRun();
    const messages: Parameters<Ledger['apply']>[0][] = [];
    a.store.onCommitted((message) => {
      if (message.id === run.id) messages.push(message);
    });
    // Callers are answered first, then the log hears of it; what comes closely together it hears as one.
    const heard = (seq: number) => until(() => messages.at(-1)?.lastSeq === seq || undefined);
    await a.decide(counter, run, grant);
    await heard(1);
    expect((await b.state(counter, run)).version).toBe(1);
    for (let seq = 2; seq <= 4; seq += 1) {
      await a.decide(counter, run, grant);
      await heard(seq);
    }
    const [first, second, , fourth] = messages;
    if (first === undefined || second === undefined || fourth === undefined) throw new Error('no messages');
    b.apply(second);
    b.apply(first);
    b.apply(second);
    expect(await b.state(counter, run)).toMatchObject({ version: 2, state: { grants: 2 } });
    b.apply(fourth);
    expect(await b.state(counter, run)).toMatchObject({ version: 4, state: { grants: 4 } });
    await a.decide(counter, run, grant);
    expect((await b.state(counter, run)).version).toBe(4);
    expect((await b.state(counter, run, { fresh: true })).version).toBe(5);
    b.apply({ ...fourth, firstSeq: 6, lastSeq: 6, events: null });
    expect((await b.state(counter, run)).version).toBe(5);
  });

  it('records facts at any version, fenced by the generation, and answers null on a closed stream', async () => {
    const runs = await ledger();
    const run = newRun();
    const fact: EventDraft = {
      type: 'tool.completed',
      data: { tool_call_id: 'c', tool: 'Bash', ok: true, reported_by: 'runner' },
      actor: 'runner',
    };
    await runs.decide(counter, run, () => ({ events: [leaseGranted(1)], result: null, setGeneration: 1 }));
    expect(await runs.record(run, [fact], { generation: 1 })).toEqual({ firstSeq: 2, lastSeq: 2 });
    await expect(runs.record(run, [fact], { generation: 0 })).rejects.toMatchObject({ code: 'stale_lease' });
    expect((await runs.state(counter, run)).version).toBe(2);
    await runs.decide(counter, run, () => ({ events: [leaseGranted(2)], result: null, closes: true }));
    expect(await runs.record(run, [fact])).toBeNull();
    await expect(runs.decide(counter, run, grant)).rejects.toMatchObject({ code: 'run_not_active' });
  });

  it('lets a service append only the types that name it as their appender', async () => {
    const [runs, gate] = [await ledger('runs'), await ledger('gate')];
    const run = newRun();
    const exceeded: EventDraft = { type: 'budget.exceeded', data: { budget: 'tool_calls', limit: 1, spent: 1 }, actor: 'service:gate' };
    await expect(gate.record(run, [leaseGranted(1)])).rejects.toMatchObject({
      code: 'internal',
      message: 'gate is not an appender of lease.granted',
    });
    expect(await runs.record(run, [leaseGranted(1)])).toEqual({ firstSeq: 1, lastSeq: 1 });
    expect(await gate.record(run, [exceeded])).toEqual({ firstSeq: 2, lastSeq: 2 });
    await expect((await ledger('approvals')).record(run, [exceeded])).rejects.toBeInstanceOf(Problem);
  });

  it('seals content with keys stored in the same group and opens it again in another process', async () => {
    const [runs, gate] = [await ledger('runs'), await ledger('gate')];
    const run = newRun();
    await create(runs, run);
    expect(await gate.content(run, 1, 'rest')).toEqual({ message: 'the word is xyzzy' });
    expect(await gate.content(run, 1, 'projection')).toBeNull();
    expect(await gate.content(run, 2, 'rest')).toBeNull();
    const [event] = await gate.store.readWithHashes(run);
    expect(event?.body).not.toContain('xyzzy');
    expect(JSON.parse(event?.body ?? '')).toMatchObject({ content: { rest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) } });
    const sealed = await gate.store.readContent(run, [1], 'rest');
    expect(sealed.get(1)?.toString('latin1')).not.toContain('xyzzy');
  });

  it('forgets a fold that failed instead of keeping half a state', async () => {
    const runs = await ledger();
    const run = newRun();
    let fail = false;
    const fragile: Fold<{ seen: number[] }> = {
      initial: () => ({ seen: [] }),
      evolve: (state, event: RecordedEvent) => {
        state.seen.push(event.seq);
        if (fail) throw new Error('broken fold');
        return state;
      },
    };
    await runs.decide(fragile, run, () => ({ events: [leaseGranted(1)], result: null }));
    fail = true;
    await expect(runs.decide(fragile, run, () => ({ events: [leaseGranted(2)], result: null }))).rejects.toThrow('broken fold');
    fail = false;
    expect(await runs.state(fragile, run)).toEqual({ version: 2, state: { seen: [1, 2] } });
  });
});
