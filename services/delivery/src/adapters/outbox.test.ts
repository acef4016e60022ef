import type { EventDraft, StreamRef } from '@fluidbox/contracts';
import { recorder } from './outbox';

const row = (event_id: string, stream_id: string, type = 'webhook.removed') => ({
  event_id,
  org_id: 'default',
  category: 'webhook',
  stream_id,
  type,
  actor: 'principal:ada',
  data: {},
});

/** The table and the ledger as the recorder sees them; a type of a newer version is refused. */
function world(rows: readonly ReturnType<typeof row>[]) {
  let outbox = [...rows];
  const recorded: string[] = [];
  const sql = {
    query: async (text: string, values: unknown[] = []) => {
      if (text.startsWith('select')) return { rows: outbox.slice(0, 200), rowCount: 0 };
      outbox = outbox.filter(({ event_id }) => !(values[0] as string[]).includes(event_id));
      return { rows: [], rowCount: 0 };
    },
  };
  const ledger = {
    record: async (_: StreamRef, [draft]: readonly EventDraft[]) => {
      if ((draft?.type as string) === 'webhook.newer') throw new Error('webhook.newer is unknown');
      recorded.push(String(draft?.eventId));
      return [];
    },
  };
  const failures: unknown[] = [];
  const onFailure = (_: string, error: unknown): void => void failures.push(error);
  return {
    record: recorder(sql as never, ledger as never, onFailure),
    recorded,
    failures,
    left: () => outbox.map(({ event_id }) => event_id),
  };
}

describe('the outbox', () => {
  it('is emptied into the ledger, in the order of each stream', async () => {
    const { record, recorded, left } = world([row('1', 'a'), row('2', 'a'), row('3', 'b')]);
    await record();
    expect(recorded.filter((id) => id !== '3')).toEqual(['1', '2']);
    expect([recorded.length, left()]).toEqual([3, []]);
  });

  it('keeps an event that cannot be appended, with what stands behind it on its stream, says so, and nothing else waits for it', async () => {
    const many = Array.from({ length: 250 }, (_, n) => row(`m${n}`, `s${n}`));
    const { record, recorded, failures, left } = world([row('1', 'a'), row('2', 'a', 'webhook.newer'), row('3', 'a'), ...many]);
    await record();
    expect(left()).toEqual(['2', '3']);
    expect(recorded).toHaveLength(251);
    const told = failures.length;
    await record();
    expect(left()).toEqual(['2', '3']);
    expect(recorded).toHaveLength(251);
    expect(failures.slice(told)).toEqual([new Error('webhook.newer is unknown')]);
  });
});
