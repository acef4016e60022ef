import type { PolicyHistory, Verdict } from '@fluidbox/contracts';
import { canonical } from '../canonical';
import type { CompiledPolicy } from '../compile';
import { evaluateProjection, type PolicyVerdict } from '../evaluate';
import { withAllowed } from '../history/fold';
import { matchesOf } from '../history/matches';
import type { GateProjection } from '../projection';
import { ENGINE_VERSION } from '../version';
import { dependsOnMark, isMarked } from './redaction-dependence';

/** A call as the gate recorded it. Calls of one run come in their order. */
export interface RecordedCall {
  readonly projection: GateProjection;
  /** Shown with examples; calls without one are one run. */
  readonly run?: string;
  readonly callId?: string;
  /** Milliseconds since 1970. */
  readonly at?: number;
  /** What the runner reported of it. */
  readonly ok?: boolean | null;
  /** Did it run then? Decides whether a call that is only asked for counts for the history. */
  readonly ran?: boolean;
}

export interface ChangedCall {
  readonly run: string | null;
  readonly callId: string | null;
  /** Which one of the calls that were read, from 1. */
  readonly number: number;
  readonly tool: string;
  readonly call: string;
  readonly before: { readonly verdict: Verdict; readonly rule: number | null; readonly reason: string };
  readonly after: { readonly verdict: Verdict; readonly rule: number | null; readonly reason: string };
}
export interface Change {
  readonly count: number;
  readonly examples: readonly ChangedCall[];
}
export const changeKinds = [
  'allow→ask',
  'allow→deny',
  'ask→allow',
  'ask→deny',
  'deny→allow',
  'deny→ask',
  'unattended deny→allow',
  'unattended allow→deny',
] as const;
export type ChangeKind = (typeof changeKinds)[number];
const loosening: ReadonlySet<ChangeKind> = new Set(['ask→allow', 'deny→allow', 'deny→ask', 'unattended deny→allow']);

export interface BacktestReport {
  readonly calls: number;
  readonly unchanged: number;
  /** Every kind of change; `unattended` is what an ask becomes where nobody is there. */
  readonly changes: Readonly<Record<ChangeKind, Change>>;
  /** A redaction mark stands where a verdict looked, so nobody can say. */
  readonly undetermined: Change;
  /** Calls recorded by another version of the engine. */
  readonly otherEngine: number;
  /** A recorded call would be let through more easily than before. Says nothing of calls that were never made. */
  readonly loosens: boolean;
}

const examplesMax = 5;

/** Decides recorded calls under both policies. Reads its input once, in order, and keeps examples and the history of runs only. */
export async function backtest(
  before: CompiledPolicy,
  after: CompiledPolicy,
  calls: AsyncIterable<RecordedCall> | Iterable<RecordedCall>,
): Promise<BacktestReport> {
  const decide = [replay(before), replay(after)] as const;
  const sameFor = sameRules(before, after);
  const changes = new Map<ChangeKind | 'undetermined', { count: number; examples: ChangedCall[] }>();
  let number = 0;
  let unchanged = 0;
  let otherEngine = 0;
  for await (const recorded of calls) {
    number++;
    const { projection } = recorded;
    if (projection.engine !== ENGINE_VERSION) otherEngine++;
    if (sameFor(projection.tool)) {
      unchanged++;
      continue;
    }
    const [old, next] = [decide[0](recorded), decide[1](recorded)];
    const isOpen = isMarked(projection) && (dependsOnMark(before, projection, old) || dependsOnMark(after, projection, next));
    const kind = isOpen ? 'undetermined' : changeOf(old, next);
    if (kind === null) {
      unchanged++;
      continue;
    }
    const change = changes.get(kind) ?? { count: 0, examples: [] };
    changes.set(kind, change);
    change.count++;
    if (change.examples.length < examplesMax) change.examples.push(exampleOf(recorded, number, old, next));
  }
  const of = (kind: ChangeKind | 'undetermined'): Change => changes.get(kind) ?? { count: 0, examples: [] };
  return {
    calls: number,
    unchanged,
    changes: Object.fromEntries(changeKinds.map((kind) => [kind, of(kind)])) as Record<ChangeKind, Change>,
    undetermined: of('undetermined'),
    otherEngine,
    loosens: changeKinds.some((kind) => loosening.has(kind) && of(kind).count > 0),
  };
}

function changeOf(old: PolicyVerdict, next: PolicyVerdict): ChangeKind | null {
  if (old.verdict !== next.verdict) return `${old.verdict}→${next.verdict}` as ChangeKind;
  if (old.verdict !== 'ask' || old.onAutonomous === next.onAutonomous) return null;
  return next.onAutonomous === 'allow' ? 'unattended deny→allow' : 'unattended allow→deny';
}

/** Judges the calls of each run one after the other, with the history that this policy would have made of them. */
function replay(policy: CompiledPolicy): (recorded: RecordedCall) => PolicyVerdict {
  const histories = new Map<string, PolicyHistory>();
  return ({ projection, run = '', at = 0, ok = null, ran = false }) => {
    const history = histories.get(run) ?? {};
    const verdict = evaluateProjection(policy, projection, { history, now: at });
    if (policy.conditions.length > 0 && (verdict.verdict === 'allow' || (verdict.verdict === 'ask' && ran)))
      histories.set(run, withAllowed(history, matchesOf(policy, projection), { at, ok }));
    return verdict;
  };
}

/**
 * Is everything that decides calls of a tool the same in both policies? Then no call of it can change, whatever a mark in it stands
 * for. Texts for people and models decide nothing.
 */
function sameRules(before: CompiledPolicy, after: CompiledPolicy): (tool: string) => boolean {
  const known = new Map<string, boolean>();
  const deciding = ({ document, rules }: CompiledPolicy, wanted: (rule: CompiledPolicy['rules'][number]) => boolean): string =>
    canonical([
      document.defaults.tool_action,
      document.autonomy.on_approval_rule,
      rules.filter(wanted).map(({ rule }) => ({ ...rule, match: null, reason: null, tell_agent: null, risk: null })),
    ]);
  // History looks at calls of other tools, so only the whole document can be compared.
  if (before.conditions.length + after.conditions.length > 0) {
    const match = ({ rules }: CompiledPolicy) => rules.map(({ rule }) => rule.match);
    const all = canonical(match(before)) === canonical(match(after)) && deciding(before, () => true) === deciding(after, () => true);
    return () => all;
  }
  return (tool) => {
    const found =
      known.get(tool) ?? deciding(before, (rule) => rule.matchesTool(tool)) === deciding(after, (rule) => rule.matchesTool(tool));
    // A recording may hold any number of names.
    if (known.size < 1000) known.set(tool, found);
    return found;
  };
}

function exampleOf({ projection, run, callId }: RecordedCall, number: number, old: PolicyVerdict, next: PolicyVerdict): ChangedCall {
  const said = ({ verdict, ruleIndex, reason }: PolicyVerdict) => ({ verdict, rule: ruleIndex, reason });
  const call = projection.shell?.text ?? projection.paths.map((use) => use.path).join(' ');
  return {
    run: run ?? null,
    callId: callId ?? null,
    number,
    tool: projection.tool,
    call: call.slice(0, 200),
    before: said(old),
    after: said(next),
  };
}
