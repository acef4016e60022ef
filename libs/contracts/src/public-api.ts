import { z } from 'zod';
import { Budgets, BudgetsInput } from './budgets';
import { Count, Digest, MicroUsd, Name, Timestamp } from './ids';
import { WorkspaceInput } from './run-spec';
import { humanText } from './text';
import { ApprovalScope, Coverage, Outcome, RunStatus } from './timeline';

/** Bodies of the public `/v1` API. Requests are strict: an unknown key is a 422 that names it. */
export const v1BodyBytesMax = 1024 * 1024;
export const roles = ['member', 'approver', 'admin'] as const;
export const Role = z.enum(roles);
export type Role = z.infer<typeof Role>;
/** Who calls: a named API token. `name` is what stands in the ledger. */
export const Principal = z.strictObject({ name: Name, role: Role, org: z.string() });
export type Principal = z.infer<typeof Principal>;
export const roleAtLeast = (role: Role, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed);

export const CreateTokenBody = z.strictObject({ name: Name, role: Role, ttl_days: z.number().int().min(1).max(365).default(90) });
export const TokenView = z.strictObject({
  name: Name,
  role: Role,
  created_at: Timestamp,
  expires_at: Timestamp,
  last_used_at: Timestamp.nullable(),
  /** Whose token made it; null where that was not recorded yet. */
  made_by: z.string().nullable().optional(),
});
export type TokenView = z.infer<typeof TokenView>;

export const CreateAgentBody = z.strictObject({
  name: Name,
  description: humanText(2000).optional(),
  harness: z.string().default('claude-agent-sdk'),
  model: z.string().max(128).optional(),
  system_prompt: humanText(64 * 1024).optional(),
  policy: Name.default('default'),
  budgets: BudgetsInput.optional(),
  trust_tier: z.enum(['trusted', 'read_only']).default('trusted'),
  workspace: WorkspaceInput.optional(),
});
export type CreateAgentBody = z.infer<typeof CreateAgentBody>;
/** A revision inherits what it omits; `null` clears. */
export const ReviseAgentBody = z.strictObject({
  description: humanText(2000).nullable().optional(),
  harness: z.string().optional(),
  model: z.string().max(128).nullable().optional(),
  system_prompt: humanText(64 * 1024)
    .nullable()
    .optional(),
  policy: Name.optional(),
  budgets: BudgetsInput.nullable().optional(),
  trust_tier: z.enum(['trusted', 'read_only']).optional(),
  workspace: WorkspaceInput.nullable().optional(),
});
export type ReviseAgentBody = z.infer<typeof ReviseAgentBody>;
export const AgentView = z.strictObject({
  id: z.uuid(),
  name: Name,
  revision: z.number().int(),
  description: z.string().nullable(),
  harness: z.string(),
  model: z.string(),
  policy: Name,
  has_system_prompt: z.boolean(),
  budgets: BudgetsInput.nullable(),
  trust_tier: z.enum(['trusted', 'read_only']),
  workspace: WorkspaceInput.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type AgentView = z.infer<typeof AgentView>;

export const ImportPolicyBody = z.strictObject({
  source: humanText(512 * 1024),
  summary: humanText(500).default('imported'),
  base_version: z.number().int().min(0).optional(),
});
export type ImportPolicyBody = z.infer<typeof ImportPolicyBody>;
export const PolicyView = z.strictObject({
  name: Name,
  version: z.number().int(),
  digest: Digest,
  source: z.string(),
  summary: z.string(),
  by: z.string(),
  created_at: Timestamp,
  appended: z.boolean().optional(),
  /** Who published it where a second person was needed. */
  approved_by: z.string().optional(),
});
export type PolicyView = z.infer<typeof PolicyView>;

export const CreateSessionBody = z.strictObject({
  agent: Name,
  task: humanText(64 * 1024).refine((task) => task.trim() !== '', 'must not be empty'),
  workspace: WorkspaceInput.optional(),
  autonomous: z.boolean().default(false),
  budgets: BudgetsInput.optional(),
});
export type CreateSessionBody = z.infer<typeof CreateSessionBody>;
/** `status` on the API: `awaiting_approval` is derived (running with at least one pending approval). */
export const SessionStatus = z.union([RunStatus, z.literal('awaiting_approval')]);
export const SessionView = z.strictObject({
  id: z.uuid(),
  agent: z.string(),
  agent_revision: z.number().int(),
  harness: z.string(),
  model: z.string(),
  policy: z.string(),
  policy_version: z.number().int(),
  status: SessionStatus,
  reason: z.string().nullable(),
  outcome: Outcome.nullable(),
  coverage: Coverage.nullable(),
  autonomy: z.enum(['supervised', 'autonomous']),
  trust_tier: z.enum(['trusted', 'read_only']),
  spec_digest: Digest,
  budgets: Budgets,
  invoked_by: z.string(),
  task: z.string().nullable(),
  summary: z.string().nullable(),
  usage: z.strictObject({
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
    cost_micro_usd: MicroUsd,
    model_requests: Count,
  }),
  tool_calls: Count,
  pending_approvals: Count,
  last_seq: Count,
  created_at: Timestamp,
  started_at: Timestamp.nullable(),
  finished_at: Timestamp.nullable(),
  deadline_at: Timestamp.nullable(),
  /** When task, summaries, messages and files were erased; `null` while they are there. Set where a run is read. */
  content_erased_at: Timestamp.nullable().optional(),
});
export type SessionView = z.infer<typeof SessionView>;

export const ApprovalView = z.strictObject({
  id: z.string(),
  run_id: z.uuid(),
  agent: z.string(),
  tool_call_id: z.string(),
  tool: z.string(),
  status: z.enum(['pending', 'approved', 'denied', 'expired', 'refused']),
  scope: ApprovalScope,
  /** What a grant for the rest of the run covers. Null once the content is erased, and in lists that hold none. */
  scope_key: z.string().nullable(),
  input_digest: Digest,
  input: z.unknown(),
  projection: z.unknown(),
  reason: z.string().nullable(),
  approvers: z.number().int(),
  votes: z.array(z.string()),
  requested_at: Timestamp,
  expires_at: Timestamp,
  decided_at: Timestamp.nullable(),
  decided_by: z.string().nullable(),
});
export type ApprovalView = z.infer<typeof ApprovalView>;
export const DecideApprovalBody = z.discriminatedUnion('decision', [
  z.strictObject({ decision: z.literal('approve'), comment: humanText(2000).optional() }),
  z.strictObject({ decision: z.literal('approve_session'), comment: humanText(2000).optional() }),
  z.strictObject({ decision: z.literal('deny'), comment: humanText(2000).optional() }),
  z.strictObject({ decision: z.literal('edit'), input: z.record(z.string(), z.unknown()), comment: humanText(2000).optional() }),
]);
export type DecideApprovalBody = z.infer<typeof DecideApprovalBody>;

/** One event on the API and on the stream. `content` is present when the reader may see it and it is not erased. */
export const EventView = z.strictObject({
  seq: z.number().int(),
  type: z.string(),
  version: z.number().int(),
  actor: z.string(),
  occurred_at: z.string(),
  data: z.record(z.string(), z.unknown()),
  content: z.record(z.string(), z.unknown()).nullable(),
  hash: z.string(),
});
export type EventView = z.infer<typeof EventView>;

export const ArtifactView = z.strictObject({
  id: z.string(),
  kind: z.string(),
  name: z.string(),
  content_type: z.string(),
  bytes: Count,
  sha256: Digest,
  truncated: z.boolean(),
  created_at: Timestamp,
});
export type ArtifactView = z.infer<typeof ArtifactView>;

export interface Page<T> {
  readonly data: readonly T[];
  readonly next_cursor: string | null;
  readonly has_more: boolean;
}
export const CostView = z.strictObject({
  usage: SessionView.shape.usage,
  tool_calls: Count,
  reserved_micro_usd: MicroUsd,
  budgets: Budgets,
});
export type CostView = z.infer<typeof CostView>;
