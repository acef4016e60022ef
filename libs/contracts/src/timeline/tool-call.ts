import { z } from 'zod';
import { ApprovalId, Digest, Timestamp, ToolCallId } from '../ids';
import { HistoryCondition, historyConditionsMax } from '../policy-history';
import type { EventRows } from './event-rows';

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

/** Salted digests of the input's own fields, by name: the fields that the harness row names in `comparedFields`, and only if they are there. */
export const FieldDigests = z.record(z.string().max(64), Digest);
/** What a grant for the rest of the run covers, in words: a command with its options, or a tool with its paths. */
const ScopeKey = z.string().max(512);
const Matches = z.array(HistoryCondition).max(historyConditionsMax);
export const call = { tool_call_id: ToolCallId, tool: z.string().max(256) };

/** One call of a tool: asked for, decided by the gate or by people, done. */
export const toolCallEvents = {
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
    data: z
      .strictObject({
        ...call,
        approval_id: ApprovalId,
        input_digest: Digest,
        scope: ApprovalScope,
        // Salted, of what a grant for the rest of the run would cover. The key quotes the call, so it is content.
        scope_digest: Digest.optional(),
        // Only what version 1 said in the open, instead of the digest.
        scope_key: ScopeKey.optional(),
        approvers: z.number().int().min(1),
        exclude_requester: z.boolean(),
        rule: RuleRef.optional(),
        policy_digest: Digest,
        engine_version: z.string(),
        expires_at: Timestamp,
      })
      .refine(
        (data) => (data.scope_digest === undefined) !== (data.scope_key === undefined),
        'needs scope_digest, or the scope_key of version 1',
      ),
    // `scope_key`: not in the content of version 1.
    content: z.strictObject({ reason: z.string(), risk: z.string().nullable(), scope_key: ScopeKey.optional() }),
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
      decided_by: z.string(),
      edited_digest: Digest.optional(),
    }),
    content: z.strictObject({ comment: z.string().nullable(), edited_input: z.unknown() }),
  },
  'tool.completed': {
    appender: 'runs',
    data: z.strictObject({ ...call, ok: z.boolean(), reported_by: z.literal('runner') }),
    content: z.strictObject({ summary: z.string() }),
  },
} as const satisfies EventRows;
