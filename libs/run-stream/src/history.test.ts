import { type EventType, historyTimesMax, type RecordedEvent } from '@fluidbox/contracts';
import { evolveRun, historyOf, historyWithout, initialRun, type RunState } from '.';

const digest = (name: string) => `sha256:${Buffer.from(name).toString('hex').padEnd(64, '0').slice(0, 64)}`;
const t0 = 1_800_000_000_000;
type Given = readonly [EventType, Record<string, unknown>];

const fold = (...given: readonly Given[]): RunState =>
  given.reduce(
    (state, [type, data], index) =>
      evolveRun(state, {
        seq: index + 1,
        globalPosition: index + 1,
        eventId: String(index),
        org: 'default',
        stream: 'run-1',
        type,
        version: 1,
        actor: 'service:test',
        occurredAt: new Date(t0 + (index + 1) * 1_000).toISOString(),
        data,
      } satisfies RecordedEvent),
    initialRun(),
  );
const asked = (id: string, ...matches: string[]): Given => [
  'tool.requested',
  { tool_call_id: id, tool: 'Bash', input_digest: digest(id), generation: 1, ...(matches.length === 0 ? {} : { matches }) },
];
const decided = (id: string, verdict: 'allow' | 'deny', more = {}): Given => [
  'tool.decision',
  { tool_call_id: id, tool: 'Bash', verdict, source: 'policy', input_digest: digest(id), code: 'x', ...more },
];
const completed = (id: string, ok: boolean, tool = 'Bash'): Given => [
  'tool.completed',
  { tool_call_id: id, tool, ok, reported_by: 'runner' },
];

describe('the history of a run', () => {
  it('holds a place for a call that waits, counts it once it is allowed, and frees the place when it is denied', () => {
    expect(historyOf(fold(asked('a', '0.count')).history)).toEqual({ '0.count': { allowed: [], total: 0, pending: 1 } });
    expect(historyOf(fold(asked('a', '0.count'), decided('a', 'allow')).history)).toEqual({
      '0.count': { allowed: [{ at: t0 + 2_000, ok: null }], total: 1, pending: 0 },
    });
    expect(historyOf(fold(asked('a', '0.count'), decided('a', 'deny')).history)).toEqual({
      '0.count': { allowed: [], total: 0, pending: 0 },
    });
  });

  it('a call may count for several conditions, and the runner’s first word about it stands in all of them', () => {
    const run = fold(asked('a', '0.requires', '1.rate'), decided('a', 'allow'), completed('a', false), completed('a', true));
    const line = { allowed: [{ at: t0 + 2_000, ok: false }], total: 1, pending: 0 };
    expect(historyOf(run.history)).toEqual({ '0.requires': line, '1.rate': line });
  });

  it('believes no report about a call that was not allowed, nor about another tool', () => {
    const denied = fold(asked('a', '0.requires'), decided('a', 'deny'), completed('a', true));
    expect(historyOf(denied.history)['0.requires']?.allowed).toEqual([]);
    const waiting = fold(asked('a', '0.requires'), completed('a', true), decided('a', 'allow'));
    expect(historyOf(waiting.history)['0.requires']?.allowed).toEqual([{ at: t0 + 3_000, ok: null }]);
    const other = fold(asked('a', '0.requires'), decided('a', 'allow'), completed('a', true, 'Read'));
    expect(historyOf(other.history)['0.requires']?.allowed).toEqual([{ at: t0 + 2_000, ok: null }]);
  });

  it('another call under a used id, and its denial, count for nothing', () => {
    const run = fold(asked('a', '0.count'), asked('a', '0.count', '1.count'), decided('a', 'deny', { source: 'protocol_violation' }));
    expect(historyOf(run.history)).toEqual({ '0.count': { allowed: [], total: 0, pending: 1 } });
  });

  it('counts the input that a person wrote instead, not the one that was asked for', () => {
    const edit = { edited_digest: digest('edited') };
    const none = fold(asked('a', '0.requires'), decided('a', 'allow', edit), completed('a', true));
    expect(historyOf(none.history)).toEqual({ '0.requires': { allowed: [], total: 0, pending: 0 } });
    const other = fold(asked('a', '0.requires'), decided('a', 'allow', { ...edit, matches: ['1.count'] }));
    expect(historyOf(other.history)).toEqual({
      '0.requires': { allowed: [], total: 0, pending: 0 },
      '1.count': { allowed: [{ at: t0 + 2_000, ok: null }], total: 1, pending: 0 },
    });
  });

  it('of a waiting call leaves out its own place and no other', () => {
    const run = fold(asked('a', '0.count'), asked('b', '0.count'), asked('c', '1.count'));
    const call = run.calls.get('a');
    if (call === undefined) throw new Error('no call');
    expect(historyWithout(run.history, call.history)).toEqual({
      '0.count': { allowed: [], total: 0, pending: 1 },
      '1.count': { allowed: [], total: 0, pending: 1 },
    });
    expect(historyOf(run.history)['0.count']?.pending).toBe(2);
  });

  it('keeps the newest times and the whole number', () => {
    const calls = Array.from({ length: historyTimesMax + 5 }, (_, i) => [asked(`c${i}`, '0.count'), decided(`c${i}`, 'allow')]).flat();
    const condition = historyOf(fold(...calls).history)['0.count'];
    expect(condition?.total).toBe(historyTimesMax + 5);
    expect(condition?.allowed).toHaveLength(historyTimesMax);
    expect(condition?.allowed[0]?.at).toBe(t0 + 12_000);
  });
});
