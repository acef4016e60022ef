import type { DecisionSource, EventData, EventDraft, HistoryCondition, RuleRef, Verdict } from '@fluidbox/contracts';
import { ENGINE_VERSION, type GateProjection, type PolicyVerdict } from '@fluidbox/policy';
import type { FrozenRules, Ruling } from './rules';

export interface PermissionRequest {
  readonly toolCallId: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly inputDigest: string;
  /** Digests of the fields that are compared with what the model asked for; absent where nothing is compared. */
  readonly inputFields?: Readonly<Record<string, string>> | undefined;
  readonly generation: number;
  readonly projection: GateProjection;
  /** The history conditions of the policy that the call counts for. */
  readonly matches: readonly HistoryCondition[];
  readonly summary: string;
}
export interface Scope {
  readonly key: string;
  readonly digest: string;
  /** False: nobody can say what a grant would cover. The call can only be approved this once: its key fits no other. */
  readonly isNamed: boolean;
}
// Data is kept for ever and never quotes the call; what does is content.
export const requested = (request: PermissionRequest): EventDraft => ({
  type: 'tool.requested',
  actor: 'runner',
  data: {
    tool_call_id: request.toolCallId,
    tool: request.tool,
    input_digest: request.inputDigest,
    ...(request.inputFields === undefined ? {} : { input_fields: request.inputFields }),
    generation: request.generation,
    ...(request.matches.length === 0 ? {} : { matches: [...request.matches] }),
  },
  content: { input: request.input, summary: request.summary },
  projection: request.projection,
});

interface Denial {
  readonly source: DecisionSource;
  readonly code: string;
  readonly reason: string;
  readonly message: string;
}

/** A refusal that needed no policy. */
export const denial = (request: PermissionRequest, { source, code, reason, message }: Denial): EventDraft[] => [
  requested(request),
  {
    type: 'tool.decision',
    actor: 'service:gate',
    data: { tool_call_id: request.toolCallId, tool: request.tool, verdict: 'deny', source, input_digest: request.inputDigest, code },
    content: { reason, message },
  },
];

interface Question {
  readonly ruling: Ruling;
  readonly policy: PolicyVerdict;
  readonly approvalId: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  readonly scope: Scope;
}

export function approvalRequested(
  request: PermissionRequest,
  rules: FrozenRules,
  { ruling, policy, approvalId, expiresAt, scope }: Question,
): EventDraft {
  const rule = ruleOf(ruling);
  return {
    type: 'approval.requested',
    actor: 'service:gate',
    data: {
      tool_call_id: request.toolCallId,
      tool: request.tool,
      approval_id: approvalId,
      input_digest: request.inputDigest,
      scope: scope.isNamed ? policy.approvalScope : 'once',
      scope_digest: scope.digest,
      approvers: policy.approvers,
      exclude_requester: policy.excludeRequester,
      policy_digest: rules.policyDigest,
      engine_version: ENGINE_VERSION,
      expires_at: new Date(expiresAt).toISOString(),
      ...(rule === null ? {} : { rule }),
    },
    content: { reason: policy.reason, risk: policy.risk, scope_key: scope.key },
  };
}

interface Judged extends Omit<Ruling, 'source' | 'verdict'> {
  readonly verdict: Verdict;
  readonly source: DecisionSource;
}

export function decision(
  request: PermissionRequest,
  rules: FrozenRules,
  ruling: Judged,
  more: Partial<EventData<'tool.decision'>> = {},
): EventDraft {
  const rule = ruleOf(ruling);
  const verdict = ruling.verdict === 'allow' ? 'allow' : 'deny';
  return {
    type: 'tool.decision',
    actor: 'service:gate',
    data: {
      tool_call_id: request.toolCallId,
      tool: request.tool,
      verdict,
      source: ruling.source,
      input_digest: request.inputDigest,
      code: ruling.code,
      policy_digest: rules.policyDigest,
      engine_version: ENGINE_VERSION,
      ...(ruling.originalVerdict === null ? {} : { original_verdict: ruling.originalVerdict }),
      ...(rule === null ? {} : { rule }),
      ...more,
    },
    content: { reason: ruling.reason, message: verdict === 'allow' ? '' : ruling.message },
  };
}

/** Ledger data is kept for ever, so it names the entry of the policy that decided, never the agent's own text. */
function ruleOf({ policy }: Pick<Ruling, 'policy'>): RuleRef | null {
  if (policy === null || policy.ruleIndex === null) return null;
  const part = policy.parts.find((one) => one.verdict === policy.verdict && policy.verdict !== 'allow');
  return {
    index: policy.ruleIndex,
    ...(policy.ruleLine === null ? {} : { line: policy.ruleLine }),
    ...(part === undefined ? {} : { part: part.rule.slice(0, 200) }),
  };
}
