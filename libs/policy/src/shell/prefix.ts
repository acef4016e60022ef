import { parse } from 'unbash';
import { normalizePath } from '../paths';
import { type Arguments, argumentsOf, canonicalFlags, grammarOf, hasFlag, isOption, programOf } from './options';
import { subcommandAliases } from './programs/grammars';
import type { ShellCommand } from './tree';
import { isLiteral, type Word, wordOf } from './word';

/** One entry of a shell list: words, compared as the shell would split and unquote them. */
export interface Prefix {
  readonly source: string;
  readonly tokens: readonly string[];
  readonly program: string;
  readonly operands: readonly string[];
  readonly flags: readonly string[];
}

/** Throws an Error that says what is wrong with the entry. */
export function compilePrefix(source: string): Prefix {
  const script = parse(source);
  const statement = script.commands[0];
  const command = statement?.command;
  if (
    (script.errors?.length ?? 0) > 0 ||
    script.commands.length !== 1 ||
    statement?.background === true ||
    command?.type !== 'Command' ||
    command.prefix.length > 0 ||
    command.name === undefined ||
    command.redirects.length > 0
  )
    throw new Error('must be one plain command prefix, such as "git push"');
  const words = [command.name, ...command.args].map((word) => {
    if (word.type !== 'Word') return word.text;
    const { value } = wordOf(word);
    if (value === null) throw new Error('must not contain $, substitutions or braces');
    return value;
  });
  const [name = '', ...rest] = words;
  const program = name.slice(name.lastIndexOf('/') + 1);
  const grammar = grammarOf(program);
  return {
    source,
    tokens: words,
    program,
    operands: rest.filter((token) => !isOption(token)),
    flags: rest.filter(isOption).flatMap((token) => canonicalFlags(token, grammar)),
  };
}

export const systemDirectories = ['/bin/', '/usr/bin/'] as const;

/**
 * Allow: the words themselves, from the first one on, and nothing looked through but options that change nothing about the action
 * and the system's own directories in front of the program.
 */
export function allowsExactly(prefix: Prefix, command: ShellCommand): boolean {
  const { tokens } = prefix;
  const { words } = command;
  const [first] = tokens;
  const [program] = words;
  if (first === undefined || !isLiteral(program)) return false;
  if (program.value !== first && !systemDirectories.some((directory) => program.value === directory + first)) return false;
  const transparent = grammarOf(prefix.program).transparent ?? [];
  let at = 1;
  for (let i = 1; i < tokens.length; i++) {
    const token = tokens[i];
    for (let word = words[at]; isLiteral(word) && word.value !== token && transparent.includes(word.value); word = words[at]) at++;
    const word = words[at++];
    if (!isLiteral(word) || word.value !== token) return false;
  }
  return true;
}

export type Reach = 'yes' | 'maybe' | 'no';

/**
 * Deny and ask: the action, however it is spelled. Options may stand anywhere, clustered or long; program-wide options are stepped
 * over; `maybe` when a word that only the running shell knows could complete the match.
 */
export function reaches(prefix: Prefix, command: ShellCommand, args: Arguments | null): Reach {
  const program = programOf(command.words);
  if (program !== prefix.program) return 'no';
  const seen = args ?? argumentsOf(command.words, program);
  const operands = reachesOperands(prefix, seen, command.base);
  if (operands === 'no') return 'no';
  const missing = prefix.flags.filter((flag) => !hasFlag(seen.flags, flag));
  if (missing.length === 0) return operands;
  return seen.mayHaveMoreFlags ? 'maybe' : 'no';
}

const isPathLike = (token: string): boolean => /^[/.~]/.test(token) && token !== '-';

/** Both as written and as the files they name: `rm -r .` in `/` is `rm -r /`. */
const namesSamePath = (token: string, value: string, bases: readonly string[] | null): boolean =>
  value === token ||
  (!token.startsWith('~') &&
    (bases ?? (value.startsWith('/') ? ['/'] : [])).some((base) => normalizePath(token, base) === normalizePath(value, base)));

function becomes(word: Word, token: string): Reach {
  if (word.glob === true) return 'maybe';
  if (word.value !== null) return word.value === token ? 'yes' : 'no';
  return word.splits === true || word.lead === undefined || token.startsWith(word.lead) ? 'maybe' : 'no';
}

const isSameSubcommand = (program: string, value: string, token: string): boolean => {
  const same = subcommandAliases[program];
  return same !== undefined && (same[value] ?? value) === (same[token] ?? token);
};

function reachesOperands(prefix: Prefix, args: Arguments, base: readonly string[] | null): Reach {
  let at = 0;
  for (const token of prefix.operands) {
    if (isPathLike(token)) {
      const rest = args.operands.slice(at);
      if (rest.some(({ word }) => word.value !== null && namesSamePath(token, word.value, base))) continue;
      return rest.some(({ word }) => word.value === null || word.glob === true) ? 'maybe' : 'no';
    }
    let found = false;
    while (!found) {
      const operand = args.operands[at++];
      if (operand === undefined) return 'no';
      const reach = becomes(operand.word, token);
      // An unquoted dynamic word may become this token and any that follow.
      if (reach === 'maybe') return 'maybe';
      found =
        reach === 'yes' || operand.word.value === null ? reach === 'yes' : isSameSubcommand(prefix.program, operand.word.value, token);
      if (!found && !operand.maybeValue) return 'no';
    }
  }
  return 'yes';
}
