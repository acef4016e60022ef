import { type Coverage, type Outcome, terminalStatuses } from '@fluidbox/contracts';
import type { z } from 'zod';
import { type CallDecision, type CallState, grantByKey, type ModelCallState, type RunState } from './state';

const working: ReadonlySet<string> = new Set(['created', 'provisioning', 'initializing', 'running']);
const terminal: ReadonlySet<string> = new Set(terminalStatuses);

/** True while the run may still do something: before it winds down. Model access that ended (budget, coverage, guard) ends work too. */
export const acceptsWork = (run: RunState): boolean =>
  run.runId !== null && working.has(run.status) && run.modelAccessEnded === null && run.intent === null;
export const isTerminal = (run: RunState): boolean => terminal.has(run.status);
export const isWindingDown = (run: RunState): boolean => run.status === 'cancelling' || run.status === 'finalizing';
export const exists = (run: RunState): boolean => run.runId !== null;

/** Why a token of `generation` is not good at `now`, or null. The order is the contract's: stale generation before dead lease. */
export function leaseRefusal(run: RunState, generation: number, now: number): 'stale_lease' | 'lease_expired' | null {
  if (generation !== run.generation) return 'stale_lease';
  return now > run.leaseValidUntil ? 'lease_expired' : null;
}

/** `awaiting_approval` is derived, never stored. */
export const derivedStatus = (run: RunState): RunState['status'] | 'awaiting_approval' =>
  run.status === 'running' && run.pendingApprovals.size > 0 ? 'awaiting_approval' : run.status;

export const toolCallsUsed = (run: RunState): number => run.calls.size;
export const pastDeadline = (run: RunState, now: number): boolean => run.deadlineAt !== null && now >= run.deadlineAt;

/** What open reservations hold at the moment. */
export function reserved(run: RunState): { tokens: number; costMicroUsd: number } {
  let tokens = 0;
  let costMicroUsd = 0;
  for (const reservation of run.reservations.values()) {
    tokens += reservation.tokens;
    costMicroUsd += reservation.costMicroUsd;
  }
  return { tokens, costMicroUsd };
}

/** What is left before reservations, per budget; null where the cap is lifted. Never negative. */
export function unspent(run: RunState): { tokens: number | null; costMicroUsd: number | null } {
  const left = (limit: number | null, spent: number): number | null => (limit === null ? null : Math.max(0, limit - spent));
  return {
    tokens: left(run.budgets.max_tokens, run.spent.tokens),
    costMicroUsd: left(run.budgets.max_cost_micro_usd, run.spent.costMicroUsd),
  };
}

/** A live session grant for this key, as the approval that gave it: by its digest, or by the key itself where the approval is of version 1. */
export const grantFor = (run: RunState, scope: { readonly digest: string; readonly key: string }): string | undefined =>
  run.grants.get(scope.digest) ?? run.grants.get(grantByKey(scope.key));

export interface CallCounts {
  model: number;
  decided: number;
  rejected_by_harness: number;
  no_effect: number;
  provider_executed: number;
  uncovered: number;
  unknown: number;
}

/** The gate's decision on this very call. What it said about another tool or another input under the same id covers nothing. */
export function decisionOn(run: RunState, call: ModelCallState): CallDecision | null {
  const asked = run.calls.get(call.toolCallId);
  return asked !== undefined && asksTheSame(asked, call) ? asked.decision : null;
}

/**
 * Did the gate see what the model asked for? Only the fields that a harness never touches have digests; one that the model wrote and the gate was not
 * shown was held back. What a person made of the input afterwards (approve with edit) stands in the decision, not in the request, and is no difference.
 */
const asksTheSame = (asked: CallState, { tool, inputFields, inputVariants }: ModelCallState): boolean =>
  asked.tool === tool &&
  Object.entries(inputFields).every(([field, digest]) => {
    const judged = asked.inputFields[field];
    return judged !== undefined && (judged === digest || inputVariants[field]?.includes(judged) === true);
  });

/**
 * Each model call in exactly one class; a gap that was found stays one, whatever was decided afterwards. `unknown` = still open now: at the end
 * of a run that means cancelled, stopped or crashed.
 */
export function callCounts(run: RunState): CallCounts {
  const counts: CallCounts = {
    model: run.modelCalls.size,
    decided: 0,
    rejected_by_harness: 0,
    no_effect: 0,
    provider_executed: 0,
    uncovered: 0,
    unknown: 0,
  };
  for (const call of run.modelCalls.values()) {
    if (call.closed === 'uncovered' || call.closed === 'provider_executed') counts[call.closed] += 1;
    else if (decisionOn(run, call) !== null) counts.decided += 1;
    else if (call.closed !== null) counts[call.closed] += 1;
    else counts.unknown += 1;
  }
  return counts;
}

/** Full = every call of the model is known and none is uncovered or open; partial = a call ran that the gate never saw; unknown = nobody can say. */
export function coverageOf(run: RunState, counts: CallCounts = callCounts(run)): z.infer<typeof Coverage> {
  if (counts.uncovered > 0 || counts.provider_executed > 0) return 'partial';
  return counts.unknown > 0 || run.lostAnswers.size > 0 ? 'unknown' : 'full';
}

/** Final verdicts by call id; `ask` counts calls that waited for a person. */
export function decisionCounts(run: RunState): { allow: number; deny: number; ask: number } {
  const counts = { allow: 0, deny: 0, ask: 0 };
  for (const call of run.calls.values()) {
    if (call.decision !== null) counts[call.decision.verdict] += 1;
    if (call.approval !== null) counts.ask += 1;
  }
  return counts;
}

/** How a run that lost its right to work ends; null while nothing forces an end. */
export function forcedOutcome(run: RunState): Outcome | null {
  if (run.modelAccessEnded === 'budget') return 'budget_exceeded';
  return run.modelAccessEnded === null ? null : 'failed';
}
