import type { EventData, EventView } from '@fluidbox/contracts';
import { dollarsOf } from '../money';

/** What `demo --json` prints last: one object, its counts taken from the terminal record. */
export interface DemoSummary {
  readonly outcome: string;
  readonly decisions: { readonly allow: number; readonly deny: number; readonly ask: number };
  readonly modelToolCalls: number;
  readonly decidedToolCalls: number;
  readonly rejectedByHarness: number;
  readonly noEffect: number;
  readonly uncovered: number;
  readonly coverage: string;
  readonly costMicroUsd: number;
  readonly diffSha256: string | null;
  readonly runId: string;
  readonly events: number;
}

/** Null when the run has no terminal record. */
export function summarize(runId: string, events: readonly EventView[]): DemoSummary | null {
  const result = events.findLast((event) => event.type === 'run.result')?.data as EventData<'run.result'> | undefined;
  if (result === undefined) return null;
  return {
    outcome: result.outcome,
    decisions: result.decisions,
    modelToolCalls: result.calls.model,
    decidedToolCalls: result.calls.decided,
    rejectedByHarness: result.calls.rejected_by_harness,
    noEffect: result.calls.no_effect,
    uncovered: result.calls.uncovered,
    coverage: result.coverage,
    costMicroUsd: result.cost_micro_usd,
    diffSha256: result.diff_sha256,
    runId,
    events: events.length,
  };
}

export function summaryLines(summary: DemoSummary): string[] {
  const { allow, deny, ask } = summary.decisions;
  return [
    `outcome     ${summary.outcome}`,
    `decisions   ${allow} allowed · ${deny} denied · ${ask} asked a person`,
    `coverage    ${summary.coverage}: ${summary.modelToolCalls} model calls = ${summary.decidedToolCalls} decided + ${summary.rejectedByHarness} refused by the harness + ${summary.noEffect} without effect; ${summary.uncovered} uncovered`,
    `cost        ${dollarsOf(summary.costMicroUsd)}`,
    `events      ${summary.events}`,
  ];
}
