import { z } from 'zod';
import { BudgetMonth, BudgetPeriod, BudgetScope, Budgets } from './budgets';
import { ApprovalId, Count, Digest, MicroUsd, OrgId, Timestamp, ToolCallId } from './ids';
import { HistoryCondition, historyConditionsMax } from './policy-history';
import { FailedUpstream, UpstreamName, upstreamsMax } from './upstreams';

/**
 * Every event that may stand in a timeline: its type, who may append it, its ledger data and its content.
 *
 * *Ledger* data is kept for ever, so it holds decisions, digests, usage and status, never what a person or a model wrote.
 * *Content* is sealed with the run's keys and can be erased: `projection` (what policy looked at), `rest` (everything else).
 * To change an event, add a version and an upcast; never edit one. A new optional field is no new version: every old event still reads.
 */

export const runStatuses = [
  'created',
  'provisioning',
  'initializing',
  'running',
  'cancelling',
  'finalizing',
  'completed',
  'failed',
  'cancelled',
  'budget_exceeded',
] as const;
export const RunStatus = z.enum(runStatuses);
export type RunStatus = z.infer<typeof RunStatus>;
export const terminalStatuses = ['completed', 'failed', 'cancelled', 'budget_exceeded'] as const;
export const Outcome = z.enum(terminalStatuses);
export type Outcome = z.infer<typeof Outcome>;

/** Why a run ends or changed status. `runner_result` is the ordinary end. */
export const statusReasons = [
  'launched',
  'workspace_ready',
  'sandbox_started',
  'runner_result',
  'cancel_requested',
  'wall_clock',
  'budget',
  'coverage_gap',
  'guard_tripped',
  'heartbeat_lost',
  'sandbox_exited',
  'sandbox_failed',
  'workspace_failed',
  'launch_stalled',
  'probe_failed',
  'collected',
  'quiesced',
  'quiesce_timeout',
] as const;
export const StatusReason = z.enum(statusReasons);
export type StatusReason = z.infer<typeof StatusReason>;

export const Verdict = z.enum(['allow', 'ask', 'deny']);
export type Verdict = z.infer<typeof Verdict>;
export const DecisionSource = z.enum([
  'session_grant',
  'observe',
  'guard',
  'budget',
  'capability',
  'binding',
  'schema',
  'trust_tier',
  'policy',
  'autonomy_rewrite',
  'approval',
  'protocol_violation',
  'session_terminal',
]);
export type DecisionSource = z.infer<typeof DecisionSource>;
export const ApprovalOutcome = z.enum(['approved', 'denied', 'expired', 'refused']);
export type ApprovalOutcome = z.infer<typeof ApprovalOutcome>;
export const ApprovalScope = z.enum(['once', 'session']);
export type ApprovalScope = z.infer<typeof ApprovalScope>;

/** The rule that decided, as a person can find it again in the frozen policy document. */
export const RuleRef = z.strictObject({ index: z.number().int(), line: z.number().int().optional(), part: z.string().max(200).optional() });
export type RuleRef = z.infer<typeof RuleRef>;

export const budgetKinds = ['wall_clock_secs', 'tokens', 'cost_micro_usd', 'tool_calls'] as const;
export const BudgetKind = z.enum(budgetKinds);
export const CallClass = z.enum(['decided', 'rejected_by_harness', 'no_effect', 'provider_executed', 'uncovered', 'unknown']);
export type CallClass = z.infer<typeof CallClass>;
export const Coverage = z.enum(['full', 'partial', 'unknown']);
export const ArtifactKind = z.enum(['diff', 'archive', 'log']);

/** Salted digests of the input's own fields, by name: the fields that the harness row names in `comparedFields`, and only if they are there. */
const FieldDigests = z.record(z.string().max(64), Digest);
const Matches = z.array(HistoryCondition).max(historyConditionsMax);
const call = { tool_call_id: ToolCallId, tool: z.string().max(256) };
const usage = { input_tokens: Count, output_tokens: Count, cache_read_tokens: Count, cache_write_tokens: Count };
/** An account that several runs spend from: of the organisation or of an agent, in one month (UTC) or altogether. */
const account = { account: z.strictObject({ scope: BudgetScope, period: BudgetPeriod }).optional() };
const spent = { budget: BudgetKind, limit: Count, spent: Count, ...account };
/** `event_id`: what it told of; null for a test. */
const callback = {
  delivery_id: z.uuid(),
  webhook_id: z.uuid(),
  run_id: z.uuid().nullable(),
  event_id: z.uuid().nullable(),
  type: z.string().max(64),
};
const guard = { guard: z.enum(['same_call', 'denials', 'idle_model_calls']), count: Count, limit: Count };

/** One row per event type. `terminal` data needs no row of its own: it is `session.status_changed` to a terminal status. */
export const eventTypes = {
  'session.created': {
    appender: 'runs',
    data: z.strictObject({
      run_id: z.uuid(),
      agent: z.string(),
      agent_revision: z.number().int(),
      harness: z.string(),
      model: z.string(),
      policy: z.string(),
      policy_version: z.number().int(),
      spec_digest: Digest,
      request_digest: Digest,
      autonomy: z.enum(['supervised', 'autonomous']),
      trust_tier: z.enum(['trusted', 'read_only']),
      budgets: Budgets,
      workspace_kind: z.string(),
      invoked_by: z.string(),
    }),
    content: z.strictObject({ task: z.string(), system_prompt: z.string().nullable() }),
  },
  'session.status_changed': {
    appender: 'runs',
    // `deadline_at` comes with `running`; `outcome` with the intent (cancelling, finalizing) and with the terminal status.
    data: z.strictObject({
      from: RunStatus,
      to: RunStatus,
      reason: StatusReason,
      outcome: Outcome.optional(),
      deadline_at: Timestamp.optional(),
    }),
    content: z.strictObject({ summary: z.string() }),
  },
  'lease.granted': { appender: 'runs', data: z.strictObject({ generation: z.number().int(), valid_until: Timestamp }) },
  'run.quiesce_requested': { appender: 'runs', data: z.strictObject({ deadline_at: Timestamp, reason: StatusReason }) },
  'run.result': {
    appender: 'runs',
    data: z.strictObject({
      outcome: Outcome,
      reason: StatusReason,
      coverage: Coverage,
      calls: z.strictObject({
        model: Count,
        decided: Count,
        rejected_by_harness: Count,
        no_effect: Count,
        provider_executed: Count,
        uncovered: Count,
        unknown: Count,
      }),
      decisions: z.strictObject({ allow: Count, deny: Count, ask: Count }),
      usage: z.strictObject(usage),
      cost_micro_usd: MicroUsd,
      // Answers of which nobody saw what they asked for: the process that passed them on was lost. Their calls stand in no class.
      lost_answers: Count.optional(),
      diff_sha256: Digest.nullable(),
      duration_ms: Count,
    }),
  },
  'agent.message': {
    appender: 'runs',
    data: z.strictObject({ role: z.enum(['assistant', 'system']), digest: Digest, chars: Count }),
    content: z.strictObject({ text: z.string() }),
  },
  'tool.completed': {
    appender: 'runs',
    data: z.strictObject({ ...call, ok: z.boolean(), reported_by: z.literal('runner') }),
    content: z.strictObject({ summary: z.string() }),
  },
  'run.error': {
    appender: 'runs',
    data: z.strictObject({ code: z.string().max(64), reported_by: z.enum(['runner', 'service']) }),
    content: z.strictObject({ message: z.string() }),
  },

  'workspace.initialized': {
    appender: 'scheduler',
    data: z.strictObject({
      kind: z.enum(['scratch', 'local_copy', 'git_repository']),
      base_digest: Digest,
      archive_digest: Digest,
      archive_bytes: Count,
      files: Count,
      bytes: Count,
      commit: z.string().optional(),
      skipped: Count,
    }),
  },
  'sandbox.started': {
    appender: 'scheduler',
    data: z.strictObject({
      generation: z.number().int(),
      provider: z.enum(['local', 'docker', 'kubernetes']),
      sandbox_id: z.string(),
      runner_digest: Digest,
      isolation: z.strictObject({
        namespaces: z.boolean(),
        seccomp: z.boolean(),
        unprivileged_uid: z.boolean(),
        limits: z.enum(['cgroup2', 'cgroup1', 'rlimit']),
      }),
    }),
  },
  'sandbox.exited': {
    appender: 'scheduler',
    data: z.strictObject({
      generation: z.number().int(),
      sandbox_id: z.string(),
      exit_code: z.number().int().nullable(),
      signal: z.string().nullable(),
      cause: z.enum(['exited', 'stopped', 'lease_dead', 'failed', 'lost']),
    }),
    content: z.strictObject({ stderr_tail: z.string() }),
  },
  'artifact.collected': {
    appender: 'scheduler',
    data: z.strictObject({
      artifact_id: z.string(),
      kind: ArtifactKind,
      name: z.string(),
      content_type: z.string(),
      bytes: Count,
      sha256: Digest,
      truncated: z.boolean(),
      files: Count,
      insertions: Count,
      deletions: Count,
    }),
  },
  'artifact.missing': { appender: 'scheduler', data: z.strictObject({ kind: ArtifactKind, reason: z.string().max(200) }) },

  'tool.requested': {
    appender: 'gate',
    // `matches`: the history conditions of the frozen policy that this call counts for, so that history needs no content.
    data: z.strictObject({
      ...call,
      input_digest: Digest,
      input_fields: FieldDigests.optional(),
      generation: z.number().int(),
      matches: Matches.optional(),
    }),
    content: z.strictObject({ input: z.unknown(), summary: z.string() }),
    projection: z.unknown(),
  },
  'approval.requested': {
    appender: 'gate',
    data: z.strictObject({
      ...call,
      approval_id: ApprovalId,
      input_digest: Digest,
      scope: ApprovalScope,
      scope_key: z.string().max(512),
      approvers: z.number().int().min(1),
      exclude_requester: z.boolean(),
      rule: RuleRef.optional(),
      policy_digest: Digest,
      engine_version: z.string(),
      expires_at: Timestamp,
    }),
    content: z.strictObject({ reason: z.string(), risk: z.string().nullable() }),
  },
  'tool.decision': {
    appender: 'gate or approvals',
    data: z.strictObject({
      ...call,
      verdict: z.enum(['allow', 'deny']),
      source: DecisionSource,
      input_digest: Digest,
      code: z.string().max(64),
      original_verdict: Verdict.optional(),
      rule: RuleRef.optional(),
      approval_id: ApprovalId.optional(),
      edited_digest: Digest.optional(),
      // The history conditions that the edited input counts for, instead of those of the input asked for.
      matches: Matches.optional(),
      policy_digest: Digest.optional(),
      engine_version: z.string().optional(),
    }),
    // `reason` is for people, `message` is what the agent was told.
    content: z.strictObject({ reason: z.string(), message: z.string() }),
  },
  'budget.exceeded': { appender: 'gate, llm-facade or runs', data: z.strictObject(spent) },
  'guard.warned': { appender: 'gate or llm-facade', data: z.strictObject(guard) },
  'guard.tripped': { appender: 'gate or llm-facade', data: z.strictObject(guard) },

  'approval.voted': {
    appender: 'approvals',
    data: z.strictObject({
      approval_id: ApprovalId,
      tool_call_id: ToolCallId,
      decision: z.enum(['approve', 'approve_session', 'deny', 'edit']),
      by: z.string(),
    }),
  },
  'approval.decided': {
    appender: 'approvals',
    data: z.strictObject({
      approval_id: ApprovalId,
      tool_call_id: ToolCallId,
      decision: ApprovalOutcome,
      scope: ApprovalScope,
      scope_key: z.string().max(512),
      decided_by: z.string(),
      edited_digest: Digest.optional(),
    }),
    content: z.strictObject({ comment: z.string().nullable(), edited_input: z.unknown() }),
  },

  'budget.reserved': {
    appender: 'llm-facade',
    // `month`: of the accounts that the cost is held in and later charged to, whenever it is settled.
    data: z.strictObject({
      reservation_id: z.uuid(),
      tokens: Count,
      cost_micro_usd: MicroUsd.nullable(),
      expires_at: Timestamp,
      month: BudgetMonth.optional(),
    }),
  },
  'budget.settled': {
    appender: 'llm-facade or runs',
    data: z.strictObject({
      reservation_id: z.uuid(),
      tokens: Count,
      cost_micro_usd: MicroUsd.nullable(),
      basis: z.enum(['usage', 'estimated', 'pessimistic']),
      // Settled for a facade that was lost: what its answer asked for is not known, unless a `model.response` of this reservation comes after all.
      lost: z.literal(true).optional(),
    }),
  },
  'budget.released': {
    appender: 'llm-facade',
    data: z.strictObject({ reservation_id: z.uuid(), cause: z.enum(['not_sent', 'refused_upstream']) }),
  },
  'budget.warned': { appender: 'llm-facade', data: z.strictObject(spent) },
  'model.response': {
    appender: 'llm-facade',
    data: z.strictObject({
      reservation_id: z.uuid(),
      model: z.string(),
      status: z.number().int(),
      stop_reason: z.string().nullable(),
      tool_calls: Count.optional(),
      ...usage,
      // Parts of the writes and of the output, where the provider names them.
      cache_write_1h_tokens: Count.optional(),
      reasoning_tokens: Count.optional(),
      cost_micro_usd: MicroUsd.nullable(),
      estimated: z.boolean(),
      agent_id: z.string().max(128).nullable(),
      duration_ms: Count,
      // Of the organisation's own upstreams the one that answered, and those that were asked before it.
      upstream: UpstreamName.optional(),
      attempts: z.array(FailedUpstream).max(upstreamsMax).optional(),
    }),
  },
  // `input_fields` is compared with the one of `tool.requested`: the gate must have judged what the model asked for.
  'model.tool_call': {
    appender: 'llm-facade',
    // `input_variants`: the same field as the harness is known to tidy it before it asks.
    data: z.strictObject({
      ...call,
      input_digest: Digest,
      input_fields: FieldDigests.optional(),
      input_variants: z.record(z.string().max(64), z.array(Digest).max(8)).optional(),
      reservation_id: z.uuid(),
    }),
  },
  // Closes a model call that the gate never decided and that had no effect. `decided` needs no event: the gate's `tool.decision` closes it.
  'model.tool_call_closed': {
    appender: 'llm-facade',
    data: z.strictObject({ ...call, class: z.enum(['rejected_by_harness', 'no_effect']) }),
  },
  // Ends model access, so the run fails. `report_only`: the policy says `coverage: report`, it is recorded and nothing ends.
  'coverage.gap': {
    appender: 'llm-facade',
    data: z.strictObject({
      ...call,
      class: z.enum(['uncovered', 'provider_executed', 'rejected_by_harness']),
      report_only: z.literal(true).optional(),
    }),
  },

  // On the run's erasure stream: its own is closed by then. Appended when the keys, the sealed rows and the files are gone.
  'content.erased': {
    appender: 'runs',
    data: z.strictObject({
      run_id: z.uuid(),
      classes: z.array(z.enum(['projection', 'rest'])).min(1),
      cause: z.enum(['requested', 'retention']),
      by: z.string().max(200),
    }),
  },

  'agent.created': { appender: 'run-specs', data: z.strictObject({ agent_id: z.uuid(), name: z.string(), by: z.string() }) },
  'agent.revised': {
    appender: 'run-specs',
    data: z.strictObject({
      revision: z.number().int(),
      harness: z.string(),
      model: z.string(),
      policy: z.string(),
      budgets: Budgets.nullable(),
      trust_tier: z.enum(['trusted', 'read_only']),
      workspace: z.unknown(),
      description: z.string().nullable(),
      by: z.string(),
      system_prompt_digest: Digest.nullable(),
    }),
    content: z.strictObject({ system_prompt: z.string() }),
  },
  'policy.created': { appender: 'run-specs', data: z.strictObject({ name: z.string(), by: z.string() }) },
  'policy.published': {
    appender: 'run-specs',
    // `by` wrote it; where a second person was needed, `approved_by` published it.
    data: z.strictObject({
      version: z.number().int(),
      policy_digest: Digest,
      source_digest: Digest,
      summary: z.string(),
      by: z.string(),
      approved_by: z.string().optional(),
      proposal_id: z.uuid().optional(),
    }),
  },
  // `made_by`: who made the token of the proposer, so that nobody approves for themselves with a token of their own making.
  'policy.proposed': {
    appender: 'run-specs',
    data: z.strictObject({
      proposal_id: z.uuid(),
      base_version: z.number().int(),
      policy_digest: Digest,
      source_digest: Digest,
      summary: z.string(),
      by: z.string(),
      made_by: z.array(z.string()),
      reasons: z.array(z.string().max(300)).max(16),
      backtest: z.strictObject({ calls: Count, loosened: Count, undetermined: Count, erased: Count, complete: z.boolean() }).nullable(),
    }),
  },
  'policy.proposal_closed': {
    appender: 'run-specs',
    data: z.strictObject({ proposal_id: z.uuid(), outcome: z.enum(['rejected', 'withdrawn']), by: z.string() }),
  },
  // The name is free again; its versions stay readable, and the next one goes on with their numbers.
  'policy.deleted': { appender: 'run-specs', data: z.strictObject({ last_version: z.number().int(), by: z.string() }) },

  // On the stream of the webhook. Of its URL only the origin: a path may itself be a secret.
  'webhook.created': {
    appender: 'delivery',
    data: z.strictObject({
      webhook_id: z.uuid(),
      origin: z.string().max(300),
      events: z.array(z.string().max(64)).min(1),
      agent: z.string().nullable(),
      by: z.string(),
    }),
  },
  'webhook.secret_rotated': { appender: 'delivery', data: z.strictObject({ webhook_id: z.uuid(), by: z.string() }) },
  // The receiver answered 410: it wants nothing more.
  'webhook.disabled': { appender: 'delivery', data: z.strictObject({ webhook_id: z.uuid(), delivery_id: z.uuid() }) },
  'webhook.removed': { appender: 'delivery', data: z.strictObject({ webhook_id: z.uuid(), by: z.string() }) },
  // On the stream of the delivery, once it is settled. Delivered after it had failed, when a person asked for that.
  'callback.delivered': {
    appender: 'delivery',
    data: z.strictObject({ ...callback, attempts: Count, status: z.number().int() }),
  },
  'callback.failed': {
    appender: 'delivery',
    data: z.strictObject({ ...callback, attempts: Count, reason: z.string().max(64), status: z.number().int().nullable() }),
  },
} as const satisfies Record<string, { appender: string; data: z.ZodType; content?: z.ZodType; projection?: z.ZodType }>;

export type EventType = keyof typeof eventTypes;
export type EventData<T extends EventType> = z.infer<(typeof eventTypes)[T]['data']>;
export type EventContent<T extends EventType> = (typeof eventTypes)[T] extends { content: infer C extends z.ZodType } ? z.infer<C> : never;
export const isEventType = (type: string): type is EventType => Object.hasOwn(eventTypes, type);

/**
 * Where an event stands: `run-<uuid>`, `erasure-<uuid of the run>`, `webhook-<uuid>`, `delivery-<uuid>`, `agent-<uuid>`, `policy-<uuid>`; the last two are UUIDv5 of organisation and name (a name
 * may hold dots, a subject not).
 */
export const streamCategories = ['run', 'agent', 'policy', 'erasure', 'webhook', 'delivery'] as const;
export const StreamCategory = z.enum(streamCategories);
export type StreamCategory = z.infer<typeof StreamCategory>;
export interface StreamRef {
  readonly category: StreamCategory;
  readonly id: string;
  readonly org: string;
}
/** The name as it stands in the ledger, in log messages and in the associated data of sealed content. */
export const streamNameOf = (stream: Pick<StreamRef, 'category' | 'id'>): string => `${stream.category}-${stream.id}`;
/** What was erased of a run: its own stream is closed. */
export const erasureStream = (runId: string, org: string): StreamRef => ({ category: 'erasure', id: runId, org });
export const runStream = (runId: string, org: string): StreamRef => ({ category: 'run', id: runId, org });

/** An event before it has a place in its stream. `actor`: `service:<name>`, `runner`, `model` or `principal:<name>`. */
export type EventDraft = {
  [T in EventType]: {
    readonly type: T;
    readonly data: EventData<T>;
    readonly content?: EventContent<T>;
    /** Only `tool.requested`: what policy looked at. */
    readonly projection?: unknown;
    readonly actor: string;
    /** Idempotency: a second append of the same id stores nothing and answers the stored event. */
    readonly eventId?: string;
  };
}[EventType];

/** The stored, hashed part of an event (canonical JSON of it is what the chain covers). `seq` and the hashes stand beside it. */
export const LedgerBody = z.strictObject({
  event_id: z.uuid(),
  org: OrgId,
  stream: z.string(),
  type: z.string(),
  version: z.number().int().min(1),
  actor: z.string().max(200),
  occurred_at: Timestamp,
  data: z.record(z.string(), z.unknown()),
  // Salted digests of the sealed content, so that erased content can still be proved if somebody kept a copy.
  content: z.strictObject({ projection: Digest.optional(), rest: Digest.optional() }).optional(),
});
export type LedgerBody = z.infer<typeof LedgerBody>;

/** An event as readers see it. `data` is typed by `type`; an unknown newer type is preserved and typed as a plain record. */
export type TimelineEvent = {
  [T in EventType]: RecordedEvent<T, EventData<T>>;
}[EventType];
export interface RecordedEvent<T extends string = string, D = Record<string, unknown>> {
  readonly seq: number;
  readonly globalPosition: number;
  readonly eventId: string;
  readonly org: string;
  readonly stream: string;
  readonly type: T;
  readonly version: number;
  readonly actor: string;
  readonly occurredAt: string;
  readonly data: D;
}
