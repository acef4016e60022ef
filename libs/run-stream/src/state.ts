import type { Budgets, CallClass, DecisionSource, Outcome, RunStatus, StatusReason } from '@fluidbox/contracts';
import type { CallHistory, HistoryState } from './history';

/** One tool call of the run, as the gate and the approvals know it. */
export interface CallState {
  readonly toolCallId: string;
  readonly tool: string;
  readonly inputDigest: string;
  /** Digests of the input's fields that must be as the model wrote them. */
  readonly inputFields: FieldDigests;
  /** Seq of `tool.requested`, where its content stands. */
  readonly requestedSeq: number;
  approval: ApprovalState | null;
  /** The first answer stays, whatever comes later under the same id. */
  decision: CallDecision | null;
  /** Other digests that were asked under this id and denied, each once. */
  violations: ReadonlySet<string>;
  readonly history: CallHistory;
}
export interface CallDecision {
  readonly verdict: 'allow' | 'deny';
  readonly source: DecisionSource;
  readonly code: string;
  readonly seq: number;
  /** Set when a person approved another input than the one asked for. */
  readonly editedDigest: string | null;
}
/** Apart from every digest: a tool may be called what a digest looks like, and its scope key begins with that. */
export const grantByKey = (scopeKey: string): string => `key ${scopeKey}`;

export interface ApprovalState {
  readonly approvalId: string;
  readonly toolCallId: string;
  readonly scope: 'once' | 'session';
  /** Salted digest of what a grant for the rest of the run covers. Null where version 1 said the key itself. */
  readonly scopeDigest: string | null;
  readonly scopeKey: string | null;
  readonly approvers: number;
  readonly excludeRequester: boolean;
  readonly expiresAt: number;
  readonly requestedSeq: number;
  votes: ReadonlyMap<string, 'approve' | 'approve_session' | 'deny' | 'edit'>;
  settled: {
    readonly decision: 'approved' | 'denied' | 'expired' | 'refused';
    readonly by: string;
    readonly scope: 'once' | 'session';
    readonly seq: number;
  } | null;
}
/** One call the model emitted, as the facade saw it. */
export interface ModelCallState {
  readonly toolCallId: string;
  readonly tool: string;
  readonly inputDigest: string;
  readonly inputFields: FieldDigests;
  /** The same fields as the harness may have tidied them. */
  readonly inputVariants: Readonly<Record<string, readonly string[]>>;
  readonly seq: number;
  /** Null until closed; `decided` follows from the gate's decision of the same id. */
  closed: Exclude<CallClass, 'decided' | 'unknown'> | null;
}
/** Salted digest by name of the field. */
export type FieldDigests = Readonly<Record<string, string>>;
export interface ReservationState {
  readonly reservationId: string;
  readonly tokens: number;
  readonly costMicroUsd: number;
  readonly expiresAt: number;
  /** Of the accounts that hold it; null for one of a time before there were accounts. */
  readonly month: string | null;
  readonly seq: number;
}
export interface UsageState {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  costMicroUsd: number;
  modelRequests: number;
}

/** The fold of a run's stream that every service shares. `null` identity = the run does not exist (yet). */
export interface RunState {
  runId: string | null;
  version: number;
  status: RunStatus;
  /** When this status began. */
  statusSince: number;
  agent: string;
  specDigest: string;
  requestDigest: string;
  harness: string;
  model: string;
  policy: string;
  policyVersion: number;
  invokedBy: string;
  autonomy: 'supervised' | 'autonomous';
  trustTier: 'trusted' | 'read_only';
  budgets: Budgets;
  createdAt: number;
  startedAt: number | null;
  deadlineAt: number | null;
  endedAt: number | null;
  generation: number;
  leaseValidUntil: number;
  /** How the run will end, from the first status change that said so; the first intent wins. */
  intent: { readonly outcome: Outcome; readonly reason: StatusReason; readonly seq: number } | null;
  quiesceDeadlineAt: number | null;
  outcome: Outcome | null;
  resultSeen: boolean;
  /** What the runner reported so far: messages, completions, errors; `chars` of its messages. */
  reported: { events: number; chars: number };
  /** Code of the last `run.error`. */
  lastErrorCode: string | null;
  workspaceReady: boolean;
  archiveDigest: string | null;
  archiveBytes: number;
  /** Sandbox of the current generation. */
  sandbox: {
    readonly generation: number;
    readonly sandboxId: string;
    exited: boolean;
    readonly cause: string | null;
    /** Of `sandbox.exited`, where its last words stand. */
    readonly exitSeq: number | null;
  } | null;
  diff: { readonly sha256: string } | 'missing' | null;
  calls: Map<string, CallState>;
  pendingApprovals: Map<string, ApprovalState>;
  /** Session grants: scope digest, or `grantByKey` of an approval of version 1 → approval id. They end with the run. */
  grants: Map<string, string>;
  modelCalls: Map<string, ModelCallState>;
  /** Model calls not yet closed and not decided. */
  openModelCalls: Set<string>;
  reservations: Map<string, ReservationState>;
  usage: UsageState;
  /** Settled tokens and cost; pessimistic settlements included, so it can exceed `usage`. */
  spent: { tokens: number; costMicroUsd: number };
  /** Reservations that were settled for a facade that was lost: nobody knows which calls their answers made. */
  lostAnswers: Set<string>;
  /** Answers of the model since the last progress: a call that was decided, or an answer that ended without a call. */
  idleModelCalls: number;
  exceeded: Set<string>;
  warned: Set<string>;
  /** Why the facade refuses further model requests; the run may still be winding down. */
  modelAccessEnded: 'budget' | 'coverage' | 'guard' | null;
  denialsInARow: number;
  /** What the calls so far mean for the history conditions of the policy. */
  history: HistoryState;
  /** Consecutive requests with the same tool and input, for the same-call guard. */
  sameCall: { key: string; count: number };
}

export const initialRun = (): RunState => ({
  runId: null,
  version: 0,
  status: 'created',
  statusSince: 0,
  agent: '',
  specDigest: '',
  requestDigest: '',
  harness: '',
  model: '',
  policy: '',
  policyVersion: 0,
  invokedBy: '',
  autonomy: 'supervised',
  trustTier: 'trusted',
  budgets: { max_wall_clock_secs: null, max_tokens: null, max_cost_micro_usd: null, max_tool_calls: null },
  createdAt: 0,
  startedAt: null,
  deadlineAt: null,
  endedAt: null,
  generation: 0,
  leaseValidUntil: 0,
  intent: null,
  quiesceDeadlineAt: null,
  outcome: null,
  resultSeen: false,
  reported: { events: 0, chars: 0 },
  lastErrorCode: null,
  workspaceReady: false,
  archiveDigest: null,
  archiveBytes: 0,
  sandbox: null,
  diff: null,
  calls: new Map(),
  pendingApprovals: new Map(),
  grants: new Map(),
  modelCalls: new Map(),
  openModelCalls: new Set(),
  reservations: new Map(),
  usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costMicroUsd: 0, modelRequests: 0 },
  spent: { tokens: 0, costMicroUsd: 0 },
  lostAnswers: new Set(),
  idleModelCalls: 0,
  exceeded: new Set(),
  warned: new Set(),
  modelAccessEnded: null,
  denialsInARow: 0,
  history: new Map(),
  sameCall: { key: '', count: 0 },
});
