import type { PolicyDocument, PolicyRule } from '@fluidbox/contracts';
import { compileGlob, matchesGlob } from './glob';
import { type CompiledCondition, compileHistory } from './history/condition';
import { compilePaths, type PathGlobs } from './path-rule';
import { linearPattern } from './pattern';
import type { ShellLists } from './shell/judge';
import { compilePrefix } from './shell/prefix';
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
              allow: rule.shell.allow.map(compilePrefix),
              ask: rule.shell.ask.map(compilePrefix),
              deny: rule.shell.deny.map(compilePrefix),
              denyPatterns: rule.shell.deny_regex.map((source) => ({ source, ...linearPattern(source, 'as policy') })),
              onNoMatch: rule.shell.on_no_match,
            },
      history: compileHistory(rule, index),
    }),
  );
  return { document, rules, conditions: rules.flatMap(({ history }) => history) };
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
  return (args) => conditions.every((holds) => holds(args));
}
