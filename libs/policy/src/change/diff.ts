import type { PolicyDocument, PolicyRule, Verdict } from '@fluidbox/contracts';
import { canonical } from '../canonical';
import { type CompiledPolicy, compilePolicy } from '../compile';
import { evaluate } from '../evaluate';
import { noHistory } from '../history/judge';

/** `unclear` where a change can work both ways; who has to be sure takes it for a loosening. */
export type Effect = 'narrows' | 'loosens' | 'unclear' | 'none';

export interface PolicyChange {
  /** Reads `budgets.max_cost_usd` or `tools[2].shell.deny`; of the new document, or of the old one for what was removed. */
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed' | 'moved';
  readonly effect: Effect;
  /** For people. */
  readonly text: string;
}
export interface ChangedVerdict {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly before: Verdict;
  readonly after: Verdict;
}
export interface PolicyDiff {
  readonly changes: readonly PolicyChange[];
  /** Stored tests of both documents whose verdict is another one now. */
  readonly verdicts: readonly ChangedVerdict[];
  /** False only when every change is one that can but narrow. */
  readonly loosens: boolean;
}

export function diffPolicies(before: PolicyDocument, after: PolicyDocument): PolicyDiff {
  const changes = [...settings(before, after), ...ruleChanges(before.tools, after.tools)];
  const verdicts = changedVerdicts(compilePolicy(before), compilePolicy(after));
  const weaker = verdicts.some((each) => strength[each.after] < strength[each.before]);
  return { changes, verdicts, loosens: weaker || changes.some(({ effect }) => effect === 'loosens' || effect === 'unclear') };
}

const strength: Record<Verdict, number> = { allow: 0, ask: 1, deny: 2 };
const show = (value: unknown): string => (value === undefined ? 'nothing' : (JSON.stringify(value)?.slice(0, 120) ?? 'nothing'));

/** Which of two values of a setting is stricter: more means `loosens` where `up` says so. */
const byOrder =
  (...strictLast: readonly unknown[]) =>
  (old: unknown, next: unknown): Effect =>
    strictLast.includes(old) && strictLast.includes(next)
      ? strictLast.indexOf(next) > strictLast.indexOf(old)
        ? 'narrows'
        : 'loosens'
      : 'unclear';
const capped = (old: unknown, next: unknown): Effect =>
  next === null ? 'loosens' : old === null ? 'narrows' : Number(next) < Number(old) ? 'narrows' : 'loosens';
const counted = (old: unknown, next: unknown): Effect => (Number(next) > Number(old) ? 'narrows' : 'loosens');

const settingEffects: Readonly<Record<string, (old: unknown, next: unknown) => Effect>> = {
  mode: byOrder('observe', 'enforce'),
  coverage: byOrder('report', 'enforce', 'strict'),
  'guards.same_call': capped,
  'guards.denials': capped,
  'guards.idle_model_calls': capped,
  'publish.second_person': byOrder('never', 'loosening', 'always'),
  'defaults.tool_action': byOrder('allow', 'ask', 'deny'),
  'budgets.max_wall_clock_secs': capped,
  'budgets.max_tokens': capped,
  'budgets.max_cost_usd': capped,
  'budgets.max_tool_calls': capped,
  'approvals.default_ttl_secs': capped,
  'approvals.scope': byOrder('session', 'once'),
  'approvals.approvers': counted,
  'approvals.exclude_requester': byOrder(false, true),
  'autonomy.permitted': byOrder(true, false),
  'autonomy.on_approval_rule': byOrder('allow', 'deny'),
  name: () => 'none',
};

function* leaves(value: unknown, path = ''): Generator<[string, unknown]> {
  if (value !== null && typeof value === 'object' && !Array.isArray(value))
    for (const [key, inner] of Object.entries(value)) yield* leaves(inner, path === '' ? key : `${path}.${key}`);
  else yield [path, value];
}

function* settings(before: PolicyDocument, after: PolicyDocument): Generator<PolicyChange> {
  const { tools: _a, tests: _b, ...old } = before;
  const { tools: _c, tests: _d, ...next } = after;
  const known = new Map(leaves(old));
  for (const [path, value] of leaves(next)) {
    const was = known.get(path);
    if (was === value) continue;
    yield {
      path,
      change: 'changed',
      effect: (settingEffects[path] ?? (() => 'unclear'))(was, value),
      text: `${path}: ${show(was)} → ${show(value)}`,
    };
  }
}

const shellOf = (rule: PolicyRule) => rule.shell ?? null;
/** Two rules are the same one when they name the same calls. */
const identity = (rule: PolicyRule): string => canonical([rule.match, rule.when ?? null]);

function* ruleChanges(before: readonly PolicyRule[], after: readonly PolicyRule[]): Generator<PolicyChange> {
  const open = before.map((rule, index) => ({ rule, index, key: identity(rule), taken: false }));
  const pairs = after.map((rule, index) => {
    const twin = open.find((each) => !each.taken && each.key === identity(rule));
    if (twin !== undefined) twin.taken = true;
    return { rule, index, twin };
  });
  // What it took falls to a later rule, whatever that says.
  for (const { rule, index } of open.filter(({ taken }) => !taken))
    yield { path: `tools[${index}]`, change: 'removed', effect: 'unclear', text: `the rule for ${rule.match.join(', ')} is gone` };
  let last = -1;
  for (const { rule, index, twin } of pairs) {
    const path = `tools[${index}]`;
    if (twin === undefined) {
      const effect = rule.action === 'deny' ? 'narrows' : 'unclear';
      yield { path, change: 'added', effect, text: `a rule for ${rule.match.join(', ')}: ${rule.action}` };
      continue;
    }
    if (twin.index < last)
      yield { path, change: 'moved', effect: 'unclear', text: `the rule for ${rule.match.join(', ')} was tools[${twin.index}]` };
    last = Math.max(last, twin.index);
    yield* fieldChanges(twin.rule, rule, path);
  }
}

function* fieldChanges(old: PolicyRule, next: PolicyRule, path: string): Generator<PolicyChange> {
  const changed = (field: string, effect: Effect, was: unknown, is: unknown): PolicyChange => ({
    path: `${path}.${field}`,
    change: was === undefined ? 'added' : is === undefined ? 'removed' : 'changed',
    effect,
    text: `${path}.${field}: ${show(was)} → ${show(is)}`,
  });
  if (old.action !== next.action)
    yield changed('action', byOrder('allow', 'ask', 'deny')(old.action, next.action), old.action, next.action);
  if (old.on_autonomous !== next.on_autonomous)
    yield changed('on_autonomous', next.on_autonomous === 'deny' ? 'narrows' : 'unclear', old.on_autonomous, next.on_autonomous);
  if (old.approval_ttl_secs !== next.approval_ttl_secs)
    yield changed('approval_ttl_secs', 'unclear', old.approval_ttl_secs, next.approval_ttl_secs);
  if (old.approval_scope !== next.approval_scope)
    yield changed('approval_scope', next.approval_scope === 'once' ? 'narrows' : 'unclear', old.approval_scope, next.approval_scope);
  if (canonical(old.history ?? null) !== canonical(next.history ?? null))
    yield changed(
      'history',
      old.history === undefined ? 'narrows' : next.history === undefined ? 'loosens' : 'unclear',
      old.history,
      next.history,
    );
  for (const field of ['reason', 'tell_agent', 'risk'] as const)
    if (old[field] !== next[field]) yield changed(field, 'none', old[field], next[field]);
  yield* pathChanges(old, next, changed);
  yield* shellChanges(old, next, changed);
}

type Changed = (field: string, effect: Effect, was: unknown, is: unknown) => PolicyChange;

function listEffect(old: readonly string[], next: readonly string[], whenAdded: Effect): Effect {
  const added = next.some((entry) => !old.includes(entry));
  const removed = old.some((entry) => !next.includes(entry));
  const whenRemoved = whenAdded === 'narrows' ? 'loosens' : 'narrows';
  return added && removed ? 'unclear' : added ? whenAdded : removed ? whenRemoved : 'none';
}

function* pathChanges(old: PolicyRule, next: PolicyRule, changed: Changed): Generator<PolicyChange> {
  if (canonical(old.paths ?? null) === canonical(next.paths ?? null)) return;
  const was = old.paths ?? { allow: [], deny: [] };
  const is = next.paths ?? { allow: [], deny: [] };
  // An empty allow list is no list: every path passes, and a call that names none does, too. In a shell it lets nothing be written.
  const becomesOpen = was.allow.length > 0 !== is.allow.length > 0 || (old.paths === undefined) !== (next.paths === undefined);
  if (canonical(was.allow) !== canonical(is.allow))
    yield changed('paths.allow', becomesOpen ? 'unclear' : listEffect(was.allow, is.allow, 'loosens'), was.allow, is.allow);
  if (canonical(was.deny) !== canonical(is.deny)) yield changed('paths.deny', listEffect(was.deny, is.deny, 'narrows'), was.deny, is.deny);
}

function* shellChanges(old: PolicyRule, next: PolicyRule, changed: Changed): Generator<PolicyChange> {
  const [was, is] = [shellOf(old), shellOf(next)];
  if (canonical(was) === canonical(is)) return;
  if (was === null || is === null) {
    yield changed('shell', was === null ? 'narrows' : 'loosens', was ?? undefined, is ?? undefined);
    return;
  }
  for (const [list, whenAdded] of [
    ['allow', 'loosens'],
    ['ask', 'narrows'],
    ['deny', 'narrows'],
    ['deny_regex', 'narrows'],
  ] as const) {
    const byLists = listEffect(was[list], is[list], whenAdded);
    // Where every other command is denied, an entry of ask is what lets a person approve one.
    const isEither = list === 'ask' && (was.on_no_match === 'deny' || is.on_no_match === 'deny');
    const effect = byLists !== 'none' && isEither ? 'unclear' : byLists;
    if (effect !== 'none') yield changed(`shell.${list}`, effect, was[list], is[list]);
    else if (canonical(was[list]) !== canonical(is[list])) yield changed(`shell.${list}`, 'none', was[list], is[list]);
  }
  if (was.on_no_match !== is.on_no_match)
    yield changed('shell.on_no_match', byOrder('allow', 'ask', 'deny')(was.on_no_match, is.on_no_match), was.on_no_match, is.on_no_match);
}

function changedVerdicts(before: CompiledPolicy, after: CompiledPolicy): ChangedVerdict[] {
  const seen = new Set<string>();
  return [...before.document.tests, ...after.document.tests].flatMap(({ tool, input, cwd }) => {
    const key = canonical([tool, input, cwd ?? null]);
    if (seen.has(key)) return [];
    seen.add(key);
    const call = { tool, input, ...(cwd === undefined ? {} : { cwd }) };
    const [old, next] = [evaluate(before, call, noHistory).verdict, evaluate(after, call, noHistory).verdict];
    return old === next ? [] : [{ tool, input, before: old, after: next }];
  });
}
