import type { PolicyHistory } from '@fluidbox/contracts';
import {
  type CompiledPolicy,
  evaluateProjection,
  evaluateTrustTier,
  type GateProjection,
  type PolicyVerdict,
  rewriteForAutonomy,
} from '@fluidbox/policy';
import { misshapen } from './call-shape';

/** What governs the calls of one run: the part of its frozen spec that the gate reads, ready to decide. */
export interface FrozenRules {
  readonly toolSurface: ReadonlySet<string>;
  readonly trustTier: 'trusted' | 'read_only';
  readonly autonomy: 'supervised' | 'autonomous';
  readonly policy: CompiledPolicy;
  readonly policyDigest: string;
  /** Validators of the brokered tools' arguments, by canonical name: null when they hold, else what is wrong with them, by pointers and never by values. */
  readonly argumentSchemas: ReadonlyMap<string, ArgumentCheck>;
  /** Per tool, the fields whose digests are compared with those of the model's own call. */
  readonly comparedFields: Readonly<Record<string, readonly string[]>>;
  /** False: the harness cannot run another input than its model's. */
  readonly runsEdits: boolean;
}
export type ArgumentCheck = (args: Readonly<Record<string, unknown>>) => string | null;

/** What the run did before; asked for only where the policy has history conditions. */
export interface Before {
  readonly now: number;
  readonly history: () => PolicyHistory;
}

export interface JudgedCall {
  readonly projection: GateProjection;
  /** As it would run: the projection shortens long texts. */
  readonly input: Readonly<Record<string, unknown>>;
}

const isBrokered = (tool: string): boolean => tool.startsWith('mcp__');

export type StageSource = 'capability' | 'schema' | 'trust_tier' | 'policy' | 'autonomy_rewrite' | 'observe';

/** What the frozen rules say about one call, whatever has happened in the run. */
export interface Ruling {
  readonly verdict: 'allow' | 'ask' | 'deny';
  readonly source: StageSource;
  readonly code: string;
  /** For people. */
  readonly reason: string;
  /** For the agent, when the call is denied. */
  readonly message: string;
  /** The policy's own word, where another stage or mode overrode it. */
  readonly originalVerdict: 'allow' | 'ask' | 'deny' | null;
  /** Null when the call never reached the policy. */
  readonly policy: PolicyVerdict | null;
}

/** The call is judged by the frozen surface, its arguments, then the trust tier, then the policy; the first that refuses has the word. */
export function judgeByRules(rules: FrozenRules, call: JudgedCall, before: Before): Ruling {
  const { projection } = call;
  const noCall = denyOutsideSurface(rules, projection) ?? denyMisshapen(projection) ?? denyAgainstSchema(rules, call);
  if (noCall !== null) return noCall;
  const context = rules.policy.conditions.length === 0 ? null : { now: before.now, history: before.history() };
  const policy = evaluateProjection(rules.policy, projection, context);
  return denyBelowTrustTier(rules, projection, policy) ?? byPolicy(rules, policy);
}

const refusal = (source: StageSource, code: string, reason: string, message: string): Ruling => ({
  verdict: 'deny',
  source,
  code,
  reason,
  message,
  originalVerdict: null,
  policy: null,
});

function denyOutsideSurface(rules: FrozenRules, { tool }: GateProjection): Ruling | null {
  if (rules.toolSurface.has(tool)) return null;
  if (isBrokered(tool))
    return refusal(
      'capability',
      'tool_not_bound',
      `${tool} is not in the frozen surface of this run's brokered tools`,
      `${tool} is not connected to this run.`,
    );
  return refusal(
    'capability',
    'tool_not_granted',
    `${tool} is not in the frozen tool surface of this run`,
    `${tool} is not available in this run. Use one of the tools you were given.`,
  );
}

/** Whoever wrote it, the agent or an approver who edited it: what is no call of its tool cannot be judged, and cannot be made. */
function denyMisshapen({ tool, args }: GateProjection): Ruling | null {
  const problem = misshapen(tool, args);
  return problem === null ? null : refusal('schema', 'invalid_input', problem, problem);
}

/** A brokered tool is called with what its frozen schema takes, or not at all: the server behind it may have changed its mind since. */
function denyAgainstSchema(rules: FrozenRules, { projection: { tool }, input }: JudgedCall): Ruling | null {
  if (!isBrokered(tool)) return null;
  const check = rules.argumentSchemas.get(tool);
  const problem = check === undefined ? `no argument schema of ${tool} is frozen with this run, so it cannot be called` : check(input);
  return problem === null ? null : refusal('schema', check === undefined ? 'schema_missing' : 'invalid_input', problem, problem);
}

/** A floor: no policy and no person lets a call pass below it. */
function denyBelowTrustTier(rules: FrozenRules, projection: GateProjection, policy: PolicyVerdict): Ruling | null {
  const reason = evaluateTrustTier(rules.trustTier, projection);
  if (reason === null) return null;
  return {
    verdict: 'deny',
    source: 'trust_tier',
    code: 'read_only',
    reason,
    message: `This run may only read: ${reason}.`,
    originalVerdict: policy.verdict,
    policy,
  };
}

function byPolicy(rules: FrozenRules, policy: PolicyVerdict): Ruling {
  const own = {
    source: 'policy',
    code: policyCodes[policy.verdict],
    reason: policy.reason,
    message: tellAgent(policy),
    originalVerdict: null,
    policy,
  } as const;
  if (policy.verdict === 'allow') return { ...own, verdict: 'allow' };
  if (rules.policy.document.mode === 'observe')
    return { ...own, verdict: 'allow', source: 'observe', code: 'observed', originalVerdict: policy.verdict };
  const attended = rewriteForAutonomy(policy, rules.autonomy);
  if (attended.originalVerdict === null) return { ...own, verdict: policy.verdict };
  return {
    ...own,
    verdict: attended.verdict,
    source: 'autonomy_rewrite',
    code: attended.verdict === 'deny' ? 'approval_impossible' : 'allowed_unattended',
    reason: attended.reason,
    message: `Nobody is there to approve this call. ${tellAgent(policy)}`,
    originalVerdict: attended.originalVerdict,
  };
}

const policyCodes = { allow: 'allowed', ask: 'approval_required', deny: 'policy_denied' } as const;

/** What the policy's author wrote for the agent, else what decided; never what is meant for the approver. */
function tellAgent(policy: PolicyVerdict): string {
  const deciding = policy.parts.find((part) => part.verdict === policy.verdict);
  const why = deciding === undefined ? 'The policy does not allow this call.' : `The policy does not allow this call: ${deciding.reason}.`;
  return policy.tellAgent === null ? why : `${why} ${policy.tellAgent}`;
}
