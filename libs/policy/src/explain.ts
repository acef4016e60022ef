import type { PolicyDocument } from '@fluidbox/contracts';
import type { CompiledPolicy, CompiledRule } from './compile';
import { evaluateProjection, type PolicyVerdict } from './evaluate';
import { type HistoryContext, noHistory } from './history/judge';
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
  readonly history: PolicyVerdict['history'];
  /** The smallest change that would let it pass; null when it passes, or when nothing in the policy can. */
  readonly toAllow: string | null;
}

/** Without a history the call is taken for the first one of a run. */
export function explain(
  policy: CompiledPolicy,
  call: ToolCall,
  tier: TrustTier = 'trusted',
  context: HistoryContext = noHistory,
): Explanation {
  const projection = gateProjection(call);
  const verdict = evaluateProjection(policy, projection, context);
  const floor = evaluateTrustTier(tier, projection);
  const last = verdict.ruleIndex ?? policy.rules.length;
  const shared = {
    rule: verdict.ruleIndex === null ? null : { index: verdict.ruleIndex, line: verdict.ruleLine },
    passedOver: policy.rules.slice(0, last).map((rule) => ({ index: rule.index, why: passedOverBecause(rule, projection) })),
    parts: verdict.parts,
    history: verdict.history,
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

const changeOfHistory = (rule: string, reason: string): string =>
  rule === 'history.requires' ? `make a call of ${reason.replace(/^it needs /, '').replace(/ before it/, ' first')}` : `widen ${rule}`;

function changeThatAllows(verdict: PolicyVerdict): string | null {
  const blocking = verdict.parts.filter((part) => part.verdict !== 'allow');
  const unknown = blocking.find((part) => part.rule === 'unknown' && part.verdict !== 'deny');
  // What nobody can read is never allowed; without the rest it would be asked for.
  if (unknown !== undefined) {
    const denied = blocking.filter((part) => part.verdict === 'deny');
    if (denied.length === 0) return null;
    const rest = changeThatAllows({ ...verdict, parts: denied });
    return rest === null ? null : `${rest}; then it is asked for, and nothing in the policy lets it pass: ${unknown.reason}`;
  }
  if (blocking.some((part) => part.rule === 'unknown')) return null;
  if (verdict.ruleIndex === null) return 'add a rule that allows this tool';
  if (blocking.length === 0) return `set tools[${verdict.ruleIndex}].action to allow`;
  const changes = blocking.map((part) =>
    part.rule === 'on_no_match'
      ? `add "${part.command}" to tools[${verdict.ruleIndex}].shell.allow`
      : part.rule === 'paths.allow'
        ? `add ${part.command} to tools[${verdict.ruleIndex}].paths.allow`
        : part.rule.startsWith('history.')
          ? changeOfHistory(part.rule, part.reason)
          : `remove the entry ${part.rule}`,
  );
  return [...new Set(changes)].join('; ');
}

/** Where the entry that gave a part its verdict stands in the document; null for what no entry says. */
export function entryOfPart(document: PolicyDocument, ruleIndex: number | null, label: string): (string | number)[] | null {
  const rule = ruleIndex === null ? undefined : document.tools[ruleIndex];
  if (ruleIndex === null || rule === undefined) return null;
  const [, list = '', entry] =
    /^(allow|ask|deny|deny_regex|paths\.deny|paths\.allow|on_no_match|history\.\w+)(?:: (.*))?$/s.exec(label) ?? [];
  if (list === '') return null;
  const block = list.includes('.') ? list.split('.') : ['shell', list];
  if (entry === undefined) return ['tools', ruleIndex, ...block];
  const entries = list === 'paths.deny' ? rule.paths?.deny : rule.shell?.[list as 'allow' | 'ask' | 'deny' | 'deny_regex'];
  const at = entries?.indexOf(entry) ?? -1;
  return at === -1 ? null : ['tools', ruleIndex, ...block, at];
}
