import { createHash } from 'node:crypto';
import type { EventView } from '@fluidbox/contracts';
import { chainHash, genesisHash } from '@fluidbox/event-store';
import { faultsOfChain, faultsOfEvents } from './check-run';

type Draft = readonly [type: string, data: Record<string, unknown>];

/** The timeline of a run with one asked call, as far as the check looks at it. */
const drafts: readonly Draft[] = [
  ['session.created', {}],
  ['workspace.initialized', {}],
  ['sandbox.started', { generation: 1 }],
  ['budget.reserved', { reservation_id: 'r1' }],
  ['budget.settled', { reservation_id: 'r1', cost_micro_usd: 7 }],
  ['tool.requested', { tool_call_id: 'c1' }],
  ['approval.requested', { tool_call_id: 'c1' }],
  ['approval.decided', { tool_call_id: 'c1' }],
  ['tool.decision', { tool_call_id: 'c1' }],
  ['sandbox.exited', { generation: 1 }],
  ['run.result', { outcome: 'completed', cost_micro_usd: 7 }],
];

function recorded(list: readonly Draft[]): { events: EventView[]; chain: { seq: number; hash: string; body: string }[] } {
  let previous = genesisHash;
  const chain = list.map((draft, index) => {
    const body = JSON.stringify(draft);
    previous = chainHash(previous, index + 1, createHash('sha256').update(body).digest());
    return { seq: index + 1, hash: previous.toString('hex'), body };
  });
  const events = list.map(([type, data], index) => ({
    ...{ seq: index + 1, type, version: 1, actor: 'x', occurred_at: '', data, content: null },
    hash: chain[index]?.hash ?? '',
  }));
  return { events, chain };
}

const without = (type: string): readonly Draft[] => drafts.filter((draft) => draft[0] !== type);
const twice = (type: string): readonly Draft[] => drafts.flatMap((draft) => (draft[0] === type ? [draft, draft] : [draft]));
const faults = (list: readonly Draft[]): string[] => [...faultsOfEvents(recorded(list).events)];

describe('the check of a run that is over', () => {
  it('finds nothing in a good timeline', () => {
    const { events, chain } = recorded(drafts);
    expect([...faultsOfEvents(events), ...faultsOfChain(chain, events)]).toEqual([]);
  });

  it.each([
    ['tool.decision', 'call c1 was never decided'],
    ['approval.decided', 'the approval of c1 was never settled'],
    ['sandbox.exited', 'the sandbox of generation 1 never ended'],
    ['budget.settled', 'reservation r1 is still open'],
    ['run.result', 'run.result is not the last event'],
  ])('misses %s', (type, fault) => {
    expect(faults(without(type))).toContain(fault);
  });

  it.each([
    ['tool.requested', 'call c1 was recorded twice'],
    ['tool.decision', 'call c1 was recorded twice'],
    ['approval.requested', 'the approval of c1 was recorded twice'],
    ['approval.decided', 'the approval of c1 was recorded twice'],
    ['sandbox.started', 'generation 1 started twice'],
    ['workspace.initialized', 'workspace.initialized is there 2 times'],
    ['budget.settled', 'reservation r1 was closed twice'],
    ['run.result', 'run.result is there 2 times'],
  ])('sees %s twice', (type, fault) => {
    expect(faults(twice(type))).toContain(fault);
  });

  it('sees a gap, an event that was changed, and another head', () => {
    const { events, chain } = recorded(drafts);
    expect([...faultsOfEvents(events.filter(({ seq }) => seq !== 4))]).toContain('event 4 is missing or doubled');
    expect([...faultsOfChain(chain.with(3, { seq: 4, hash: chain[3]?.hash ?? '', body: 'changed' }), events)]).toEqual([
      'the chain breaks at 4 (hash)',
    ]);
    expect([...faultsOfChain(chain.slice(0, -1), events)]).toEqual(['the API shows another head than the store']);
  });

  it('compares the cost with what was settled', () => {
    expect(faults([...without('run.result'), ['run.result', { cost_micro_usd: 8 }]])).toEqual([
      'the cost of the result is not what was settled',
    ]);
  });
});
