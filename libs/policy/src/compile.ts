import type { PolicyDocument, PolicyRule } from '@fluidbox/contracts';
import { compileGlob, matchesGlob } from './glob';
import { type CompiledCondition, compileHistory } from './history/condition';
import { compilePaths, type PathGlobs } from './path-rule';
import { linearPattern } from './pattern';
import type { ShellLists } from './shell/judge';
import { compilePrefix, type Prefix } from './shell/prefix';
import { hasRedactionMark } from './shell/word';
import { toolMatcher } from './tool-matcher';

export interface CompiledRule {
  readonly index: number;
  readonly line: number | null;
  readonly rule: PolicyRule;
  readonly matchesTool: (tool: string) => boolean;
  readonly matchesArgs: (args: Readonly<Record<string, unknown>>) => boolean;
  readonly paths: PathGlobs | null;
  readonly shell: ShellLists | null;
  readonly history: readonly CompiledCondition[];
}

/** A document ready to decide. Make it once per digest and keep it: compiling costs more than deciding. */
export interface CompiledPolicy {
  readonly document: PolicyDocument;
  readonly rules: readonly CompiledRule[];
  /** The rules whose `match` names a tool, in order. */
  readonly rulesFor: (tool: string) => readonly CompiledRule[];
  /** The history conditions of all rules: what a call may count for. */
  readonly conditions: readonly CompiledCondition[];
}

export function compilePolicy(document: PolicyDocument, ruleLines: readonly number[] = []): CompiledPolicy {
  const rules = document.tools.map(
    (rule, index): CompiledRule => ({
      index,
      line: ruleLines[index] ?? null,
      rule,
      matchesTool: toolMatcher(rule.match),
      matchesArgs: argumentMatcher(rule),
      paths: rule.paths === undefined ? null : compilePaths(rule.paths),
      shell:
        rule.shell === undefined
          ? null
          : {
              allow: byFirst(rule.shell.allow, ({ tokens: [first = ''] }) => first),
              ask: byFirst(rule.shell.ask, ({ program }) => program),
              deny: byFirst(rule.shell.deny, ({ program }) => program),
              denyPatterns: rule.shell.deny_regex.map((source) => ({ source, ...linearPattern(source, 'as policy') })),
              onNoMatch: rule.shell.on_no_match,
            },
      history: compileHistory(rule, index),
    }),
  );
  return { document, rules, rulesFor: byTool(rules), conditions: rules.flatMap(({ history }) => history) };
}

/** Each entry where a command that it could be about looks for it; in the order in which they were written. */
function byFirst(entries: readonly string[], keyOf: (prefix: Prefix) => string): ReadonlyMap<string, readonly Prefix[]> {
  const found = new Map<string, Prefix[]>();
  for (const prefix of entries.map(compilePrefix)) {
    const known = found.get(keyOf(prefix));
    if (known === undefined) found.set(keyOf(prefix), [prefix]);
    else known.push(prefix);
  }
  return found;
}

/** Names come from the sandbox, so only so many are remembered. */
const toolsKnownMax = 1_000;

function byTool(rules: readonly CompiledRule[]): CompiledPolicy['rulesFor'] {
  const known = new Map<string, readonly CompiledRule[]>();
  return (tool) => {
    const found = known.get(tool) ?? rules.filter((rule) => rule.matchesTool(tool));
    if (known.size < toolsKnownMax) known.set(tool, found);
    return found;
  };
}

/** RFC 6901; undefined when nothing stands there. */
function valueAt(root: unknown, pointer: string): unknown {
  let node = root;
  for (const part of pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))) {
    if (node === null || typeof node !== 'object' || !Object.hasOwn(node, part)) return undefined;
    node = (node as Record<string, unknown>)[part];
  }
  return node;
}

function argumentMatcher(rule: PolicyRule): CompiledRule['matchesArgs'] {
  const conditions = Object.entries(rule.when?.args ?? {}).map(([pointer, condition]) => {
    if (condition.glob === undefined) return (args: unknown) => valueAt(args, pointer) === condition.equals;
    const glob = compileGlob(condition.glob);
    return (args: unknown) => {
      const value = valueAt(args, pointer);
      return typeof value === 'string' && !hasRedactionMark(value) && matchesGlob(glob, value);
    };
  });
  return conditions.length === 0 ? () => true : (args) => conditions.every((holds) => holds(args));
}
