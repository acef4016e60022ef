import type { Verdict } from '@fluidbox/contracts';
import { judgePaths, type PathGlobs } from '../path-rule';
import type { LinearPattern } from '../pattern';
import { strictest } from '../verdict';
import { type Arguments, argumentsOf, hasFlag, programOf } from './options';
import { allowsExactly, type Prefix, reaches, systemDirectories } from './prefix';
import { hazardsByProgram } from './programs/hazards';
import { isSensitiveName } from './programs/sensitive-names';
import type { ShellCommand, ShellTree } from './tree';
import { couldBeFlag, hasRedactionMark, isLiteral } from './word';

export interface ShellLists {
  /** By the first word as it is written. */
  readonly allow: ReadonlyMap<string, readonly Prefix[]>;
  /** By the name of the program. */
  readonly ask: ReadonlyMap<string, readonly Prefix[]>;
  readonly deny: ReadonlyMap<string, readonly Prefix[]>;
  readonly denyPatterns: readonly ({ readonly source: string } & LinearPattern)[];
  readonly onNoMatch: Verdict;
}

/** What was decided about one command of the line, and why. */
export interface PartVerdict {
  readonly command: string;
  readonly verdict: Verdict;
  /** `deny: rm`, `allow: git status`, `paths.allow`, or what else decided. */
  readonly rule: string;
  readonly reason: string;
  /** Index of the command in the shell tree; null for the line as a whole. */
  readonly node: number | null;
}

/** Characters times instructions, so that one call takes no more than about a tenth of a second; giving up must not mean yes. */
const patternWorkMax = 5_000_000;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const shown = (command: ShellCommand): string => (command.text.length > 200 ? `${command.text.slice(0, 199)}…` : command.text);

/** Every command that the line would run, each by itself. The line's verdict is the strictest part. */
export function judgeShell(tree: ShellTree, lists: ShellLists, paths: PathGlobs | null): PartVerdict[] {
  const parts = lists.denyPatterns.length === 0 ? [] : byPatterns(tree, lists.denyPatterns);
  if (tree.unknown !== null)
    parts.push({
      command: tree.text.slice(0, 200),
      verdict: strictest('ask', lists.onNoMatch),
      rule: 'unknown',
      reason: tree.unknown,
      node: null,
    });
  if (tree.commands.length === 0 && tree.unknown === null)
    parts.push({ command: '', verdict: lists.onNoMatch, rule: 'on_no_match', reason: 'the command line is empty', node: null });
  const coverings: (Prefix | null)[] = [];
  tree.commands.forEach((command, node) => {
    const outer = command.within === null ? undefined : tree.commands[command.within];
    const outerCovering = command.within === null ? null : (coverings[command.within] ?? null);
    const covering =
      coveringOf(command, lists.allow) ??
      (outer !== undefined && outerCovering !== null && namesInner(outerCovering, outer, command) ? outerCovering : null);
    coverings.push(covering);
    parts.push({ command: shown(command), node, ...judgeCommand(command, lists, paths, covering) });
  });
  return parts;
}

function byPatterns(tree: ShellTree, patterns: ShellLists['denyPatterns']): PartVerdict[] {
  const texts = [
    tree.text,
    ...tree.pipelines,
    ...tree.commands.map((command) => command.words.map((word) => word.value ?? word.text).join(' ')),
  ];
  const denied = { command: tree.text.slice(0, 200), verdict: 'deny', node: null } as const;
  const work = sum(patterns.map(({ size }) => size)) * sum(texts.map((text) => text.length));
  if (work > patternWorkMax)
    return [
      {
        ...denied,
        rule: 'deny_regex',
        reason: 'the command is too long to be compared with all denied patterns of the rule; make it shorter',
      },
    ];
  return patterns
    .filter((pattern) => texts.some(pattern.matches))
    .map(({ source }) => ({ ...denied, rule: `deny_regex: ${source}`, reason: `the command matches the denied pattern ${source}` }));
}

const none: readonly Prefix[] = [];

/** The entry that allows the command; of several the first that admits its options, too. */
function coveringOf(command: ShellCommand, allow: ShellLists['allow']): Prefix | undefined {
  const [program] = command.words;
  if (!isLiteral(program)) return undefined;
  const asWritten = allow.get(program.value) ?? none;
  const entries = program.value.startsWith('/')
    ? [
        ...asWritten,
        ...systemDirectories.flatMap((directory) =>
          program.value.startsWith(directory) ? (allow.get(program.value.slice(directory.length)) ?? none) : none,
        ),
      ]
    : asWritten;
  const covering = entries.filter((prefix) => allowsExactly(prefix, command));
  return covering.length > 1 ? (covering.find((prefix) => hazardOf(command, prefix) === null) ?? covering[0]) : covering[0];
}

/** An entry such as "npx jest" names the inner command itself, so it covers both. */
function namesInner(covering: Prefix, outer: ShellCommand, inner: ShellCommand): boolean {
  const start = outer.words.length - inner.words.length;
  return inner.role === 'wrapped' && start > 0 && outer.words[start] === inner.words[0] && covering.tokens.length > start;
}

type Judged = Pick<PartVerdict, 'verdict' | 'rule' | 'reason'>;

function judgeCommand(command: ShellCommand, lists: ShellLists, paths: PathGlobs | null, covering: Prefix | null): Judged {
  const program = programOf(command.words);
  const args = program === null ? null : argumentsOf(command.words, program);
  const judged = [
    byDeny(command, lists, program, args),
    byAsk(command, lists, program, args),
    byPaths(command, paths),
    byUnknown(command, lists),
  ].filter((one) => one !== null);
  const worst = judged.find((one) => one.verdict === 'deny') ?? judged[0];
  if (worst !== undefined) {
    // Only an entry that asks is an exception from `on_no_match: deny`; a path outside of the allowed ones is one more reason to refuse.
    if (worst.rule !== 'paths.allow' || command.candidate === true) return worst;
    const allowed = byAllow(command, lists, paths, covering);
    return allowed.verdict === 'deny' ? allowed : worst;
  }
  if (command.candidate === true) return { verdict: 'allow', rule: 'candidate', reason: 'one reading of the wrapper around it' };
  return byAllow(command, lists, paths, covering);
}

function byDeny(command: ShellCommand, lists: ShellLists, program: string | null, args: Arguments | null): Judged | null {
  let maybe: Judged | null = null;
  for (const prefix of program === null ? none : (lists.deny.get(program) ?? none)) {
    const reach = reaches(prefix, command, args);
    if (reach === 'yes')
      return { verdict: 'deny', rule: `deny: ${prefix.source}`, reason: `"${shown(command)}" is denied by "${prefix.source}"` };
    if (reach === 'maybe')
      maybe ??= {
        verdict: strictest('ask', lists.onNoMatch),
        rule: `deny: ${prefix.source}`,
        reason: `"${shown(command)}" may turn out to be "${prefix.source}", which is denied`,
      };
  }
  return maybe;
}

function byAsk(command: ShellCommand, lists: ShellLists, program: string | null, args: Arguments | null): Judged | null {
  for (const prefix of program === null ? none : (lists.ask.get(program) ?? none)) {
    const reach = reaches(prefix, command, args);
    if (reach !== 'no')
      return {
        verdict: 'ask',
        rule: `ask: ${prefix.source}`,
        reason: `"${shown(command)}" ${reach === 'yes' ? 'needs' : 'may need'} approval by "${prefix.source}"`,
      };
  }
  return null;
}

function byPaths(command: ShellCommand, paths: PathGlobs | null): Judged | null {
  const refused = paths === null ? null : judgePaths(command.paths, paths);
  return refused === null ? null : { verdict: refused.verdict, rule: refused.rule, reason: `"${shown(command)}": ${refused.reason}` };
}

function byUnknown(command: ShellCommand, lists: ShellLists): Judged | null {
  const [program] = command.words;
  // In a recorded projection a secret may stand where the program stood.
  const unknown =
    command.unknown ?? (program?.value != null && hasRedactionMark(program.value) ? 'the name of the program is redacted' : undefined);
  return unknown === undefined
    ? null
    : { verdict: strictest('ask', lists.onNoMatch), rule: 'unknown', reason: `"${shown(command)}": ${unknown}` };
}

function byAllow(command: ShellCommand, lists: ShellLists, paths: PathGlobs | null, covering: Prefix | null): Judged {
  const uncovered = uncoveredBecause(command, paths);
  if (uncovered !== null) return { verdict: lists.onNoMatch, rule: 'on_no_match', reason: `"${shown(command)}" ${uncovered}` };
  if (command.transparent === true) return { verdict: 'allow', rule: 'wrapper', reason: 'it only runs the command behind it' };
  if (command.words.length === 0) return { verdict: 'allow', rule: 'no command', reason: 'it runs nothing' };
  if (covering === null)
    return { verdict: lists.onNoMatch, rule: 'on_no_match', reason: `"${shown(command)}" matches no entry of the allow list` };
  const hazard = hazardOf(command, covering);
  if (hazard !== null) return { verdict: lists.onNoMatch, rule: 'on_no_match', reason: `"${shown(command)}" ${hazard}` };
  return { verdict: 'allow', rule: `allow: ${covering.source}`, reason: `"${shown(command)}" is allowed by "${covering.source}"` };
}

/** What an allow never covers, whatever the program. */
function uncoveredBecause(command: ShellCommand, paths: PathGlobs | null): string | null {
  const sensitive = command.assignments.find(isSensitiveName);
  if (sensitive !== undefined) return `sets $${sensitive}, which changes what runs`;
  if (command.egress.length > 0) return `opens a network connection (${command.egress[0] ?? ''})`;
  if (command.writes.length > 0 && (paths === null || paths.allow.length === 0))
    return `writes ${command.writes[0]?.path ?? 'a file'}, and the rule has no paths.allow`;
  return null;
}

/** Why flags take this command out of an allow: they make the program run another one or write a file. */
export function hazardOf(command: ShellCommand, covering: Prefix | null): string | null {
  const program = programOf(command.words);
  const rows = program === null ? undefined : hazardsByProgram.get(program);
  if (program === null || rows === undefined) return null;
  const args = argumentsOf(command.words, program);
  const subcommand = args.operands[0]?.word.value ?? null;
  for (const row of rows) {
    if (row.subcommands !== undefined && !row.subcommands.includes(subcommand ?? '')) continue;
    const named = row.flags.find((flag) => hasFlag(args.flags, flag) && covering?.flags.includes(flag) !== true);
    if (named !== undefined) return `has ${named}, which makes ${program} run a program or write a file`;
    if (args.mayHaveMoreFlags && command.words.slice(1).some((word) => !isLiteral(word) && couldBeFlag(word)))
      return `has a word that may turn out to be an option such as ${row.flags[0] ?? ''}`;
  }
  return null;
}
