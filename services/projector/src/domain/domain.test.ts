import type { RecordedEvent } from '@fluidbox/contracts';
import fc from 'fast-check';
import { inPages } from '../testing/sample-run';
import { approvalIdOf, evolveApproval } from './approval-view';
import { HeardRanges, unheardRanges } from './heard-ranges';
import { LiveRuns } from './live-runs';
import { costDeltas, gateDeltas } from './rows';
import { runPicture } from './run-row';

const event = (type: string, data: Record<string, unknown>, seq = 1): RecordedEvent => ({
  seq,
  globalPosition: seq,
  eventId: `e${seq}`,
  org: 'default',
  stream: 'run-r',
  type,
  version: 1,
  actor: 'a',
  occurredAt: '2026-11-29T23:59:59.999Z',
  data,
});
const run = { runId: 'r', agent: 'fixer' };
const requested = event('approval.requested', {
  approval_id: 'apr_1',
  tool_call_id: 'c',
  tool: 'Bash',
  input_digest: 'd',
  scope: 'once',
  scope_digest: 'd',
  approvers: 2,
  expires_at: '2026-11-30T00:00:00.000Z',
});
const voted = (by: string): RecordedEvent => event('approval.voted', { approval_id: 'apr_1', tool_call_id: 'c', decision: 'approve', by });
const decided = (decision: string, by: string): RecordedEvent =>
  event('approval.decided', { approval_id: 'apr_1', tool_call_id: 'c', decision, decided_by: by });

describe('approval as lists show it', () => {
  it('is pending, counts each voter once, and keeps its first decision', () => {
    const steps = [
      requested,
      voted('ada'),
      voted('ada'),
      voted('grace'),
      requested,
      decided('approved', 'grace'),
      decided('expired', 'service'),
    ];
    const view = steps.reduce<ReturnType<typeof evolveApproval>>((state, step) => evolveApproval(state, step, run), null);
    expect(view).toMatchObject({
      status: 'approved',
      decided_by: 'grace',
      votes: ['ada', 'grace'],
      approvers: 2,
      agent: 'fixer',
      input: null,
    });
    expect(evolveApproval(null, requested, run)).toMatchObject({ status: 'pending', decided_at: null });
  });

  it('does not come into being by an answer to nothing', () => {
    expect(evolveApproval(null, decided('approved', 'x'), run)).toBeNull();
    expect(approvalIdOf(event('tool.decision', { approval_id: 'apr_1' }))).toBeNull();
    expect(approvalIdOf(requested)).toBe('apr_1');
  });
});

describe('costs', () => {
  const response = (model: string, cost: number | null): RecordedEvent =>
    event('model.response', {
      model,
      input_tokens: 1,
      output_tokens: 2,
      cache_read_tokens: 3,
      cache_write_tokens: 4,
      cost_micro_usd: cost,
    });
  it('adds up by agent, model and UTC day; a response without a price costs nothing', () => {
    const page = [response('m', 10), response('m', null), response('n', 1), requested].map((each) => ({ event: each, agent: 'fixer' }));
    expect(costDeltas(page)).toEqual([
      {
        org: 'default',
        agent: 'fixer',
        model: 'm',
        day: '2026-11-29',
        modelRequests: 2,
        inputTokens: 2,
        outputTokens: 4,
        cacheReadTokens: 6,
        cacheWriteTokens: 8,
        costMicroUsd: 10,
      },
      {
        org: 'default',
        agent: 'fixer',
        model: 'n',
        day: '2026-11-29',
        modelRequests: 1,
        inputTokens: 1,
        outputTokens: 2,
        cacheReadTokens: 3,
        cacheWriteTokens: 4,
        costMicroUsd: 1,
      },
    ]);
  });
});

describe('what the log has told of', () => {
  it('is known event by event, in whatever order the messages come', () => {
    const range = fc.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 0, max: 5 }));
    fc.assert(
      fc.property(fc.array(range), fc.integer({ min: 0, max: 30 }), (ranges, handledUpTo) => {
        const heard = new HeardRanges(10);
        const expected = new Set<number>(Array.from({ length: handledUpTo }, (_, i) => i + 1));
        ranges.forEach(([first, length], index) => {
          if (index === ranges.length >> 1) heard.handled('s', handledUpTo);
          heard.hear('s', first, first + length);
          for (let seq = first; seq <= first + length; seq += 1) expected.add(seq);
        });
        heard.handled('s', handledUpTo);
        for (let seq = 1; seq <= 36; seq += 1) expect([seq, heard.covers('s', seq)]).toEqual([seq, expected.has(seq)]);
      }),
    );
  });

  it('leaves ranges without holes, and forgets the streams that were silent longest', () => {
    expect(unheardRanges([5, 1, 2, 3, 7, 8], (seq) => seq === 2)).toEqual([
      { first: 1, last: 1 },
      { first: 3, last: 3 },
      { first: 5, last: 5 },
      { first: 7, last: 8 },
    ]);
    const heard = new HeardRanges(2);
    for (const stream of ['a', 'b', 'c']) heard.hear(stream, 1, 1);
    expect(['a', 'b', 'c'].map((stream) => heard.covers(stream, 1))).toEqual([false, true, true]);
  });
});

describe('live runs', () => {
  it('are due when they moved and the last checkpoint is old enough', () => {
    const live = new LiveRuns(100);
    live.moved('r', 'default', 0);
    expect(live.due(99)).toEqual([]);
    expect(live.due(100)).toEqual([{ id: 'r', org: 'default' }]);
    live.signed('r', 100);
    expect(live.due(1_000)).toEqual([]);
    live.moved('r', 'default', 150);
    expect(live.due(199)).toEqual([]);
    expect(live.due(200)).toEqual([{ id: 'r', org: 'default' }]);
    live.ended('r');
    expect(live.due(1_000)).toEqual([]);
  });
  it('are due in time though the clock was set back', () => {
    const live = new LiveRuns(100);
    live.moved('r', 'default', 1_000_000);
    expect(live.due(500)).toEqual([]);
    expect(live.due(599)).toEqual([]);
    expect(live.due(600)).toEqual([{ id: 'r', org: 'default' }]);
  });
});

describe('events that only newer code understands', () => {
  it('are counted in the run and change no row: an unknown type, and a newer version of a known one', () => {
    const newer = [
      event('run.dreamt', { of: 'sheep' }, 1),
      { ...event('model.response', { model: 7 }, 2), version: 9 },
      { ...requested, seq: 3, version: 9 },
    ];
    const picture = newer.reduce(runPicture.evolve, runPicture.initial());
    expect(picture.run.version).toBe(3);
    expect(costDeltas(newer.map((each) => ({ event: each, agent: 'a' })))).toEqual([]);
    expect(gateDeltas(newer.map((each) => ({ event: each, run: { agent: 'a', policy: 'p', policyVersion: 1 } })))).toEqual([]);
    expect(newer.map(approvalIdOf)).toEqual([null, null, null]);
  });
});

describe('sums of pages', () => {
  it('are the sums of the whole, however it is cut (property)', () => {
    const kinds = ['allow', 'deny'] as const;
    const decision = (pick: { tool: number; verdict: number; day: number; rule: number }, seq: number): RecordedEvent => ({
      ...event(
        'tool.decision',
        { tool_call_id: `c${seq}`, tool: `t${pick.tool}`, verdict: kinds[pick.verdict], source: 'policy', rule: { index: pick.rule } },
        seq,
      ),
      occurredAt: `2026-11-${10 + pick.day}T12:00:00.000Z`,
    });
    const total = (events: readonly RecordedEvent[][]) => {
      const sums = new Map<string, number>();
      for (const page of events)
        for (const { calls, ...key } of gateDeltas(
          page.map((each) => ({ event: each, run: { agent: 'a', policy: 'p', policyVersion: 1 } })),
        ))
          sums.set(JSON.stringify(key), (sums.get(JSON.stringify(key)) ?? 0) + calls);
      return new Map([...sums].sort());
    };
    fc.assert(
      fc.property(
        fc.array(fc.record({ tool: fc.nat(2), verdict: fc.nat(1), day: fc.nat(2), rule: fc.nat(1) }), { maxLength: 30 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 10 }),
        (picks, cuts) => {
          const events = picks.map((pick, index) => decision(pick, index + 1));
          const whole = total([events]);
          expect(total(inPages(events, cuts))).toEqual(whole);
          expect([...whole.values()].reduce((sum, calls) => sum + calls, 0)).toBe(picks.length);
        },
      ),
    );
  });
});
