import { randomBytes } from 'node:crypto';
import { MemoryHub } from '@fluidbox/bus';
import { type EventDraft, type EventView, runStream, type ServiceName } from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';
import { fakeClock, sequentialIds, until } from '@fluidbox/testing';
import { watchRun } from './watch-run';

const runId = '0198b3a0-0000-7000-8000-000000000002';
const stream = runStream(runId, 'default');
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

/** A ledger in memory whose batches reach a bus in memory; `lost` swallows the wake-ups, as a broken bus does. */
async function world({ lost = false, mayGoOn = async () => true } = {}) {
  const clock = fakeClock();
  const ids = sequentialIds();
  const store = createMemoryStore();
  const bus = new MemoryHub().bus();
  if (!lost) store.onCommitted((committed) => bus.publishLog(committed));
  const keyring = createKekKeyring({ store, kek: kekFromBytes(randomBytes(32)), clock });
  const ledgerOf = (service: ServiceName) => createLedger({ store, keyring, clock, ids, service });
  const runs = ledgerOf('runs');
  await runs.decide(runFold, stream, () => ({ createKeys: keyring.create(`run-${runId}`), result: undefined, events: [message('one')] }));
  const seen: EventView[] = [];
  let close: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    close = resolve;
  });
  const watch = (after = 0, takes: (event: EventView) => boolean = () => true) =>
    watchRun({ ledger: ledgerOf('gateway'), bus, pollMs: lost ? 20 : 60_000, mayGoOn }, 'default', runId, after, {
      closed,
      send: async (event) => takes(event) && seen.push(event) > 0,
    });
  return { runs, seen, close, watch, add: (...events: EventDraft[]) => runs.record(stream, events) };
}
const seqs = (events: readonly EventView[]) => events.map((event) => event.seq);

describe('watching a run', () => {
  it('[API-3] sends what is there, then what comes, once and in order, and ends with the terminal event', async () => {
    const { seen, watch, add } = await world();
    const watching = watch();
    await until(() => seen.length === 1);
    await add(message('two'), message('three'));
    await until(() => seen.length === 3);
    await add(end());
    await watching;
    expect(seqs(seen)).toEqual([1, 2, 3, 4]);
    expect(seen.map((event) => event.content?.text)).toEqual(['one', 'two', 'three', undefined]);
  });

  it('[API-3] starts after the event the client has', async () => {
    const { seen, watch, add } = await world();
    await add(message('two'), end());
    await watch(2);
    expect(seqs(seen)).toEqual([3]);
  });

  it('sends nothing more once the watcher may not see the run any longer, and returns', async () => {
    let allowed = true;
    const { seen, watch, add } = await world({ mayGoOn: async () => allowed });
    const watching = watch();
    await until(() => seen.length === 1);
    await add(message('two'));
    await until(() => seen.length === 2);
    allowed = false;
    await add(message('not for you'));
    await watching;
    expect(seqs(seen)).toEqual([1, 2]);
  });

  it('loses nothing when the bus wakes nobody', async () => {
    const { seen, watch, add } = await world({ lost: true });
    const watching = watch();
    await until(() => seen.length === 1);
    await add(message('two'), end());
    await watching;
    expect(seqs(seen)).toEqual([1, 2, 3]);
  });

  it('stops for a client that is gone and for one that takes nothing', async () => {
    const gone = await world();
    const watching = gone.watch();
    await until(() => gone.seen.length === 1);
    gone.close();
    await watching;
    const slow = await world();
    await slow.watch(0, () => false);
    expect(slow.seen).toEqual([]);
  });
});
