import type { PolicyDocument, PolicyRule } from '@fluidbox/contracts';
import type { Found } from './finding';

const covers = (wide: string, narrow: string): boolean =>
  wide === narrow || (wide.endsWith('*') && (narrow.startsWith(wide.slice(0, -1)) || narrow === wide));

/** Every call that fits the conditions of `later` fits those of `earlier`. */
function asksNoMore(earlier: PolicyRule, later: PolicyRule): boolean {
  const theirs = later.when?.args ?? {};
  return Object.entries(earlier.when?.args ?? {}).every(([pointer, condition]) => {
    const other = Object.hasOwn(theirs, pointer) ? theirs[pointer] : undefined;
    return other !== undefined && other.glob === condition.glob && other.equals === condition.equals;
  });
}

/** The first rule that takes every call this matcher names before the rule it stands in is asked. */
const takenBy = (rules: readonly PolicyRule[], index: number, matcher: string): number =>
  rules
    .slice(0, index)
    .findIndex((earlier) => asksNoMore(earlier, rules[index] ?? earlier) && earlier.match.some((wide) => covers(wide, matcher)));

/** Rules and matchers that no call can reach. To delete what is reported here never changes a verdict. */
export function* ruleOrder({ tools }: PolicyDocument): Generator<Found> {
  for (const [index, rule] of tools.entries()) {
    const takers = rule.match.map((matcher) => takenBy(tools, index, matcher));
    if (takers.every((taker) => taker !== -1)) yield shadowed(tools, index, takers);
    else yield* deadMatchers(rule, index, takers);
  }
}

function shadowed(rules: readonly PolicyRule[], index: number, takers: readonly number[]): Found {
  const [rule, first] = [rules[index], rules[takers[0] ?? 0]];
  const by = [...new Set(takers)].map((taker) => `tools[${taker}]`).join(' and ');
  const path = ['tools', index];
  const widens = rule?.action === 'deny' && takers.some((taker) => rules[taker]?.action !== 'deny');
  if (widens)
    return {
      code: 'deny_after_allow',
      severity: 'error',
      path,
      message: `this rule denies nothing: ${by} stands before it and takes every call that it names`,
      fix: `move it in front of tools[${Math.min(...takers)}]`,
    };
  const fix = 'move it in front of the wider rule, or delete it';
  if (first?.match.includes('*') === true && first.when === undefined)
    return { code: 'unreachable', severity: 'warning', path, message: `no call gets past ${by}, which takes every tool`, fix };
  return { code: 'shadowed', severity: 'warning', path, message: `${by} takes every call that this rule names`, fix };
}

function* deadMatchers(rule: PolicyRule, index: number, takers: readonly number[]): Generator<Found> {
  for (const [at, matcher] of rule.match.entries()) {
    const path = ['tools', index, 'match', at];
    const taker = takers[at] ?? -1;
    const twin = rule.match.findIndex((other, i) => i !== at && covers(other, matcher) && (other !== matcher || i < at));
    if (taker !== -1)
      yield {
        code: 'dead_matcher',
        severity: 'warning',
        path,
        message: `${matcher} never comes here: tools[${taker}] takes its calls`,
        fix: `remove ${matcher} from this rule, or move the rule in front of tools[${taker}]`,
      };
    else if (twin !== -1)
      yield {
        code: 'dead_matcher',
        severity: 'warning',
        path,
        message: `${matcher} is named by ${rule.match[twin] ?? ''} in the same rule`,
        fix: `remove ${matcher}`,
      };
  }
}
