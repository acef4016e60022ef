import type { BacktestReport, CompiledPolicy, PolicyChange, PolicyDiff } from '@fluidbox/policy';

/** What the recorded calls say about a change, and which tools were among them. */
export interface Evidence {
  readonly report: BacktestReport;
  readonly tools: ReadonlySet<string>;
  readonly complete: boolean;
}

const reasonsMax = 16;
const reasonCharsMax = 300;
const looser = ['deny→allow', 'ask→allow', 'deny→ask', 'unattended deny→allow'] as const;
const strength = { allow: 0, ask: 1, deny: 2 } as const;

export const loosenedCalls = ({ changes }: BacktestReport): number => looser.reduce((sum, kind) => sum + changes[kind].count, 0);

/**
 * Why publishing `after` over `before` may let more through; empty when it does not. A change that can only widen always counts. One that can work
 * both ways counts unless recorded calls of its own tools show that it does not; calls that were never made are no evidence.
 */
export function looseningReasons(before: CompiledPolicy, after: CompiledPolicy, diff: PolicyDiff, evidence: Evidence): readonly string[] {
  const { report, complete } = evidence;
  const reasons = [
    ...looser.filter((kind) => report.changes[kind].count > 0).map((kind) => `${report.changes[kind].count} recorded calls: ${kind}`),
    ...(report.undetermined.count > 0
      ? [`${report.undetermined.count} recorded calls cannot be decided again: a redaction mark stands where they are judged`]
      : []),
    ...diff.verdicts
      .filter((each) => strength[each.after] < strength[each.before])
      .map((each) => `a stored test of ${each.tool}: ${each.before} → ${each.after}`),
    ...diff.changes
      .filter(({ effect }) => effect === 'loosens' || effect === 'unclear')
      .filter((change) => change.effect === 'loosens' || !complete || !isSettled(change, before, after, evidence.tools))
      .map(({ effect, text }) => (effect === 'loosens' ? text : `${text} (may loosen; no recorded call says otherwise)`)),
  ];
  const shown = reasons.map((reason) => (reason.length > reasonCharsMax ? `${reason.slice(0, reasonCharsMax - 1)}…` : reason));
  return shown.length <= reasonsMax ? shown : [...shown.slice(0, reasonsMax - 1), `and ${shown.length - reasonsMax + 1} more`];
}

/** Recorded calls of a tool that the changed rule names were all decided as before, or more strictly. */
function isSettled(change: PolicyChange, before: CompiledPolicy, after: CompiledPolicy, tools: ReadonlySet<string>): boolean {
  const index = /^tools\[(\d+)\]/.exec(change.path)?.[1];
  if (index === undefined) return false;
  // A rule that is gone is named by its place in the old document.
  const rule = (change.change === 'removed' && !change.path.includes('.') ? before : after).rules[Number(index)];
  return rule !== undefined && [...tools].some((tool) => rule.matchesTool(tool));
}
