import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { MemoryHub } from '@fluidbox/bus';
import {
  type EventDraft,
  type EventView,
  type LogMessage,
  type Principal,
  Problem,
  runStream,
  type ServiceName,
} from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';
import { fakeClock, sequentialIds, until } from '@fluidbox/testing';
import fc from 'fast-check';
import { readEvents } from './read-events';
import type { Sink } from './run-channel';
import { type HubLimits, WatchHub, type Watching } from './watch-hub';

const runId = '0198b3a0-0000-7000-8000-000000000002';
const stream = runStream(runId, 'default');
const run = { id: runId, org: 'default', invokedBy: 'ann' };
const draft = (type: string, data: Record<string, unknown>, content?: unknown) =>
  ({ type, actor: 'service:test', data, ...(content === undefined ? {} : { content }) }) as unknown as EventDraft;
const message = (text: string) =>
  draft('agent.message', { role: 'assistant', digest: `sha256:${'a'.repeat(64)}`, chars: text.length }, { text });
const end = () =>
  draft('run.result', {
    outcome: 'completed',
    reason: 'runner_result',
    coverage: 'full',
    calls: { model: 0, decided: 0, rejected_by_harness: 0, no_effect: 0, provider_executed: 0, uncovered: 0, unknown: 0 },
    decisions: { allow: 0, deny: 0, ask: 0 },
    usage: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 },
    cost_micro_usd: 0,
    diff_sha256: null,
    duration_ms: 1,
  });

/** A client that keeps what it was sent. `takes`: false while its connection is full. */
class Client implements Sink {
  text = '';
  ended = false;
  wasCut = false;
  takes = true;
  readonly buffers: Buffer[] = [];
  watching: Watching | null = null;
  write(bytes: Buffer): boolean {
    this.text += bytes.toString();
    this.buffers.push(bytes);
    return this.takes;
  }
  end(lastWords?: Buffer): void {
    this.text += lastWords?.toString() ?? '';
    this.ended = true;
  }
  cut(): void {
    this.wasCut = true;
  }
  /** The connection is empty again. */
  drain(): void {
    this.watching?.drained();
  }
  get seqs(): number[] {
    return [...this.text.matchAll(/^id: (\d+)$/gm)].map(([, seq]) => Number(seq));
  }
  get events(): EventView[] {
    return [...this.text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? '') as EventView);
  }
}

/** A ledger in memory whose batches reach the hub over a bus in memory; `lost` swallows the wake-ups, as a broken bus does. */
async function world({ lost = false, limits = {} as Partial<HubLimits> } = {}) {
  const clock = fakeClock();
  const store = createMemoryStore();
  const bus = new MemoryHub();
  if (!lost) store.onCommitted((committed) => bus.publish(committed));
  const keyring = createKekKeyring({ store, kek: kekFromBytes(randomBytes(32)), clock });
  const ids = sequentialIds();
  const ledgerOf = (service: ServiceName) => createLedger({ store, keyring, clock, ids, service });
  const runs = ledgerOf('runs');
  const gateway = ledgerOf('gateway');
  await runs.decide(runFold, stream, () => ({ createKeys: keyring.create(`run-${runId}`), result: undefined, events: [message('one')] }));
  const reads: number[] = [];
  const lookups: (string | undefined)[] = [];
  const failures: string[] = [];
  const state = { principal: { name: 'ann', role: 'member', org: 'default' } as Principal | Problem, broken: false };
  const hub = new WatchHub(
    {
      readEvents: async (org, id, options) => {
        if (state.broken) throw new Error('the database is away');
        const events = await readEvents(gateway, org, id, options);
        reads.push(...events.map((event) => event.seq));
        return events;
      },
      heads: (org, names) => store.heads(org, names),
      authenticate: async (authorization) => {
        lookups.push(authorization);
        if (state.principal instanceof Problem) throw state.principal;
        return state.principal;
      },
      now: () => performance.now(),
      onFailure: (doing) => failures.push(doing),
    },
    { coalesceMs: 1, tickMs: 5, lookMs: 20, ...limits },
  );
  bus.bus().followLog(['run'], (heard: LogMessage) => hub.hear(heard));
  hub.start();
  const watch = (after = 0, client = new Client(), authorization = 'Bearer a') => {
    client.watching = hub.watch({ run, after, authorization }, client);
    return client;
  };
  return { hub, runs, store, watch, reads, lookups, failures, state, add: (...events: EventDraft[]) => runs.record(stream, events) };
}
const texts = (client: Client) => client.events.map((event) => event.content?.text);

describe('watching runs', () => {
  const hubs: WatchHub[] = [];
  const start = async (options?: Parameters<typeof world>[0]) => {
    const made = await world(options);
    hubs.push(made.hub);
    return made;
  };
  afterEach(async () => void (await Promise.all(hubs.splice(0).map((hub) => hub.stop()))));

  it('[API-3] sends what is there, then what comes, once and in order, and ends with the terminal event', async () => {
    const { watch, add, hub } = await start();
    const client = watch();
    await until(() => client.seqs.length === 1);
    await add(message('two'), message('three'));
    await until(() => client.seqs.length === 3);
    await add(end());
    await until(() => client.ended);
    expect(client.seqs).toEqual([1, 2, 3, 4]);
    expect(texts(client)).toEqual(['one', 'two', 'three', undefined]);
    expect(hub.watchers).toBe(0);
  });

  it('[WATCH-1] reads an event once and encodes it once, however many watch', async () => {
    const { watch, add, reads } = await start();
    const clients = Array.from({ length: 50 }, () => watch());
    await until(() => clients.every((client) => client.seqs.length === 1));
    for (let i = 2; i <= 20; i += 1) {
      await add(message(`text ${i}`));
      if (i % 5 === 0) await delay(5);
    }
    await until(() => clients.every((client) => client.seqs.length === 20));
    expect(reads).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    const [first, ...others] = clients;
    // The very same bytes, not equal ones.
    for (const other of others) expect(other.buffers.every((buffer, i) => buffer === first?.buffers[i])).toBe(true);
  });

  it('H-EV-02 · a reconnect while events come: 42 to 47 once each, in order, whatever arrives during the replay', async () => {
    const { watch, add } = await start();
    await add(...Array.from({ length: 44 }, (_, i) => message(`${i + 2}`)));
    const client = watch(41);
    await Promise.all([add(message('46')), add(message('47'))]);
    await until(() => client.seqs.length >= 6);
    await delay(10);
    expect(client.seqs).toEqual([42, 43, 44, 45, 46, 47]);
  });

  it('sends each event once and in order from anywhere, with any pauses of anybody (property)', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ after: fc.nat(30), full: fc.boolean(), join: fc.nat(30) }), { minLength: 1, maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 8 }),
        async (watchers, groups) => {
          const { watch, add } = await start();
          const total = 1 + groups.reduce((sum, size) => sum + size, 0);
          const clients: { after: number; client: Client }[] = [];
          let last = 1;
          const join = () => {
            for (const each of watchers.filter(({ join }) => join === last % 30 || (join >= total && last === 1))) {
              const client = new Client();
              client.takes = !each.full;
              const after = Math.min(each.after, last);
              watch(after, client);
              clients.push({ after, client });
            }
          };
          join();
          for (const size of groups) {
            await add(...Array.from({ length: size }, () => message('x')));
            last += size;
            join();
          }
          await until(() => {
            for (const { client } of clients) client.drain();
            return clients.every(({ after, client }) => client.seqs.length >= total - after);
          });
          for (const { after, client } of clients)
            expect(client.seqs).toEqual(Array.from({ length: total - after }, (_, i) => after + 1 + i));
        },
      ),
      { numRuns: 40, seed: 11 },
    );
  });

  it('loses nothing when the bus wakes nobody', async () => {
    const { watch, add } = await start({ lost: true });
    const client = watch();
    await until(() => client.seqs.length === 1);
    await add(message('two'), end());
    await until(() => client.ended);
    expect(client.seqs).toEqual([1, 2, 3]);
  });

  it('goes on by itself after a read that failed, and asks who had got nothing yet to come back', async () => {
    const { watch, add, state, failures } = await start();
    const client = watch();
    await until(() => client.seqs.length === 1);
    state.broken = true;
    await add(message('two'));
    await until(() => failures.length > 0);
    const late = watch(0);
    late.text = '';
    await delay(30);
    state.broken = false;
    await until(() => client.seqs.length === 2);
    expect(client.wasCut).toBe(false);
  });

  it('H-EV-03 · a reader that does not read gets one batch and is cut; the other one gets everything; it resumes', async () => {
    const { watch, add } = await start({ limits: { slowMs: 60 } });
    const [slow, quick] = [new Client(), new Client()];
    slow.takes = false;
    watch(0, slow);
    watch(0, quick);
    await until(() => slow.seqs.length === 1);
    for (let i = 0; i < 40; i += 1) await add(...Array.from({ length: 500 }, () => message('x'.repeat(2_000))));
    const all = (from: number) => Array.from({ length: 20_001 - from }, (_, i) => from + 1 + i);
    await until(() => quick.text.includes('id: 20001\n'), { everyMs: 100 });
    expect(quick.seqs).toEqual(all(0));
    await until(() => slow.wasCut);
    // The first event, and what came in the batch behind it.
    expect(slow.text.length).toBeLessThan(300_000);
    expect(quick.wasCut).toBe(false);
    const last = slow.seqs.at(-1) ?? 0;
    const back = watch(last);
    await until(() => back.text.includes('id: 20001\n'), { everyMs: 100 });
    expect(back.seqs).toEqual(all(last));
  });

  it('gives a connection that was full the rest when it takes again', async () => {
    const { watch, add } = await start();
    const client = new Client();
    client.takes = false;
    watch(0, client);
    await until(() => client.seqs.length === 1);
    await add(message('two'));
    await delay(10);
    expect(client.seqs).toEqual([1]);
    client.takes = true;
    client.drain();
    await until(() => client.seqs.length === 2);
  });

  it('refuses a watcher too many, of the process, of a run and of what connections hold; the twin is let in', async () => {
    const { watch, hub } = await start({ limits: { watchersMax: 2, shareOfToken: 1 } });
    const first = watch();
    watch();
    expect(() => watch()).toThrow(Problem);
    first.watching?.closed();
    expect(() => watch()).not.toThrow();
    expect(hub.watchers).toBe(2);
    const crowded = await start({ limits: { watchersOfRunMax: 1 } });
    crowded.watch();
    expect(() => crowded.watch()).toThrow(/this run has too many/);
    const full = await start({ limits: { heldBytesMax: 10 } });
    const client = new Client();
    client.takes = false;
    full.watch(0, client);
    await until(() => client.wasCut);
  });

  it('lets no token shut out everybody else, by many streams or by streams that nobody reads', async () => {
    const { watch, hub } = await start({ limits: { watchersMax: 8 } });
    const [first] = [watch(), watch()];
    expect(() => watch()).toThrow(/this token has too many/);
    expect(() => watch(0, new Client(), 'Bearer b')).not.toThrow();
    first?.watching?.closed();
    expect(() => watch()).not.toThrow();
    expect(hub.watchers).toBe(3);
    const reader = watch(0, new Client(), 'Bearer c');
    await until(() => reader.seqs.length === 1);
    const slow = await start({ limits: { heldBytesMax: reader.text.length * 6 } });
    const clients = ['a', 'a', 'a', 'b'].map((name) => {
      const client = new Client();
      client.takes = false;
      return slow.watch(0, client, `Bearer ${name}`);
    });
    await until(() => clients.filter((client) => client.wasCut).length === 2);
    // What one client holds fits into a share, what two hold does not; the other token's is not touched.
    expect(clients.map((client) => client.wasCut)).toEqual([false, true, true, false]);
    clients[0]?.drain();
    expect(() => slow.watch(0, new Client())).not.toThrow();
  });

  it('[WATCH-2] ends with a word of its own when the token is not good any more, and when it may not see the run any longer', async () => {
    const { watch, state, lookups } = await start();
    const clients = [watch(), watch(), watch(0, new Client(), 'Bearer b')];
    await until(() => lookups.length >= 4);
    // Each token once per look.
    expect(lookups.filter((token) => token === 'Bearer a').length).toBeLessThanOrEqual(
      lookups.filter((token) => token === 'Bearer b').length + 1,
    );
    expect(clients.some((client) => client.ended)).toBe(false);
    state.principal = new Problem('unauthorized', 'revoked');
    await until(() => clients.every((client) => client.ended));
    expect(clients[0]?.text).toMatch(/event: end\ndata: \{"code":"unauthorized"/);
    state.principal = { name: 'bob', role: 'member', org: 'default' };
    const other = watch();
    await until(() => other.ended);
    expect(other.text).toMatch(/event: end\ndata: \{"code":"forbidden"/);
  });

  it('does not take a database that is away for a revoked token', async () => {
    const { watch, state, lookups, failures } = await start();
    const client = watch();
    state.principal = new Problem('unavailable', 'the database is away');
    await until(() => lookups.length >= 2 && failures.length > 0);
    expect([client.ended, client.wasCut]).toEqual([false, false]);
  });

  it('beats while nothing happens, and not where the connection is full', async () => {
    const { watch } = await start({ limits: { beatMs: 20 } });
    const beats = (client: Client): number => (client.text.match(/: beat/g) ?? []).length;
    const [idle, full] = [watch(), new Client()];
    full.takes = false;
    watch(0, full);
    await until(() => full.seqs.length === 1);
    const [before, once] = [full.text, beats(idle)];
    await until(() => beats(idle) >= once + 2);
    expect(full.text).toBe(before);
  });

  it('keeps nothing of a run that nobody watches', async () => {
    const { watch, hub, add, reads } = await start();
    const client = watch();
    await until(() => client.seqs.length === 1);
    client.watching?.closed();
    await add(message('two'));
    await delay(10);
    expect([hub.watchers, client.seqs, reads]).toEqual([0, [1], [1]]);
  });
});
