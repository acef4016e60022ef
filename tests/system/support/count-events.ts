import type { EventView } from '@fluidbox/contracts';

/** The demo's numbers, computed from the events alone and without any code of the product. */
export function countEvents(events: readonly EventView[]) {
  const of = (type: string) => events.filter((event) => event.type === type).map((event) => event.data);
  const finalVerdicts = new Map<unknown, unknown>();
  for (const decision of of('tool.decision'))
    if (!finalVerdicts.has(decision.tool_call_id)) finalVerdicts.set(decision.tool_call_id, decision.verdict);
  const emitted = new Set(of('model.tool_call').map((call) => call.tool_call_id));
  const closed = (as: string) =>
    of('model.tool_call_closed').filter((call) => call.class === as && !finalVerdicts.has(call.tool_call_id)).length;
  const verdicts = [...finalVerdicts.values()];
  return {
    decisions: {
      allow: verdicts.filter((verdict) => verdict === 'allow').length,
      deny: verdicts.filter((verdict) => verdict === 'deny').length,
      ask: new Set(of('approval.requested').map((asked) => asked.tool_call_id)).size,
    },
    modelToolCalls: emitted.size,
    decidedToolCalls: [...emitted].filter((id) => finalVerdicts.has(id)).length,
    rejectedByHarness: closed('rejected_by_harness'),
    noEffect: closed('no_effect'),
    uncovered: of('coverage.gap').filter((gap) => gap.class === 'uncovered').length,
    costMicroUsd: of('budget.settled').reduce((sum, settled) => sum + Number(settled.cost_micro_usd ?? 0), 0),
    events: events.length,
  };
}
