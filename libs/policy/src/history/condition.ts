import type { HistoryCondition, HistoryKind, PolicyRule } from '@fluidbox/contracts';
import { compilePrefix, type Prefix } from '../shell/prefix';
import { toolMatcher } from '../tool-matcher';

/** A call that `requires` or `forbid_after` speaks of. */
export interface NamedCall {
  readonly matchesTool: (tool: string) => boolean;
  /** Null: any call of the tool. */
  readonly command: Prefix | null;
  /** As the policy's author wrote it. */
  readonly text: string;
}

interface Shared {
  readonly name: HistoryCondition;
  /** Index of its rule in `tools`. */
  readonly rule: number;
}
/** One history condition of a rule, ready to be looked up. `rate` and `count` are about the calls that the rule itself decides. */
export type CompiledCondition =
  | (Shared & { readonly kind: 'requires'; readonly call: NamedCall; readonly ok: boolean | null; readonly withinMs: number | null })
  | (Shared & { readonly kind: 'forbid_after'; readonly call: NamedCall })
  | (Shared & { readonly kind: 'rate'; readonly max: number; readonly perMs: number })
  | (Shared & { readonly kind: 'count'; readonly max: number });

export function compileHistory(rule: PolicyRule, index: number): CompiledCondition[] {
  const named = <K extends HistoryKind>(kind: K) => ({ kind, name: `${index}.${kind}` as HistoryCondition, rule: index });
  const { requires, forbid_after, rate, count } = rule.history ?? {};
  const conditions: CompiledCondition[] = [];
  if (requires !== undefined)
    conditions.push({
      ...named('requires'),
      call: namedCall(requires),
      ok: requires.ok ?? null,
      withinMs: requires.within_secs === undefined ? null : requires.within_secs * 1000,
    });
  if (forbid_after !== undefined) conditions.push({ ...named('forbid_after'), call: namedCall(forbid_after) });
  if (rate !== undefined) conditions.push({ ...named('rate'), max: rate.max, perMs: rate.per_secs * 1000 });
  if (count !== undefined) conditions.push({ ...named('count'), max: count.max });
  return conditions;
}

const namedCall = ({ tool, command }: { readonly tool: string; readonly command?: string | undefined }): NamedCall => ({
  matchesTool: toolMatcher([tool]),
  command: command === undefined ? null : compilePrefix(command),
  text: command === undefined ? tool : `${tool} "${command}"`,
});
