import type { Grammar } from './programs/grammars';
import { grammars, impliedFlags } from './programs/grammars';
import type { Wrapper } from './programs/wrappers';
import { couldBeFlag, isLiteral, type Word } from './word';

/** The program by its name alone: `/usr/bin/rm` is `rm`. */
export const programOf = (words: readonly Word[]): string | null => {
  const program = words[0];
  return isLiteral(program) ? program.value.slice(program.value.lastIndexOf('/') + 1) : null;
};

const optionName = (text: string): string => (text.startsWith('--') ? (text.split('=', 1)[0] ?? text) : text);
export const isOption = (text: string): boolean => text.length > 1 && text.startsWith('-');

/** Where the inner command of a wrapper starts. `certain` is false when an option is unknown, so that it may start anywhere behind. */
export interface Unwrapped {
  readonly start: number;
  readonly certain: boolean;
  /** Words that are shell text (`-c TEXT`). */
  readonly scripts: readonly Word[];
  readonly assignments: readonly Word[];
  readonly directory: Word | null;
}

export function unwrap(words: readonly Word[], wrapper: Wrapper, from: number): Unwrapped {
  const values = new Set(wrapper.values ?? []);
  const flags = new Set(wrapper.flags ?? []);
  const scriptOptions = new Set(wrapper.scripts ?? []);
  const scripts: Word[] = [];
  const assignments: Word[] = [];
  let directory: Word | null = null;
  let certain = true;
  let operands = wrapper.operands ?? 0;
  let at = from;
  for (; at < words.length; at++) {
    const word = words[at];
    if (word === undefined) break;
    if (!isLiteral(word)) {
      // A dynamic word here may be an option, an operand or the program.
      if (operands > 0 && !couldBeFlag(word)) {
        operands--;
        continue;
      }
      if (wrapper.assignments === true && /^[A-Za-z_][A-Za-z0-9_]*=/.test(word.lead ?? word.value ?? '') && word.splits !== true) {
        assignments.push(word);
        continue;
      }
      if (operands > 0) {
        operands--;
        certain = false;
        continue;
      }
      break;
    }
    const text = word.value;
    if (text === '--') {
      at++;
      at += operands;
      break;
    }
    if (isOption(text) || flags.has(text)) {
      const name = optionName(text);
      const attached = text.startsWith('--') ? text.includes('=') : false;
      const next = words[at + 1];
      if (scriptOptions.has(name)) {
        if (attached) scripts.push({ text, value: text.slice(text.indexOf('=') + 1) });
        else if (next !== undefined) scripts.push(next);
        if (!attached) at++;
      } else if (values.has(name)) {
        if ((wrapper.chdir ?? []).includes(name))
          directory = attached ? { text, value: text.slice(text.indexOf('=') + 1) } : (next ?? null);
        if (!attached) at++;
      } else if (flags.has(name)) continue;
      else if (!text.startsWith('--')) {
        const outcome = readCluster(text, values, flags, scriptOptions);
        if (outcome === 'unknown') certain = false;
        if (outcome === 'value') at++;
        if (outcome === 'script' && next !== undefined) {
          scripts.push(next);
          at++;
        }
      } else certain = false;
      continue;
    }
    if (wrapper.assignments === true && /^[A-Za-z_][A-Za-z0-9_]*=/.test(text)) {
      assignments.push(word);
      continue;
    }
    if (operands > 0) {
      operands--;
      continue;
    }
    break;
  }
  return { start: Math.min(at, words.length), certain, scripts, assignments, directory };
}

function readCluster(
  text: string,
  values: ReadonlySet<string>,
  flags: ReadonlySet<string>,
  scripts: ReadonlySet<string>,
): 'flags' | 'value' | 'attached' | 'script' | 'unknown' {
  const letters = [...text.slice(1)];
  if (/^\d+$/.test(text.slice(1))) return 'flags';
  for (const [i, letter] of letters.entries()) {
    const option = `-${letter}`;
    if (scripts.has(option)) return i === letters.length - 1 ? 'script' : 'unknown';
    if (values.has(option)) return i === letters.length - 1 ? 'value' : 'attached';
    if (!flags.has(option)) return 'unknown';
  }
  return 'flags';
}

export interface Operand {
  readonly word: Word;
  /** It follows an option that we do not know, so it may be that option's value. */
  readonly maybeValue: boolean;
}

/** The command's options in one spelling, and its operands. */
export interface Arguments {
  readonly flags: ReadonlySet<string>;
  readonly operands: readonly Operand[];
  /** Values of options whose grammar we know, by option. */
  readonly optionValues: readonly { readonly option: string; readonly value: Word }[];
  /** A word may turn out to be an option. */
  readonly mayHaveMoreFlags: boolean;
}

const unknownGrammar: Grammar = { subcommands: 0 };
export const grammarOf = (program: string): Grammar =>
  Object.hasOwn(grammars, program) ? (grammars[program] ?? unknownGrammar) : unknownGrammar;

/** An option word as canonical flags: `-rf` is `--recursive` and `--force`. */
export function canonicalFlags(text: string, grammar: Grammar): string[] {
  if (text.startsWith('--')) return [optionName(text)];
  if (grammar.singleDash === true) return [text.split('=', 1)[0] ?? text];
  const flags: string[] = [];
  for (const letter of text.slice(1)) {
    const option = `-${letter}`;
    if (!/[A-Za-z0-9]/.test(letter)) break;
    flags.push(grammar.aliases?.[option] ?? option);
    if (grammar.values?.includes(option) === true) break;
  }
  return flags.length === 0 ? [text] : flags;
}

const readBefore = new WeakMap<readonly Word[], Arguments>();
/** Of the words of a command and its program (`programOf` them). Paths, rules, hazards and the scope key each ask; the words are read once. */
export function argumentsOf(words: readonly Word[], program: string): Arguments {
  const known = readBefore.get(words);
  if (known !== undefined) return known;
  const read = readArguments(words, program);
  readBefore.set(words, read);
  return read;
}

function readArguments(words: readonly Word[], program: string): Arguments {
  const grammar = grammarOf(program);
  const flags = new Set<string>();
  const operands: Operand[] = [];
  const optionValues: { option: string; value: Word }[] = [];
  let mayHaveMoreFlags = false;
  let ended = false;
  let maybeValue = false;
  for (let at = 1; at < words.length; at++) {
    const word = words[at];
    if (word === undefined) break;
    if (ended || !isLiteral(word) || !isOption(word.value)) {
      if (!ended && couldBeFlag(word)) mayHaveMoreFlags = true;
      operands.push({ word, maybeValue });
      maybeValue = false;
      continue;
    }
    const text = word.value;
    maybeValue = false;
    if (text === '--') {
      ended = true;
      continue;
    }
    for (const flag of canonicalFlags(text, grammar)) flags.add(flag);
    const name = optionName(text);
    const takesValue =
      grammar.values?.includes(name) === true ||
      (!text.startsWith('--') &&
        grammar.singleDash !== true &&
        text.length > 2 &&
        grammar.values?.includes(`-${text.at(-1)}`) === true &&
        readCluster(text, new Set(grammar.values), new Set([...text.slice(1)].map((l) => `-${l}`)), new Set()) === 'value');
    if (text.startsWith('--') && text.includes('='))
      optionValues.push({ option: name, value: { text, value: text.slice(text.indexOf('=') + 1) } });
    else if (takesValue) {
      const value = words[++at];
      if (value !== undefined) optionValues.push({ option: name, value });
    } else if (!text.startsWith('--') && text.length > 2 && grammar.values?.includes(text.slice(0, 2)) === true)
      optionValues.push({ option: text.slice(0, 2), value: { text, value: text.slice(2) } });
    else maybeValue = grammar.flags?.includes(name) !== true;
  }
  const subcommand = operands[0]?.word.value;
  for (const implied of impliedFlags)
    if (
      implied.program === program &&
      implied.subcommand === subcommand &&
      operands.slice(1).some(({ word }) => word.value !== null && implied.operand.test(word.value))
    )
      flags.add(implied.flag);
  return { flags, operands, optionValues, mayHaveMoreFlags };
}

/** `--forc` is accepted by most programs for `--force`. */
export const hasFlag = (flags: ReadonlySet<string>, wanted: string): boolean => {
  if (flags.has(wanted)) return true;
  if (!wanted.startsWith('--')) return false;
  for (const flag of flags) if (flag.startsWith('--') && flag.length > 2 && wanted.startsWith(flag)) return true;
  return false;
};
