import { randomBytes } from 'node:crypto';
import { type EventDraft, type Principal, runStream } from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';
import { createdRun, fakeClock, sequentialIds } from '@fluidbox/testing';
import fc from 'fast-check';
import { readSession } from './read-run';

const runId = '0198b3a0-0000-7000-8000-000000000003';
const stream = runStream(runId, 'default');
const ada: Principal = { name: 'ada', role: 'member', org: 'default' };
const status = (from: string, to: string, more: object = {}) =>
  ({ type: 'session.status_changed', actor: 'service:runs', data: { from, to, reason: 'launched', ...more } }) as EventDraft;
const created: EventDraft = {
  type: 'session.created',
  actor: 'principal:ada',
  data: createdRun(runId, { invoked_by: 'ada' }),
  content: { task: 'fix it', system_prompt: null },
};
const steps: readonly EventDraft[] = [
  status('created', 'provisioning'),
  { type: 'lease.granted', actor: 'service:runs', data: { generation: 1, valid_until: '2026-11-29T12:15:00.000Z' } },
  status('provisioning', 'initializing'),
  status('initializing', 'running', { deadline_at: '2026-11-29T12:30:00.000Z' }),
  { ...status('running', 'finalizing', { outcome: 'completed' }), content: { summary: 'done' } } as EventDraft,
];

function world() {
  const clock = fakeClock();
  const store = createMemoryStore();
  const keyring = createKekKeyring({ store, kek: kekFromBytes(randomBytes(32)), clock });
  const ids = sequentialIds();
  const ledgerOf = (service: 'runs' | 'gateway') => createLedger({ store, keyring, clock, ids, service });
  const runs = ledgerOf('runs');
  const start = () =>
    runs.decide(runFold, stream, () => ({ createKeys: keyring.create(`run-${runId}`), result: undefined, events: [created] }));
  return { clock, ledger: ledgerOf('gateway'), start, add: (event: EventDraft) => runs.record(stream, [event]) };
}

describe('a run as it stood', () => {
  it('[READ-2] after each of its events is what it was when that event was the last, and at the last what it is (property)', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(steps.length - 1), { maxLength: 12 }), async (picks) => {
        const { ledger, start, add, clock } = world();
        await start();
        const asItWas = [await readSession(ledger, ada, runId)];
        for (const pick of picks) {
          clock.advance(1_000);
          await add(steps[pick] as EventDraft);
          asItWas.push(await readSession(ledger, ada, runId));
        }
        for (const [index, view] of asItWas.entries()) expect(await readSession(ledger, ada, runId, index + 1)).toEqual(view);
      }),
      { numRuns: 25, seed: 5 },
    );
  });

  it('is refused beyond the last event, and to who may not see the run now', async () => {
    const { ledger, start } = world();
    await start();
    await expect(readSession(ledger, ada, runId, 2)).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'at: the run has 1 events',
    });
    await expect(readSession(ledger, { ...ada, name: 'bob' }, runId, 1)).rejects.toMatchObject({ code: 'not_found' });
    expect(await readSession(ledger, ada, runId, 1)).toMatchObject({ task: 'fix it', last_seq: 1 });
  });
});
