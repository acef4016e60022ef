import type { CompiledPolicy, CompiledRule } from './compile';
import { evaluateProjection, type PolicyVerdict } from './evaluate';
import { type GateProjection, gateProjection, type ToolCall } from './projection';
import { evaluateTrustTier, type TrustTier } from './trust-tier';

export interface Explanation {
  readonly stage: 'trust_tier' | 'policy';
  readonly verdict: PolicyVerdict['verdict'];
  readonly reason: string;
  readonly rule: { readonly index: number; readonly line: number | null } | null;
  /** Why no earlier rule took the call. */
  readonly passedOver: readonly { readonly index: number; readonly why: string }[];
  readonly parts: PolicyVerdict['parts'];
  /** The smallest change that would let it pass; null when it passes, or when nothing in the policy can. */
  readonly toAllow: string | null;
}

export function explain(policy: CompiledPolicy, call: ToolCall, tier: TrustTier = 'trusted'): Explanation {
  const projection = gateProjection(call);
  const verdict = evaluateProjection(policy, projection);
  const floor = evaluateTrustTier(tier, projection);
  const last = verdict.ruleIndex ?? policy.rules.length;
  const shared = {
    rule: verdict.ruleIndex === null ? null : { index: verdict.ruleIndex, line: verdict.ruleLine },
    passedOver: policy.rules.slice(0, last).map((rule) => ({ index: rule.index, why: passedOverBecause(rule, projection) })),
    parts: verdict.parts,
  };
  if (floor !== null) return { stage: 'trust_tier', verdict: 'deny', reason: floor, ...shared, toAllow: null };
  return {
    stage: 'policy',
    verdict: verdict.verdict,
    reason: verdict.reason,
    ...shared,
    toAllow: verdict.verdict === 'allow' ? null : changeThatAllows(verdict),
  };
}

const passedOverBecause = (rule: CompiledRule, projection: GateProjection): string =>
  rule.matchesTool(projection.tool) ? 'its "when" condition does not hold' : `its match does not name ${projection.tool}`;

function changeThatAllows(verdict: PolicyVerdict): string | null {
  const blocking = verdict.parts.filter((part) => part.verdict !== 'allow');
  if (blocking.some((part) => part.rule === 'unknown')) return null;
  if (verdict.ruleIndex === null) return 'add a rule that allows this tool';
  if (blocking.length === 0) return `set tools[${verdict.ruleIndex}].action to allow`;
  const changes = blocking.map((part) =>
    part.rule === 'on_no_match'
      ? `add "${part.command}" to tools[${verdict.ruleIndex}].shell.allow`
      : part.rule === 'paths.allow'
        ? `add ${part.command} to tools[${verdict.ruleIndex}].paths.allow`
        : `remove the entry ${part.rule}`,
  );
  return [...new Set(changes)].join('; ');
}
