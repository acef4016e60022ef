import { unwrap } from './options';
import { findRuns, shells, shellValueOptions, subcommandWrappers, type Wrapper, wrappers } from './programs/wrappers';
import type { Input } from './redirects';
import { isLiteral, type Word } from './word';

const readingsMax = 24;
const wrapsBySubcommand: ReadonlySet<string> = new Set(Object.keys(subcommandWrappers).map((key) => key.split(' ', 1)[0] ?? ''));
const dynamicWord: Word = { text: '…', value: null, lead: '', splits: true };

/** What a command would run itself. */
interface Inner {
  readonly commands: readonly { readonly words: readonly Word[]; readonly assignments: readonly string[]; readonly candidate: boolean }[];
  readonly scripts: readonly (Word | string)[];
  readonly directory: Word | null;
  readonly transparent: boolean;
  readonly unknown: string | null;
}
const nothing: Inner = { commands: [], scripts: [], directory: null, transparent: false, unknown: null };

export function innerOf(words: readonly Word[], program: string, input: Input | null): Inner {
  if (shells.has(program)) return innerOfShell(words, input);
  if (program === 'eval') {
    const rest = words.slice(1);
    return { ...nothing, scripts: rest.every(isLiteral) ? [rest.map((word) => word.value).join(' ')] : [dynamicWord] };
  }
  if (program === 'trap') {
    const action = words.slice(1).find((word) => !isLiteral(word) || !/^-[lp]+$|^--$/.test(word.value));
    return action === undefined || action.value === '-' || action.value === '' ? nothing : { ...nothing, scripts: [action] };
  }
  // `command -v x` says where x is and runs nothing.
  if (
    program === 'command' &&
    words
      .slice(1)
      .some(
        (word, i) =>
          isLiteral(word) &&
          /^-[pvV]*[vV]/.test(word.value) &&
          words.slice(1, i + 1).every((before) => isLiteral(before) && before.value.startsWith('-')),
      )
  )
    return nothing;
  if (program === 'find') return innerOfFind(words);
  const found = wrapperOf(words, program);
  return found === null ? nothing : innerOfWrapper(words, found.wrapper, found.from);
}

function wrapperOf(words: readonly Word[], program: string): { wrapper: Wrapper; from: number } | null {
  const direct = Object.hasOwn(wrappers, program) ? wrappers[program] : undefined;
  if (direct !== undefined) return { wrapper: direct, from: 1 };
  if (!wrapsBySubcommand.has(program)) return null;
  for (const depth of [2, 3]) {
    const rest = words.slice(1, depth);
    if (rest.length !== depth - 1 || !rest.every(isLiteral)) continue;
    const key = [program, ...rest.map((word) => word.value)].join(' ');
    const wrapper = Object.hasOwn(subcommandWrappers, key) ? subcommandWrappers[key] : undefined;
    if (wrapper !== undefined) return { wrapper, from: depth };
  }
  return null;
}

function innerOfWrapper(words: readonly Word[], wrapper: Wrapper, from: number): Inner {
  const opened = unwrap(words, wrapper, from);
  const assignments = opened.assignments.map((word) => (word.value ?? word.lead ?? '').split('=', 1)[0] ?? '');
  const markers = wrapper.appends === true ? markersOf(words.slice(from, opened.start)) : [];
  const rest = words.slice(opened.start).map((word) => withoutMarkers(word, markers));
  const more = wrapper.appends === true ? [dynamicWord] : [];
  const scripts: (Word | string)[] = [...opened.scripts];
  if (wrapper.joins === true && rest.length > 0)
    scripts.push(rest.every(isLiteral) && wrapper.appends !== true ? rest.map((word) => word.value).join(' ') : dynamicWord);
  const commands = rest.length === 0 ? [] : [{ words: [...rest, ...more], assignments, candidate: wrapper.joins === true }];
  if (opened.certain) return { ...nothing, commands, scripts, directory: opened.directory, transparent: wrapper.transparent === true };
  // An unknown option: the command may start at any later word. Rules that refuse look at each reading.
  const count = Math.min(readingsMax, words.length - from);
  const readings = Array.from({ length: count }, (_, i) => ({ words: [...words.slice(from + i), ...more], assignments, candidate: true }));
  return {
    ...nothing,
    commands: readings,
    scripts,
    directory: opened.directory,
    unknown: 'an option of this wrapper is not known, so what it runs is not certain',
  };
}

/** `xargs -I X` puts input in place of X wherever it stands, so a word that carries X may be any text. */
function markersOf(options: readonly Word[]): readonly string[] {
  const markers = ['{}'];
  options.forEach((option, i) => {
    if (!isLiteral(option)) return;
    const [, attached] = /^(?:-[0-9A-Za-z]*[Ii]|--replace=?|-I=?)(.*)$/s.exec(option.value) ?? [];
    if (attached === undefined) return;
    const next = options[i + 1];
    if (attached !== '') markers.push(attached);
    else if (isLiteral(next) && next.value !== '') markers.push(next.value);
  });
  return markers;
}

const withoutMarkers = (word: Word, markers: readonly string[]): Word =>
  isLiteral(word) && markers.some((marker) => word.value.includes(marker))
    ? { text: word.text, value: null, lead: '', splits: true }
    : word;

function innerOfShell(words: readonly Word[], input: Input | null): Inner {
  for (let at = 1; at < words.length; at++) {
    const word = words[at];
    if (word === undefined) break;
    if (!isLiteral(word)) return { ...nothing, unknown: 'what this shell runs is only known when it runs' };
    const text = word.value;
    // `-o` and `-O` take the next word, also at the end of a cluster: `bash -euo pipefail -c TEXT`.
    const values = shellValueOptions.includes(text) ? 1 : /^[-+][A-Za-z]+$/.test(text) ? (text.match(/[oO]/g)?.length ?? 0) : 0;
    if (/^-[A-Za-z]*c[A-Za-z]*$/.test(text)) {
      // Options may stand between -c and its text.
      let script = at + 1 + values;
      for (let next = words[script]; isLiteral(next) && /^[-+]./.test(next.value); next = words[script])
        script += shellValueOptions.includes(next.value) ? 2 : 1;
      const body = words[script];
      return body === undefined ? { ...nothing, unknown: 'this shell is given no text to run' } : { ...nothing, scripts: [body] };
    }
    if (values > 0) {
      at += values;
      continue;
    }
    if (/^-[A-Za-z]*s[A-Za-z]*$/.test(text)) return innerOfInput(input);
    if (/^[-+]./.test(text)) continue;
    return nothing;
  }
  return innerOfInput(input);
}

function innerOfInput(input: Input | null): Inner {
  if (input === null) return { ...nothing, unknown: 'an interactive shell runs whatever it is given' };
  return input.text === null
    ? { ...nothing, unknown: 'this shell runs what it reads, which is only known when it runs' }
    : { ...nothing, scripts: [input.text] };
}

function innerOfFind(words: readonly Word[]): Inner {
  const commands: { words: Word[]; assignments: string[]; candidate: boolean }[] = [];
  for (let at = 1; at < words.length; at++) {
    const word = words[at];
    if (!isLiteral(word) || !findRuns.has(word.value)) continue;
    const end = words.findIndex((next, i) => i > at && isLiteral(next) && (next.value === ';' || next.value === '+'));
    const inner = words
      .slice(at + 1, end === -1 ? words.length : end)
      .map((next) => (next.value?.includes('{}') === true ? { text: next.text, value: null, lead: next.value === '{}' ? '/' : '' } : next));
    if (inner.length > 0) commands.push({ words: inner, assignments: [], candidate: false });
  }
  return { ...nothing, commands };
}
