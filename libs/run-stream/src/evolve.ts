import { type EventData, type EventType, type RecordedEvent, terminalStatuses, timelineEvent } from '@fluidbox/contracts';
import { countDecided, countReported, holdPlaces } from './history';
import { type ApprovalState, grantByKey, type ModelCallState, type RunState } from './state';

/**
 * Folds one event into the state it owns. Total: an unknown type, a version newer than this code, or an event that refers to something it never saw, changes nothing.
 * It never throws, whatever the order, because a reader must not die of a stream that a newer version wrote.
 */
export function evolveRun(state: RunState, event: RecordedEvent): RunState {
  if (event.seq <= state.version) return state;
  state.version = event.seq;
  const known = timelineEvent(event);
  if (known !== null) apply(state, known.type, known.data, event);
  return state;
}

type Change<T extends EventType> = (state: RunState, data: EventData<T>, event: RecordedEvent) => void;
const nothing = (): void => undefined;
/** What nearly every call has: empty collections of its own took 0.4 KB of each call, in every process that folds its run. */
const none: ReadonlySet<string> = new Set();
const nobody: ApprovalState['votes'] = new Map();
const time = (text: string): number => Date.parse(text);
const isTerminal = (status: string): boolean => (terminalStatuses as readonly string[]).includes(status);

function apply<T extends EventType>(state: RunState, type: T, data: unknown, event: RecordedEvent): void {
  (changes[type] as Change<T>)(state, data as EventData<T>, event);
}

const changes: { readonly [T in EventType]: Change<T> } = {
  'session.created': (state, data, event) => {
    state.runId = data.run_id;
    state.status = 'created';
    state.agent = data.agent;
    state.specDigest = data.spec_digest;
    state.requestDigest = data.request_digest;
    state.harness = data.harness;
    state.model = data.model;
    state.policy = data.policy;
    state.policyVersion = data.policy_version;
    state.invokedBy = data.invoked_by;
    state.autonomy = data.autonomy;
    state.trustTier = data.trust_tier;
    state.budgets = data.budgets;
    state.createdAt = time(event.occurredAt);
    state.statusSince = state.createdAt;
  },
  'session.status_changed': (state, data, event) => {
    state.status = data.to;
    state.statusSince = time(event.occurredAt);
    if (data.to === 'running') {
      state.startedAt = time(event.occurredAt);
      state.deadlineAt = data.deadline_at === undefined ? null : time(data.deadline_at);
    }
    if (data.reason === 'runner_result') state.resultSeen = true;
    if (data.outcome !== undefined && !isTerminal(data.to)) state.intent ??= { outcome: data.outcome, reason: data.reason, seq: event.seq };
    if (isTerminal(data.to)) {
      state.outcome = data.outcome ?? (data.to as RunState['outcome']);
      state.endedAt = time(event.occurredAt);
    }
  },
  'lease.granted': (state, data) => {
    state.generation = Math.max(state.generation, data.generation);
    if (data.generation === state.generation) state.leaseValidUntil = time(data.valid_until);
  },
  'run.quiesce_requested': (state, data) => {
    state.quiesceDeadlineAt = time(data.deadline_at);
  },
  'run.result': nothing,
  'agent.message': (state, data) => {
    state.reported.events += 1;
    state.reported.chars += data.chars;
  },
  'tool.completed': (state, data) => {
    state.reported.events += 1;
    const call = state.calls.get(data.tool_call_id);
    if (call !== undefined && call.tool === data.tool) countReported(call.history, data.ok);
  },
  'run.error': (state, data) => {
    state.reported.events += 1;
    state.lastErrorCode = data.code;
  },
  'workspace.initialized': (state, data) => {
    state.workspaceReady = true;
    state.archiveDigest = data.archive_digest;
    state.archiveBytes = data.archive_bytes;
  },
  'sandbox.started': (state, data) => {
    if (data.generation < state.generation) return;
    state.sandbox = { generation: data.generation, sandboxId: data.sandbox_id, exited: false, cause: null, exitSeq: null };
  },
  'sandbox.exited': (state, data, event) => {
    if (data.generation < state.generation) return;
    state.sandbox = { generation: data.generation, sandboxId: data.sandbox_id, exited: true, cause: data.cause, exitSeq: event.seq };
  },
  'artifact.collected': (state, data) => {
    if (data.kind === 'diff') state.diff = { sha256: data.sha256 };
  },
  'artifact.missing': (state, data) => {
    if (data.kind === 'diff') state.diff ??= 'missing';
  },
  'tool.requested': (state, data, event) => {
    const known = state.calls.get(data.tool_call_id);
    if (known !== undefined) {
      known.violations = new Set([...known.violations, callKey(data.tool, data.input_digest)]);
      return;
    }
    state.calls.set(data.tool_call_id, {
      toolCallId: data.tool_call_id,
      tool: data.tool,
      inputDigest: data.input_digest,
      inputFields: data.input_fields ?? {},
      requestedSeq: event.seq,
      approval: null,
      decision: null,
      violations: none,
      history: holdPlaces(state.history, data.matches ?? []),
    });
    state.openModelCalls.delete(data.tool_call_id);
    const key = callKey(data.tool, data.input_digest);
    state.sameCall = key === state.sameCall.key ? { key, count: state.sameCall.count + 1 } : { key, count: 1 };
  },
  'approval.requested': (state, data, event) => {
    const call = state.calls.get(data.tool_call_id);
    if (call === undefined || call.approval !== null) return;
    call.approval = {
      approvalId: data.approval_id,
      toolCallId: data.tool_call_id,
      scope: data.scope,
      scopeDigest: data.scope_digest ?? null,
      scopeKey: data.scope_key ?? null,
      approvers: data.approvers,
      excludeRequester: data.exclude_requester,
      expiresAt: time(data.expires_at),
      requestedSeq: event.seq,
      votes: nobody,
      settled: null,
    };
    state.pendingApprovals.set(data.approval_id, call.approval);
  },
  'tool.decision': (state, data, event) => {
    const call = state.calls.get(data.tool_call_id);
    if (call === undefined) return;
    // It answers another call under the same id: the call itself may still be waiting for its own answer.
    if (data.source === 'protocol_violation') {
      state.denialsInARow += 1;
      return;
    }
    if (call.decision !== null) return;
    call.decision = {
      verdict: data.verdict,
      source: data.source,
      code: data.code,
      seq: event.seq,
      editedDigest: data.edited_digest ?? null,
    };
    countDecided(state.history, call.history, {
      allowedAt: data.verdict === 'allow' ? time(event.occurredAt) : null,
      edited: data.edited_digest === undefined ? undefined : (data.matches ?? []),
    });
    state.denialsInARow = data.verdict === 'deny' ? state.denialsInARow + 1 : 0;
    state.idleModelCalls = 0;
  },
  'approval.voted': (state, data) => {
    const approval = state.pendingApprovals.get(data.approval_id);
    if (approval !== undefined) approval.votes = new Map([...approval.votes, [data.by, data.decision]]);
  },
  'approval.decided': (state, data, event) => {
    const approval = state.pendingApprovals.get(data.approval_id);
    if (approval === undefined) return;
    approval.settled = { decision: data.decision, by: data.decided_by, scope: data.scope, seq: event.seq };
    state.pendingApprovals.delete(data.approval_id);
    const covered = approval.scopeDigest ?? (approval.scopeKey === null ? null : grantByKey(approval.scopeKey));
    if (data.decision === 'approved' && data.scope === 'session' && covered !== null) state.grants.set(covered, data.approval_id);
  },
  'budget.exceeded': (state, data) => {
    state.exceeded.add(budgetKey(data.budget, data.account));
    state.modelAccessEnded ??= 'budget';
  },
  'budget.warned': (state, data) => {
    state.warned.add(budgetKey(data.budget, data.account));
  },
  'guard.warned': (state, data) => {
    state.warned.add(data.guard);
  },
  'guard.tripped': (state, data) => {
    state.exceeded.add(data.guard);
    state.modelAccessEnded ??= 'guard';
  },
  'budget.reserved': (state, data, event) => {
    state.reservations.set(data.reservation_id, {
      reservationId: data.reservation_id,
      tokens: data.tokens,
      costMicroUsd: data.cost_micro_usd ?? 0,
      expiresAt: time(data.expires_at),
      month: data.month ?? null,
      seq: event.seq,
    });
  },
  'budget.settled': (state, data) => {
    if (!state.reservations.delete(data.reservation_id)) return;
    if (data.lost === true) state.lostAnswers.add(data.reservation_id);
    state.spent.tokens += data.tokens;
    state.spent.costMicroUsd += data.cost_micro_usd ?? 0;
  },
  'budget.released': (state, data) => {
    state.reservations.delete(data.reservation_id);
  },
  'model.response': (state, data) => {
    state.usage.inputTokens += data.input_tokens;
    state.usage.outputTokens += data.output_tokens;
    state.usage.cacheReadTokens += data.cache_read_tokens;
    state.usage.cacheWriteTokens += data.cache_write_tokens;
    state.usage.costMicroUsd += data.cost_micro_usd ?? 0;
    state.usage.modelRequests += 1;
    // Its facade was slow, not lost: the calls stand beside this event.
    state.lostAnswers.delete(data.reservation_id);
    state.idleModelCalls = isFinalAnswer(data) ? 0 : state.idleModelCalls + 1;
  },
  'model.tool_call': (state, data, event) => {
    const call: ModelCallState = {
      toolCallId: data.tool_call_id,
      tool: data.tool,
      inputDigest: data.input_digest,
      inputFields: data.input_fields ?? {},
      inputVariants: data.input_variants ?? {},
      seq: event.seq,
      closed: null,
    };
    const known = state.modelCalls.get(data.tool_call_id);
    if (known !== undefined) {
      // Another call under an id that stands for one already: no decision and no result can be told to be this one's.
      if (!sameCall(known, call))
        state.modelCalls.set(`${data.tool_call_id} ${callKey(data.tool, data.input_digest)}`, { ...call, closed: 'uncovered' });
      return;
    }
    state.modelCalls.set(data.tool_call_id, call);
    if (!state.calls.has(data.tool_call_id)) state.openModelCalls.add(data.tool_call_id);
  },
  'model.tool_call_closed': (state, data) => closeModelCall(state, data.tool_call_id, data.class),
  'coverage.gap': (state, data) => {
    closeModelCall(state, data.tool_call_id, data.class);
    if (data.report_only !== true) state.modelAccessEnded ??= 'coverage';
  },
  'content.erased': nothing,
  'agent.created': nothing,
  'agent.revised': nothing,
  'policy.created': nothing,
  'policy.published': nothing,
  'policy.proposed': nothing,
  'policy.proposal_closed': nothing,
  'policy.deleted': nothing,
  'webhook.created': nothing,
  'webhook.secret_rotated': nothing,
  'webhook.disabled': nothing,
  'webhook.removed': nothing,
  'callback.delivered': nothing,
  'callback.failed': nothing,
};

function closeModelCall(
  state: RunState,
  toolCallId: string,
  as: 'rejected_by_harness' | 'no_effect' | 'uncovered' | 'provider_executed',
): void {
  const call = state.modelCalls.get(toolCallId);
  if (call === undefined) return;
  call.closed ??= as;
  state.openModelCalls.delete(toolCallId);
}

/** The model came to an end by itself. One that was cut, or that ran into its maximum, did not. */
const isFinalAnswer = ({ tool_calls, estimated, stop_reason }: EventData<'model.response'>): boolean =>
  tool_calls === 0 && !estimated && stop_reason !== 'max_tokens' && stop_reason !== 'max_output_tokens';

const sameCall = (a: ModelCallState, b: ModelCallState): boolean => a.tool === b.tool && a.inputDigest === b.inputDigest;

/** A budget of the run, or of an account that it shares with others. */
export const budgetKey = (budget: string, account?: { readonly scope: string; readonly period: string }): string =>
  account === undefined ? budget : `${budget} of ${account.scope} ${account.period}`;

/** What a call does, whatever its id: the same again counts towards the guard, and a reused id is refused once per key. */
export const callKey = (tool: string, inputDigest: string): string => `${tool}\u0000${inputDigest}`;
