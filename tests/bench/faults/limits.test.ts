import { randomUUID } from 'node:crypto';
import { type EventDraft, runStream, streamNameOf } from '@fluidbox/contracts';
import { createLedger, verifyChain } from '@fluidbox/event-store';
import { createRunKeys, kekFromBytes } from '@fluidbox/seal';
import { uuidV7Ids } from '@fluidbox/service-kit';
import { fakeClock } from '@fluidbox/testing';
import { allOf, decision } from '../append-sides';
import { type Servers, startServers } from '../support/servers';

const MiB = 1024 * 1024;

describe('what the ledger takes', () => {
  let servers: Servers;
  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => servers?.stop());

  /** With keys, so that events may have content. */
  const ledgerWithKeys = async (runId: string) => {
    const context = await servers.context('gate');
    const { keys } = createRunKeys(kekFromBytes(Buffer.alloc(32, 7)), `run-${runId}`);
    const keyring = { ...context.keyring, keysOf: async () => keys };
    return createLedger({ ...context, keyring, service: 'gate' });
  };
  const requested = (call: number, text: string): EventDraft => ({
    type: 'tool.requested',
    actor: 'runner',
    data: { tool_call_id: `call_${call}`, tool: 'Bash', input_digest: `sha256:${'ab'.repeat(32)}`, generation: 1 },
    content: { input: { command: text }, summary: 'a command' },
  });

  it('a content of 1 MiB is stored; one over 4 MiB is refused by that limit, and nothing of its group is', async () => {
    const stream = runStream(randomUUID(), 'default');
    const { ledger, store } = { ledger: await ledgerWithKeys(stream.id), store: (await servers.context('gate')).store };
    const tooLarge = ledger.record(stream, [requested(1, 'small'), requested(2, 'x'.repeat(4 * MiB))]);
    await expect(tooLarge).rejects.toMatchObject({ code: 'payload_too_large', message: expect.stringContaining(`at most ${4 * MiB}`) });
    expect(await store.head(stream)).toBeNull();
    await ledger.record(stream, [requested(1, 'small'), requested(2, 'x'.repeat(MiB))]);
    expect(await ledger.content(stream, 2, 'rest')).toEqual({ input: { command: 'x'.repeat(MiB) }, summary: 'a command' });
  });

  it('a ledger event of 1 MiB is refused by the limit of 64 KiB, and nothing of its group is stored', async () => {
    const { ledger, store } = await servers.context('run-specs');
    const stream = { category: 'policy' as const, id: `limits-${randomUUID()}`, org: 'default' };
    const created = (name: string): EventDraft => ({ type: 'policy.created', actor: 'principal:ada', data: { name, by: 'ada' } });
    const refused = ledger.record(stream, [created('fine'), created('n'.repeat(MiB))]);
    await expect(refused).rejects.toMatchObject({ code: 'payload_too_large', message: expect.stringContaining('at most 65536') });
    expect(await store.head(stream)).toBeNull();
    expect(await ledger.record(stream, [created('fine'), created('n'.repeat(60_000))])).toMatchObject({ lastSeq: 2 });
  });

  it('a clock that goes back changes no order: seq, chain and ids ascend, and what the clock said is what is recorded', async () => {
    const context = await servers.context('gate');
    const clock = fakeClock('2026-11-30T12:00:00.000Z');
    const ledger = createLedger({ ...context, clock, ids: uuidV7Ids(clock), service: 'gate' });
    const stream = runStream(randomUUID(), 'default');
    for (let event = 1; event <= 6; event += 1) {
      await ledger.record(stream, [decision(event)]);
      if (event === 3) clock.advance(-3_600_000);
    }
    const rows = await allOf(context, stream);
    expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(verifyChain(rows)).toMatchObject({ ok: true, seq: 6 });
    expect(rows.map(({ occurredAt }) => occurredAt.slice(11, 13))).toEqual(['12', '12', '12', '11', '11', '11']);
    const ids = rows.map(({ eventId }) => eventId);
    expect([...ids].sort()).toEqual(ids);
    // Readers of the global order see them as they were appended.
    const page = await context.store.scan({ after: (rows[0]?.globalPosition ?? 1) - 1, limit: 100, categories: ['run'] });
    const own = page.events.filter((event) => event.stream === streamNameOf(stream));
    expect(own.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
  });
});
