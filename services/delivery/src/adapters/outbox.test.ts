import { type EventDraft, Problem, type StreamRef } from '@fluidbox/contracts';
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

/** The table and the ledger as the recorder sees them; a type of a newer version is refused, and sometimes the ledger is away. */
function world(rows: readonly ReturnType<typeof row>[]) {
  let outbox = [...rows];
  const state = { now: 0, away: false, asked: 0 };
  const recorded: string[] = [];
  const sql = {
    query: async (text: string, values: unknown[] = []) => {
      const named = new Set(values[0] as string[]);
      if (text.startsWith('select')) return { rows: outbox.filter(({ stream_id }) => !named.has(stream_id)).slice(0, 200), rowCount: 0 };
      outbox = outbox.filter(({ event_id }) => !named.has(event_id));
      return { rows: [], rowCount: 0 };
    },
  };
  const ledger = {
    record: async (_: StreamRef, [draft]: readonly EventDraft[]) => {
      state.asked += 1;
      if (state.away) throw new Problem('unavailable', 'the database does not answer');
      if ((draft?.type as string) === 'webhook.newer') throw new Error('webhook.newer is unknown');
      recorded.push(String(draft?.eventId));
      return [];
    },
  };
  const failures: unknown[] = [];
  const onFailure = (_: string, error: unknown): void => void failures.push(error);
  return {
    record: recorder(sql as never, ledger as never, { now: () => new Date(state.now) }, onFailure),
    state,
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
    expect(failures).toEqual([new Error('webhook.newer is unknown')]);
  });

  it('goes past any number of them, does not ask for them with every run, and does so again a minute later', async () => {
    const broken = Array.from({ length: 450 }, (_, n) => row(`b${n}`, `broken${n}`, 'webhook.newer'));
    const { record, state, recorded, failures } = world([...broken, row('1', 'a'), row('2', 'a')]);
    await record();
    expect([recorded, failures.length]).toEqual([['1', '2'], 450]);
    await record();
    expect(state.asked).toBe(452);
    state.now += 60_000;
    await record();
    expect(state.asked).toBe(902);
  });

  it('does not go on while the ledger is away, and empties it once it is back', async () => {
    const { record, state, left } = world(Array.from({ length: 450 }, (_, n) => row(`m${n}`, `s${n}`)));
    state.away = true;
    await record();
    expect([state.asked, left().length]).toEqual([200, 450]);
    state.away = false;
    await record();
    expect(left()).toEqual([]);
  });
});
