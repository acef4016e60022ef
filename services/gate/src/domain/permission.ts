import { approvalIdOf, type EventDraft, Problem } from '@fluidbox/contracts';
import {
  acceptsWork,
  type CallState,
  callKey,
  exists,
  grantFor,
  historyOf,
  isTerminal,
  leaseRefusal,
  pastDeadline,
  type RunState,
  toolCallsUsed,
} from '@fluidbox/run-stream';
import { approvalRequested, decision, denial, type PermissionRequest, requested, type Scope } from './call-events';
import { guardEvents, isReached, sameCallCount } from './guards';
import { type FrozenRules, judgeByRules, type Ruling } from './rules';

export interface PermissionContext {
  readonly now: number;
  readonly rules: FrozenRules;
  /** Salted digest of a scope key. Asked for only where a person, or a grant, has to allow the call. */
  readonly scopeDigest: (scopeKey: string) => string;
}
export type PermissionOutcome =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly code: string; readonly message: string }
  | { readonly kind: 'pending'; readonly approvalId: string; readonly expiresAt: number }
  /** Decided before; its texts stand in the stream. */
  | { readonly kind: 'stored'; readonly call: CallState };
export interface Decided {
  readonly events: readonly EventDraft[];
  readonly result: PermissionOutcome | Problem;
}

/** A hostile runner must not fill the ledger: beyond this many, refusals of the same kind are answered without a record. */
export const refusalsRecordedMax = 32;

const gone = { code: 'session_terminal', message: 'The run accepts no more work.' } as const;

/**
 * One permission call. A call id is decided once: the first answer stays, a faithful retry gets it again, another call under the same
 * id is refused once. A new call goes through the stages of `decideNewCall`, and every verdict is a group of events.
 */
export function decidePermission(run: RunState, request: PermissionRequest, context: PermissionContext): Decided {
  if (!exists(run)) return { events: [], result: new Problem('not_found', 'there is no such run') };
  const lease = leaseRefusal(run, request.generation, context.now);
  if (lease === 'stale_lease') return { events: [], result: new Problem('stale_lease', 'a newer generation of this run holds the lease') };
  if (lease === 'lease_expired') return { events: [], result: new Problem('unauthorized', 'the lease of this run has expired; renew it') };
  if (isTerminal(run)) return { events: [], result: { kind: 'denied', ...gone } };
  const known = run.calls.get(request.toolCallId);
  return known === undefined ? decideNewCall(run, request, context) : answerAgain(run, known, request);
}

/** The stages, in order. What a budget, a guard or the trust tier refuses, nobody can approve. */
function decideNewCall(run: RunState, request: PermissionRequest, context: PermissionContext): Decided {
  return (
    denyInactiveRun(run, request) ??
    denyPastDeadline(run, request, context) ??
    denyOverBudget(run, request) ??
    denyRepeatedCall(run, request, context) ??
    denyAfterDenials(run, request, context) ??
    followRules(run, request, context)
  );
}

function denyInactiveRun(run: RunState, request: PermissionRequest): Decided | null {
  if (acceptsWork(run)) return null;
  const result = { kind: 'denied', ...gone } as const;
  if (toolCallsUsed(run) >= (run.budgets.max_tool_calls ?? Number.POSITIVE_INFINITY) + refusalsRecordedMax) return { events: [], result };
  return {
    events: denial(request, { source: 'session_terminal', ...gone, reason: `the run is ${run.status} and accepts no more work` }),
    result,
  };
}

/** `runs` ends a run at its deadline; until that has happened the gate already refuses. */
function denyPastDeadline(run: RunState, request: PermissionRequest, { now }: PermissionContext): Decided | null {
  if (!pastDeadline(run, now)) return null;
  const text = { code: 'wall_clock_exceeded', message: 'The time of this run is used up. Stop.' };
  return {
    events: denial(request, { source: 'budget', ...text, reason: 'the wall clock of the run has passed its budget' }),
    result: { kind: 'denied', ...text },
  };
}

/** Distinct call ids, denied ones too. Counted in the fold at the version that is appended to, so parallel calls cannot overshoot. */
function denyOverBudget(run: RunState, request: PermissionRequest): Decided | null {
  const limit = run.budgets.max_tool_calls;
  const spent = toolCallsUsed(run) + 1;
  if (limit === null || spent <= limit) return null;
  const text = { code: 'tool_calls_exceeded', message: 'tool-call budget exceeded' };
  const exceeded: EventDraft = { type: 'budget.exceeded', actor: 'service:gate', data: { budget: 'tool_calls', limit, spent } };
  return {
    events: [
      ...denial(request, { source: 'budget', ...text, reason: `the run may make ${limit} tool calls, and this is number ${spent}` }),
      ...(run.exceeded.has('tool_calls') ? [] : [exceeded]),
    ],
    result: { kind: 'denied', ...text },
  };
}

function denyRepeatedCall(run: RunState, request: PermissionRequest, { rules }: PermissionContext): Decided | null {
  const limit = rules.policy.document.guards.same_call;
  const count = sameCallCount(run, request.tool, request.inputDigest);
  if (!isReached(count, limit)) return null;
  const text = { code: 'same_call', message: 'You have made exactly this call again and again. The run ends.' };
  return {
    events: [
      ...denial(request, { source: 'guard', ...text, reason: `the same call came ${count} times in a row` }),
      ...guardEvents(run, 'same_call', count, limit),
    ],
    result: { kind: 'denied', ...text },
  };
}

/** Denials that people or time gave count, too; whichever call comes next finds the limit reached. */
function denyAfterDenials(run: RunState, request: PermissionRequest, { rules }: PermissionContext): Decided | null {
  const limit = rules.policy.document.guards.denials;
  if (!isReached(run.denialsInARow, limit)) return null;
  const text = { code: 'denials', message: 'Too many calls in a row were denied. The run ends.' };
  return {
    events: [
      ...denial(request, { source: 'guard', ...text, reason: `${run.denialsInARow} calls in a row were denied` }),
      ...guardEvents(run, 'denials', run.denialsInARow, limit),
    ],
    result: { kind: 'denied', ...text },
  };
}

/** Frozen surface → shape of the call → trust tier → policy → approval. */
function followRules(run: RunState, request: PermissionRequest, context: PermissionContext): Decided {
  const ruling = judgeByRules(context.rules, request, { now: context.now, history: () => historyOf(run.history) });
  const guards = context.rules.policy.document.guards;
  const warnings = guardEvents(run, 'same_call', sameCallCount(run, request.tool, request.inputDigest), guards.same_call);
  switch (ruling.verdict) {
    case 'allow':
      return { events: [requested(request), ...warnings, decision(request, context.rules, ruling)], result: { kind: 'allowed' } };
    case 'deny':
      return {
        events: [
          requested(request),
          ...warnings,
          decision(request, context.rules, ruling),
          ...guardEvents(run, 'denials', run.denialsInARow + 1, guards.denials),
        ],
        result: { kind: 'denied', code: ruling.code, message: ruling.message },
      };
    case 'ask': {
      const scope = scopeOf(request, ruling, context);
      const grant = scope.isNamed ? grantFor(run, scope) : undefined;
      if (grant === undefined) return askPerson(run, request, context, ruling, scope, warnings);
      const granted = {
        ...ruling,
        verdict: 'allow',
        source: 'session_grant',
        code: 'granted',
        reason: `approved for this run before: ${scope.key}`,
      } as const;
      return {
        events: [
          requested(request),
          ...warnings,
          decision(request, context.rules, granted, { original_verdict: 'ask', approval_id: grant }),
        ],
        result: { kind: 'allowed' },
      };
    }
  }
}

function scopeOf(request: PermissionRequest, { policy }: Ruling, context: PermissionContext): Scope {
  const named = policy?.scopeKey ?? null;
  const key = named ?? `${request.tool}#${request.toolCallId}`.slice(0, 512);
  return { key, digest: context.scopeDigest(key), isNamed: named !== null };
}

function askPerson(
  run: RunState,
  request: PermissionRequest,
  context: PermissionContext,
  ruling: Ruling,
  scope: Scope,
  warnings: readonly EventDraft[],
): Decided {
  const { policy } = ruling;
  if (policy === null) throw new Error('an ask without a policy verdict');
  const approvalId = approvalIdOf(run.runId ?? '', request.toolCallId);
  const expiresAt = Math.min(context.now + policy.approvalTtlSecs * 1000, run.deadlineAt ?? Number.POSITIVE_INFINITY);
  const approval = approvalRequested(request, context.rules, { ruling, policy, approvalId, expiresAt, scope });
  return { events: [requested(request), ...warnings, approval], result: { kind: 'pending', approvalId, expiresAt } };
}

/** The same call gets the same answer; another one under its id is a violation, recorded once, that changes nothing about the first. */
function answerAgain(run: RunState, known: CallState, request: PermissionRequest): Decided {
  if (known.tool !== request.tool || known.inputDigest !== request.inputDigest) {
    const text = { code: 'protocol_violation', message: 'This tool_call_id was used before with a different tool or input.' };
    const isRecorded = known.violations.has(callKey(request.tool, request.inputDigest)) || known.violations.size >= refusalsRecordedMax;
    return {
      events: isRecorded
        ? []
        : denial(request, { source: 'protocol_violation', ...text, reason: 'tool_call_id reused with a different tool or input' }),
      result: { kind: 'denied', ...text },
    };
  }
  // What was allowed before the run wound down must not start after it.
  if (!acceptsWork(run) && known.decision?.verdict !== 'deny') return { events: [], result: { kind: 'denied', ...gone } };
  if (known.decision !== null) return { events: [], result: { kind: 'stored', call: known } };
  if (known.approval === null) throw new Error('a call that is neither decided nor waiting');
  return { events: [], result: { kind: 'pending', approvalId: known.approval.approvalId, expiresAt: known.approval.expiresAt } };
}
