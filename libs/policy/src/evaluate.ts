import type { PolicyDocument, Verdict } from '@fluidbox/contracts';
import type { CompiledPolicy, CompiledRule } from './compile';
import { type HistoryContext, type HistoryFinding, historyParts, judgeHistory } from './history/judge';
import { judgePaths } from './path-rule';
import { type GateProjection, gateProjection, isShellTool, type ToolCall } from './projection';
import { scopeKeyOf } from './scope-key';
import { judgeShell, type PartVerdict } from './shell/judge';
import { strictest } from './verdict';

/** What a policy says about one call, with everything that acting on it needs. */
export interface PolicyVerdict {
  readonly verdict: Verdict;
  /** Index into `tools`; null when no rule matched and `defaults.tool_action` decided. */
  readonly ruleIndex: number | null;
  /** Line of that rule in the source, when it is known. */
  readonly ruleLine: number | null;
  /** For people: what decided and why. */
  readonly reason: string;
  /** For the model, on a denial. */
  readonly tellAgent: string | null;
  /** What a "for this run" approval would cover; null when no grant may cover it, because nobody can say what it is. */
  readonly scopeKey: string | null;
  /** Each command of a shell line, each path of a multi-file edit. */
  readonly parts: readonly PartVerdict[];
  /** What the rule asks of the run's history, met or not; `ok` of an earlier call is what the runner reported. */
  readonly history: readonly HistoryFinding[];
  readonly risk: string | null;
  readonly approvalTtlSecs: number;
  readonly approvalScope: 'once' | 'session';
  readonly approvers: number;
  readonly excludeRequester: boolean;
  /** What an ask becomes when nobody is there. */
  readonly onAutonomous: 'allow' | 'deny';
}

/**
 * Total and deterministic: the same policy, call and history give the same verdict on every machine. Without a history a rule that
 * asks for one denies.
 */
export const evaluate = (policy: CompiledPolicy, call: ToolCall, context: HistoryContext | null = null): PolicyVerdict =>
  evaluateProjection(policy, gateProjection(call), context);

/** The rule that takes the call: the first one that fits it. */
export const ruleFor = (policy: CompiledPolicy, projection: GateProjection): CompiledRule | null =>
  policy.rulesFor(projection.tool).find((rule) => rule.matchesArgs(projection.args)) ?? null;

/** The same over a recorded projection: what a backtest replays. */
export function evaluateProjection(
  policy: CompiledPolicy,
  projection: GateProjection,
  context: HistoryContext | null = null,
): PolicyVerdict {
  const rule = ruleFor(policy, projection);
  const found = rule === null ? byDefault(policy.document, projection) : byRule(rule, projection);
  const history = rule === null || rule.history.length === 0 ? [] : judgeHistory(rule.history, context);
  const parts = [...found.parts, ...neverAllowed(projection, found), ...historyParts(projection.tool, history)];
  const verdict = strictest(found.verdict, ...parts.map((part) => part.verdict));
  // The part that decided gives the reason; when none did, the rule itself.
  const deciding = parts.find((part) => part.verdict === verdict && verdict !== 'allow');
  const { document } = policy;
  return {
    verdict,
    ruleIndex: rule?.index ?? null,
    ruleLine: rule?.line ?? null,
    reason: reasonOf(rule, deciding, found.reason),
    tellAgent: rule?.rule.tell_agent ?? null,
    scopeKey: scopeKeyOf(projection, parts),
    parts,
    history,
    risk: rule?.rule.risk ?? null,
    approvalTtlSecs: rule?.rule.approval_ttl_secs ?? document.approvals.default_ttl_secs,
    approvalScope: rule?.rule.approval_scope ?? document.approvals.scope,
    approvers: document.approvals.approvers,
    excludeRequester: document.approvals.exclude_requester,
    onAutonomous: rule?.rule.on_autonomous ?? document.autonomy.on_approval_rule,
  };
}

interface Found {
  readonly verdict: Verdict;
  readonly parts: readonly PartVerdict[];
  readonly reason: string;
}

const byDefault = (document: PolicyDocument, projection: GateProjection): Found => ({
  verdict: document.defaults.tool_action,
  parts: [],
  reason: `no rule matches ${projection.tool}, so the policy's default decides: ${document.defaults.tool_action}`,
});

/** `action` is the most that a rule gives; its shell and path blocks can only be stricter. */
function byRule(rule: CompiledRule, projection: GateProjection): Found {
  const own = `rule ${rule.index} says ${rule.rule.action} for ${projection.tool}`;
  const parts: PartVerdict[] = [];
  if (rule.shell !== null) {
    if (projection.shell === null)
      parts.push({
        command: projection.tool,
        verdict: 'ask',
        rule: 'shell',
        reason: `the rule judges shell commands, and this call of ${projection.tool} has none`,
        node: null,
      });
    else parts.push(...judgeShell(projection.shell, rule.shell, rule.paths));
  } else if (rule.paths !== null && projection.shell !== null) {
    for (const [node, command] of projection.shell.commands.entries()) {
      const refused = judgePaths(command.paths, rule.paths);
      if (refused !== null)
        parts.push({ command: command.text.slice(0, 200), verdict: refused.verdict, rule: refused.rule, reason: refused.reason, node });
    }
  }
  // A command may come with files beside its text: a patch that the harness applies itself.
  const namesFiles = projection.paths.length > 0 || projection.unreadablePath !== null;
  if (rule.paths !== null && (projection.shell === null || namesFiles)) parts.push(...fileParts(rule.paths, projection));
  return { verdict: rule.rule.action, parts, reason: own };
}

function fileParts(globs: NonNullable<CompiledRule['paths']>, projection: GateProjection): PartVerdict[] {
  if (projection.unreadablePath !== null)
    return [
      {
        command: projection.unreadablePath,
        verdict: 'ask',
        rule: 'paths',
        reason: `${projection.unreadablePath} is not a path that can be judged`,
        node: null,
      },
    ];
  if (projection.paths.length === 0)
    return [
      {
        command: projection.tool,
        verdict: 'ask',
        rule: 'paths',
        reason: `this call of ${projection.tool} names no path, and the rule is about paths`,
        node: null,
      },
    ];
  return projection.paths.map((use): PartVerdict => {
    const refused = judgePaths([use], globs);
    return refused === null
      ? { command: use.path, verdict: 'allow', rule: 'paths', reason: `${use.path} is allowed`, node: null }
      : { command: use.path, verdict: refused.verdict, rule: refused.rule, reason: refused.reason, node: null };
  });
}

/** What no rule, however wide, lets pass without a person. */
function neverAllowed(projection: GateProjection, found: Found): PartVerdict[] {
  const parts: PartVerdict[] = [];
  if (projection.mended)
    parts.push({
      command: projection.tool,
      verdict: 'ask',
      rule: 'unknown',
      reason: 'the input had NUL or broken characters, so what runs is not what is shown',
      node: null,
    });
  const unknown = projection.shell?.unknown ?? null;
  if (unknown !== null && !found.parts.some((part) => part.rule === 'unknown' && part.node === null))
    parts.push({ command: projection.shell?.text.slice(0, 200) ?? '', verdict: 'ask', rule: 'unknown', reason: unknown, node: null });
  if (isShellTool(projection.tool) && projection.shell === null)
    parts.push({
      command: projection.tool,
      verdict: 'ask',
      rule: 'unknown',
      reason: `${projection.tool} has no readable command`,
      node: null,
    });
  return parts;
}

function reasonOf(rule: CompiledRule | null, deciding: PartVerdict | undefined, own: string): string {
  const why = deciding?.reason ?? own;
  return rule?.rule.reason === undefined ? why : `${rule.rule.reason} (${why})`;
}
