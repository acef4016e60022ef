import { isHarmlessDevice, normalizePath, type PathUse, pathCharsMax } from '../paths';
import { argumentsOf } from './options';
import { noPaths, pathOperands, pathOptions } from './programs/path-tables';
import { isLiteral, type Word } from './word';

type Bases = readonly string[] | null;

/** The files that one word may name, seen from each directory the command may run in. */
export function resolvePath(word: Word, access: 'read' | 'write', bases: Bases, certainty?: 'maybe'): PathUse[] {
  const value = word.value;
  // A process substitution is a pipe; what feeds it is judged by itself.
  if (/^[<>]\(.*\)$/s.test(word.text) && value === null) return [];
  const isHome = /^~/.test(word.text);
  if (value === null || isHome || value.length > pathCharsMax || (bases === null && !value.startsWith('/'))) {
    return certainty === 'maybe' && value === null ? [] : [{ path: normalizeUnknown(word), access, certainty: 'unknown' }];
  }
  const starts = value.startsWith('/') ? ['/'] : (bases ?? ['/']);
  return starts.map((base) => ({
    path: normalizePath(value, base),
    access,
    certainty: certainty ?? (word.glob === true ? 'glob' : 'exact'),
  }));
}

// Kept so that a pattern such as **/.env can still be tried on it.
const normalizeUnknown = (word: Word): string =>
  word.value === null ? word.text.slice(0, 200) : normalizePath(word.value.slice(0, pathCharsMax), '/…');

const looksLikePath = (value: string): boolean =>
  (value.includes('/') || value.startsWith('.') || value.startsWith('~')) && !/^[a-z][a-z0-9+.-]*:\/\//i.test(value);

/** Paths among the arguments of a command: certain ones for programs we know, look-alikes for the rest. */
export function pathsOf(words: readonly Word[], program: string | null, bases: Bases): PathUse[] {
  if (program === null || noPaths.has(program)) return [];
  const args = argumentsOf(words, program);
  const uses: PathUse[] = [];
  const known = Object.hasOwn(pathOperands, program) ? pathOperands[program] : undefined;
  const options = Object.hasOwn(pathOptions, program) ? (pathOptions[program] ?? []) : [];
  for (const { option, value } of args.optionValues) {
    if (options.includes(option)) uses.push(...resolvePath(value, 'read', bases));
    else if (isLiteral(value) && looksLikePath(value.value)) uses.push(...resolvePath(value, 'read', bases, 'maybe'));
  }
  if (program === 'dd') {
    for (const { word } of args.operands)
      if (isLiteral(word) && /^(of|if)=/.test(word.value))
        uses.push(...resolvePath({ text: word.text, value: word.value.slice(3) }, word.value.startsWith('of') ? 'write' : 'read', bases));
    return withoutDevices(uses);
  }
  if (known === undefined) {
    for (const { word } of args.operands)
      if (word.value !== null && looksLikePath(word.value)) uses.push(...resolvePath(word, 'read', bases, 'maybe'));
    return withoutDevices(uses);
  }
  const skip = (known.unless ?? []).some((option) => args.flags.has(option)) ? 0 : (known.skip ?? 0);
  const operands = args.operands.slice(skip);
  // The expression of `find` begins at its first option.
  const isOperandOfFind = program === 'find' ? words.slice(1).findIndex((word) => isLiteral(word) && /^[-(!]/.test(word.value)) : -1;
  const counted = program === 'find' && isOperandOfFind >= 0 ? operands.slice(0, isOperandOfFind) : operands;
  const access = program === 'sed' && !args.flags.has('--in-place') ? 'read' : known.access;
  for (const { word } of counted) {
    if (isLiteral(word) && word.value === '-') continue;
    uses.push(...resolvePath(word, access, bases));
  }
  return withoutDevices(uses);
}

const withoutDevices = (uses: readonly PathUse[]): PathUse[] =>
  uses.filter((use) => use.certainty !== 'exact' || !isHarmlessDevice(use.path));
