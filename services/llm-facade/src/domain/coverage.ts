import type { EventDraft } from '@fluidbox/contracts';
import { type CallDecision, decisionOn, type RunState } from '@fluidbox/run-stream';
import { actor } from './actor';
import { isOfWrongKind } from './call-kind';

/**
 * Gate-coverage: every call the model emitted must come back as decided by the gate, or as refused by the harness before any hook. The evidence
 * is what the model is told: a result in a later request whose call nobody decided, or whose denial did not come back as an error, means that
 * something ran unasked. It is the evidence of a harness whose interception broke; a runner that forges what it tells the model is not caught by it.
 * A decision counts for its tool and for the fields that the harness row compares; harnesses add defaults and make paths absolute before they ask.
 *
 * Results of ids that our stream never emitted are ignored: no call stands behind them, so nothing can have run because of them (a harness
 * replays a compacted history, a sub-agent's summary, a conversation of before). A runner that invents them deceives only its own model.
 */
export interface ToolResult {
  readonly toolCallId: string;
  readonly isError: boolean;
  /** Beginning of the text, enough for the harness's refusal prefixes. */
  readonly textStart: string;
}
export type CoverageMode = 'enforce' | 'report' | 'strict';
export interface CoverageRules {
  readonly mode: CoverageMode;
  readonly noEffectTools: readonly string[];
  readonly refusal: { readonly requiresErrorFlag: boolean; readonly prefixes: readonly string[]; readonly wrongKind?: string | undefined };
}
export interface Gap {
  readonly toolCallId: string;
  readonly tool: string;
  readonly class: 'uncovered' | 'provider_executed' | 'rejected_by_harness';
  readonly reportOnly: boolean;
}

export interface Judgement {
  /** Closings that end nothing. */
  readonly closed: readonly { toolCallId: string; tool: string; class: 'rejected_by_harness' | 'no_effect' }[];
  readonly gaps: readonly Gap[];
}

/** Judges the results whose call is not closed yet. Repeats of a history change nothing. */
export function judge(run: RunState, results: readonly ToolResult[], rules: CoverageRules): Judgement {
  const closed: { toolCallId: string; tool: string; class: 'rejected_by_harness' | 'no_effect' }[] = [];
  const gaps: Gap[] = [];
  const seen = new Set<string>();
  for (const result of results) {
    const call = run.modelCalls.get(result.toolCallId);
    if (call === undefined || call.closed !== null || seen.has(result.toolCallId) || obeys(decisionOn(run, call), result, rules)) continue;
    seen.add(result.toolCallId);
    const { toolCallId, tool } = call;
    // A call that the gate knows was not refused by the harness: it was asked for (as it is or as another tool) and ran before the answer or against it.
    const asked = run.calls.has(toolCallId);
    if (!asked && refusedByHarness(tool, result, rules)) {
      closed.push({ toolCallId, tool, class: 'rejected_by_harness' });
      if (rules.mode === 'strict') gaps.push({ toolCallId, tool, class: 'rejected_by_harness', reportOnly: false });
    } else if (rules.noEffectTools.includes(tool)) closed.push({ toolCallId, tool, class: 'no_effect' });
    else gaps.push({ toolCallId, tool, class: 'uncovered', reportOnly: rules.mode === 'report' });
  }
  return { closed, gaps };
}

/** A denial reaches the model as an error. Where the harness marks errors, a result without the mark is that of a call which ran all the same. */
const obeys = (decision: CallDecision | null, result: ToolResult, { refusal }: CoverageRules): boolean =>
  decision !== null && (decision.verdict === 'allow' || result.isError || !refusal.requiresErrorFlag);

const refusedByHarness = (tool: string, result: ToolResult, { refusal }: CoverageRules): boolean =>
  (result.isError || !refusal.requiresErrorFlag) &&
  (refusal.prefixes.some((prefix) => result.textStart.startsWith(prefix)) ||
    (isOfWrongKind(tool) && result.textStart === refusal.wrongKind));

/** True while a result could close something: most requests of a run have nothing to judge. */
export const hasOpenCalls = (run: RunState): boolean => {
  for (const call of run.modelCalls.values()) if (call.closed === null && decisionOn(run, call)?.verdict !== 'allow') return true;
  return false;
};

export const judgementEvents = (judgement: Judgement): readonly EventDraft[] => [
  ...judgement.closed.map(
    (call): EventDraft => ({
      type: 'model.tool_call_closed',
      actor,
      data: { tool_call_id: call.toolCallId, tool: call.tool, class: call.class },
    }),
  ),
  ...judgement.gaps.map(gapEvent),
];

export const gapEvent = (gap: Gap): EventDraft => ({
  type: 'coverage.gap',
  actor,
  data: { tool_call_id: gap.toolCallId, tool: gap.tool, class: gap.class, ...(gap.reportOnly ? { report_only: true as const } : {}) },
});
