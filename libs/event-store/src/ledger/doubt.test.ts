import { type EventDraft, runStream } from '@fluidbox/contracts';
import { grantedKeyring } from '@fluidbox/seal';
import { fakeClock, sequentialIds } from '@fluidbox/testing';
import { createMemoryStore } from '../memory/memory-store';
import { createLedger } from './create-ledger';

describe('a cached fold', () => {
  const stream = runStream('0198b3a0-0000-7000-8000-000000000009', 'default');
  const count = { initial: () => 0, evolve: (events: number) => events + 1 };
  const draft: EventDraft = {
    type: 'run.quiesce_requested',
    actor: 'service:runs',
    data: { deadline_at: '2026-01-01T00:00:00.000Z', reason: 'wall_clock' },
  };

  it('stays behind when messages of the log are lost, and is read on once it is doubted', async () => {
    const [store, clock, ids] = [createMemoryStore(), fakeClock(), sequentialIds()];
    // Two processes without a log between them.
    const ledgerOf = () => createLedger({ store, keyring: grantedKeyring('runs'), clock, ids, service: 'runs' });
    const [ours, theirs] = [ledgerOf(), ledgerOf()];
    await ours.record(stream, [draft]);
    expect((await ours.state(count, stream)).version).toBe(1);
    await theirs.record(stream, [draft]);
    expect((await ours.state(count, stream)).version).toBe(1);
    ours.doubt();
    expect(await ours.state(count, stream)).toEqual({ state: 2, version: 2 });
  });
});
