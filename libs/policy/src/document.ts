import { historyConditionsMax, historyTimesMax, PolicyDocument, policyBounds, utf8Bytes } from '@fluidbox/contracts';
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type ParsedNode, parseDocument, visit } from 'yaml';
import { compileGlob } from './glob';
import { linearPattern } from './pattern';
import { unknownKeyWords, wordsOf } from './problem-words';
import { isShellTool } from './projection';
import { compilePrefix } from './shell/prefix';

/** One thing wrong with a document, at its exact place. `path` reads `tools[0].shel`. */
export interface PolicyProblem {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export type ParsedPolicy =
  | {
      readonly ok: true;
      readonly document: PolicyDocument;
      /** Line of each rule, by index. */
      readonly ruleLines: readonly number[];
      /** Where a part of the document stands in the text; the nearest part that does when it is a default. */
      readonly placeOf: (path: Path) => { readonly line: number; readonly column: number };
    }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

type Path = readonly (string | number)[];

export const showPath = (path: Path): string =>
  path.reduce<string>((text, part) => (typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`), '') ||
  '(document)';

const problemsMax = 50;
/** As one reads the document; the schema names them in an order of its own. */
const inOrder = (problems: readonly PolicyProblem[]): PolicyProblem[] =>
  [...problems].sort((a, b) => a.line - b.line || a.column - b.column);

/**
 * Strict: YAML 1.2 (so JSON, too) without anchors, tags, duplicate or unknown keys. Anything else is a problem that names its
 * path and line, because a policy that looks published and protects nothing is the worst failure of a gate.
 */
export function parsePolicy(source: string): ParsedPolicy {
  const lines = new LineCounter();
  const at = (offset: number): { line: number; column: number } => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const whole = (message: string): ParsedPolicy => ({ ok: false, problems: [{ path: '(document)', line: 1, column: 1, message }] });
  if (utf8Bytes(source) > policyBounds.sourceBytes) return whole(`is larger than ${policyBounds.sourceBytes} bytes`);

  const yaml = parseDocument(source, {
    lineCounter: lines,
    strict: true,
    uniqueKeys: true,
    stringKeys: true,
    version: '1.2',
    schema: 'core',
    merge: false,
    prettyErrors: false,
  });
  const broken = [...yaml.errors, ...yaml.warnings].map((error) => ({ path: '(document)', ...at(error.pos[0]), message: error.message }));
  if (broken.length > 0) return { ok: false, problems: broken.slice(0, problemsMax) };
  const forbidden: PolicyProblem[] = [];
  visit(yaml, (_key, node) => {
    if (isAlias(node))
      forbidden.push({ path: '(document)', ...at(node.range?.[0] ?? 0), message: 'aliases are not allowed; write the value out' });
    else if ((isMap(node) || isSeq(node) || isScalar(node)) && (node.anchor !== undefined || node.tag?.startsWith('!') === true))
      forbidden.push({ path: '(document)', ...at(node.range?.[0] ?? 0), message: 'anchors and tags are not allowed' });
  });
  if (forbidden.length > 0) return { ok: false, problems: forbidden.slice(0, problemsMax) };

  const place = (path: Path): { line: number; column: number } => at(offsetOf(yaml.contents, path));
  const result = PolicyDocument.safeParse(yaml.toJS({ maxAliasCount: 0 }));
  if (!result.success) {
    const problems = result.error.issues.flatMap((issue): PolicyProblem[] => {
      const path = issue.path.filter((part): part is string | number => typeof part !== 'symbol');
      if (issue.code !== 'unrecognized_keys') return [{ path: showPath(path), ...place(path), message: wordsOf(issue) }];
      return issue.keys.map((key) => ({
        path: showPath([...path, key]),
        ...place([...path, key]),
        message: unknownKeyWords(path, key),
      }));
    });
    return { ok: false, problems: inOrder(problems).slice(0, problemsMax) };
  }
  const problems = [...meaningProblems(result.data)].map(({ path, message }) => ({ path: showPath(path), ...place(path), message }));
  if (problems.length > 0) return { ok: false, problems: inOrder(problems).slice(0, problemsMax) };
  return { ok: true, document: result.data, ruleLines: result.data.tools.map((_rule, i) => place(['tools', i]).line), placeOf: place };
}

/** Where a path stands in the text; the nearest part that exists when the last ones do not. */
function offsetOf(contents: ParsedNode | null, path: Path): number {
  let node: Node | null = contents;
  let offset = contents?.range[0] ?? 0;
  for (const part of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === part);
      if (pair === undefined || !isScalar(pair.key)) break;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value as Node | null;
    } else if (isSeq(node) && typeof part === 'number') {
      const item = node.items[part] as Node | undefined;
      if (item === undefined) break;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else break;
  }
  return offset;
}

interface Meaning {
  readonly path: Path;
  readonly message: string;
}

/** What a schema cannot see: entries that do not compile, and keys that this engine does not evaluate, which must not look as if it did. */
function* meaningProblems(document: PolicyDocument): Generator<Meaning> {
  const conditions = document.tools.reduce((sum, rule) => sum + Object.keys(rule.history ?? {}).length, 0);
  if (conditions > historyConditionsMax)
    yield { path: ['tools'], message: `has ${conditions} history conditions, the limit is ${historyConditionsMax}` };
  for (const [i, rule] of document.tools.entries()) {
    const at: Path = ['tools', i];
    yield* historyProblems(rule, at);
    if (rule.on_autonomous !== undefined && rule.action === 'deny')
      yield { path: [...at, 'on_autonomous'], message: 'has no effect on a rule that denies' };
    for (const list of ['allow', 'deny'] as const)
      for (const [j, glob] of (rule.paths?.[list] ?? []).entries()) yield* tried([...at, 'paths', list, j], () => checkPathGlob(glob));
    if (rule.paths !== undefined && rule.paths.allow.length + rule.paths.deny.length === 0)
      yield { path: [...at, 'paths'], message: 'must have an allow or a deny list' };
    for (const list of ['allow', 'ask', 'deny'] as const)
      for (const [j, entry] of (rule.shell?.[list] ?? []).entries()) yield* tried([...at, 'shell', list, j], () => compilePrefix(entry));
    for (const [j, pattern] of (rule.shell?.deny_regex ?? []).entries())
      yield* tried([...at, 'shell', 'deny_regex', j], () => linearPattern(pattern, 'as policy'));
    for (const [key, condition] of Object.entries(rule.when?.args ?? {}))
      if (condition.glob !== undefined) yield* tried([...at, 'when', 'args', key, 'glob'], () => compileGlob(condition.glob ?? ''));
  }
}

function* historyProblems(rule: PolicyDocument['tools'][number], at: Path): Generator<Meaning> {
  if (rule.history === undefined) return;
  const { requires, forbid_after, rate, count } = rule.history;
  const here: Path = [...at, 'history'];
  if (Object.keys(rule.history).length === 0)
    yield { path: here, message: 'must have at least one of requires, forbid_after, rate, count' };
  if (rule.action === 'deny') yield { path: here, message: 'has no effect on a rule that denies' };
  for (const [key, call] of Object.entries({ requires, forbid_after })) {
    if (call === undefined) continue;
    if (call.tool.slice(0, -1).includes('*'))
      yield { path: [...here, key, 'tool'], message: 'a * may only stand alone or at the end of a matcher' };
    if (call.command === undefined) continue;
    if (!call.tool.endsWith('*') && !isShellTool(call.tool))
      yield { path: [...here, key, 'command'], message: `${call.tool} runs no shell commands; leave command out` };
    yield* tried([...here, key, 'command'], () => compilePrefix(call.command ?? ''));
  }
  for (const [key, limit] of Object.entries({ rate, count }))
    if (limit !== undefined && limit.max > historyTimesMax)
      yield { path: [...here, key, 'max'], message: `must be at most ${historyTimesMax}` };
}

function checkPathGlob(glob: string): void {
  if (!/^(\/|\*\*)/.test(glob)) throw new Error('must start with / or **: paths are compared in full');
  if (glob.split('/').some((segment) => segment === '..' || segment === '.'))
    throw new Error('must not contain . or .. segments: paths are compared after they are resolved');
  if (glob.startsWith('!')) throw new Error('must not be negated');
  compileGlob(glob);
}

function* tried(path: Path, compile: () => unknown): Generator<Meaning> {
  try {
    compile();
  } catch (error) {
    yield { path, message: error instanceof Error ? error.message : String(error) };
  }
}
