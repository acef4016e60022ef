import {
  type ArithmeticCommand,
  type ArithmeticFor,
  type Assignment,
  type Case,
  type Command,
  type CommandArgument,
  forEachChild,
  type Redirection,
  type Script,
  type Statement,
  type SyntaxNode,
  type TestCommand,
} from 'unbash';
import { isHarmlessDevice, normalizePath, type PathUse } from '../paths';
import { parseWithinCaps } from './faults';
import { programOf, unwrap } from './options';
import { pathsOf, resolvePath } from './path-arguments';
import { findRuns, isSensitiveName, nameTakers, shells, shellValueOptions, subcommandWrappers, type Wrapper, wrappers } from './programs';
import type { Role, ShellCommand } from './tree';
import { isLiteral, type Word, wordOf } from './word';

/** Directories a command may run in; null when only the running shell knows. */
type Bases = readonly string[] | null;
/** Where the shell may stand after a command, by its exit status: `cd x && y` runs y in x, `cd x || y` does not. */
interface After {
  readonly ok: Bases;
  readonly fail: Bases;
}
interface Place {
  readonly role: Role;
  readonly within: number | null;
}

const basesMax = 8;
const nestingMax = 16;
const commandsMax = 1024;
const readingsMax = 24;
/** Words over all commands: each wrapper repeats the words behind it, so the sum is what the work grows with. */
const wordsMax = 16_384;
const union = (a: Bases, b: Bases): Bases => {
  if (a === null || b === null) return null;
  const all = [...new Set([...a, ...b])];
  return all.length > basesMax ? null : all;
};
const both = (bases: Bases): After => ({ ok: bases, fail: bases });
const anyway = (after: After): Bases => union(after.ok, after.fail);

const directoryMovers: ReadonlySet<string> = new Set(['cd', 'pushd', 'popd']);
const dynamicWord: Word = { text: '…', value: null, lead: '', splits: true };

interface Input {
  /** Text that the command reads as its standard input, when it is written in the line. */
  readonly text: string | null;
}

/** Walks the parser's tree once and writes down every simple command, through wrappers and nested shells. */
export class TreeBuilder {
  readonly commands: ShellCommand[] = [];
  readonly pipelines: string[] = [];
  overflow: string | null = null;
  #nesting = 0;
  #words = 0;

  addScript(script: Script, bases: Bases, place: Place = { role: 'list', within: null }): After {
    if (this.#nesting >= nestingMax) this.overflow ??= `nests more than ${nestingMax} scripts`;
    if (this.overflow !== null) return both(null);
    this.#nesting++;
    const after = this.#statements(script.commands, bases, place);
    this.#nesting--;
    return after;
  }

  #statements(statements: readonly Statement[], bases: Bases, place: Place): After {
    let after = both(bases);
    for (const statement of statements) {
      const from = anyway(after);
      if (statement.background === true) {
        this.#node(statement.command, from, { ...place, role: 'background' });
        after = both(from);
      } else after = this.#node(statement.command, from, place);
    }
    return after;
  }

  #node(node: SyntaxNode, bases: Bases, place: Place): After {
    switch (node.type) {
      case 'Command':
        return this.#command(node, bases, place, false);
      case 'AndOr': {
        let after = both(bases);
        node.commands.forEach((command, i) => {
          if (i === 0) after = this.#node(command, bases, place);
          else if (node.operators[i - 1] === '&&') {
            const right = this.#node(command, after.ok, place);
            after = { ok: right.ok, fail: union(after.fail, right.fail) };
          } else {
            const right = this.#node(command, after.fail, place);
            after = { ok: union(after.ok, right.ok), fail: right.fail };
          }
        });
        return after;
      }
      case 'Pipeline': {
        const [only] = node.commands;
        if (node.commands.length === 1 && only !== undefined) {
          const after = this.#node(only, bases, place);
          return node.prefixes.some((prefix) => prefix.type === 'Negation') ? { ok: after.fail, fail: after.ok } : after;
        }
        const first = this.commands.length;
        const rendered: string[] = [];
        node.commands.forEach((command, i) => {
          const at = this.commands.length;
          if (command.type === 'Command') this.#command(command, bases, { ...place, role: 'pipeline' }, i > 0);
          else this.#node(command, bases, { ...place, role: 'pipeline' });
          rendered.push(this.commands[at]?.text ?? '');
        });
        if (this.commands.length > first) this.pipelines.push(rendered.join(' | '));
        return both(bases);
      }
      case 'Subshell':
        this.#statements(node.body.commands, bases, { ...place, role: 'subshell' });
        return both(bases);
      case 'BraceGroup':
        return this.#statements(node.body.commands, bases, { ...place, role: 'group' });
      case 'CompoundList':
        return this.#statements(node.commands, bases, place);
      case 'If': {
        const inside = { ...place, role: 'condition' } as const;
        let tested = this.#statements(node.clause.commands, bases, inside);
        let end = anyway(this.#statements(node.then.commands, tested.ok, inside));
        for (const branch of node.elif) {
          tested = this.#statements(branch.clause.commands, tested.fail, inside);
          end = union(end, anyway(this.#statements(branch.then.commands, tested.ok, inside)));
        }
        return both(union(end, node.else === undefined ? tested.fail : anyway(this.#statements(node.else.commands, tested.fail, inside))));
      }
      case 'While': {
        const inside = this.#loopBases(node, bases);
        this.#statements(node.clause.commands, inside, { ...place, role: 'loop' });
        this.#statements(node.body.commands, inside, { ...place, role: 'loop' });
        return both(inside);
      }
      case 'For':
      case 'Select': {
        const inside = this.#loopBases(node, bases);
        for (const word of node.wordlist ?? []) this.#nested(word, bases, place);
        if (isSensitiveName(node.name.value)) this.#note(node.name.text, place, bases, `sets $${node.name.value}, which changes what runs`);
        this.#statements(node.body.commands, inside, { ...place, role: 'loop' });
        return both(inside);
      }
      case 'Case':
        return this.#case(node, bases, place);
      case 'Function':
        this.#nested(node.name, bases, place);
        // Whoever calls it may stand elsewhere by then.
        this.#node(node.body, null, { ...place, role: 'function' });
        return both(bases);
      case 'Coproc':
        // Its name is expanded like any word, and becomes a variable.
        if (node.name !== undefined) {
          this.#nested(node.name, bases, place);
          if (isSensitiveName(node.name.value))
            this.#note(node.name.text, place, bases, `sets $${node.name.value}, which changes what runs`);
        }
        this.#node(node.body, bases, { ...place, role: 'background' });
        return both(bases);
      case 'Redirected': {
        const after = this.#node(node.command, bases, place);
        this.#bareRedirects(node.redirects, bases, place);
        return after;
      }
      case 'ArithmeticFor': {
        this.#nestedChildren(node, bases, place);
        const inside = this.#loopBases(node, bases);
        this.#statements(node.body.commands, inside, { ...place, role: 'loop' });
        return both(inside);
      }
      case 'TestCommand':
      case 'ArithmeticCommand':
        this.#nestedChildren(node, bases, place);
        return both(bases);
      default:
        this.overflow ??= `has a part of kind ${node.type} that we do not judge`;
        return both(null);
    }
  }

  /** A loop that moves the directory may stand anywhere from its second round on. */
  #loopBases(node: SyntaxNode, bases: Bases): Bases {
    let moves = false;
    const visit = (child: SyntaxNode): void => {
      if (child.type === 'Command' && child.name !== undefined) {
        const name = wordOf(child.name);
        if (!isLiteral(name) || directoryMovers.has(name.value) || Object.hasOwn(wrappers, name.value) || name.value === 'eval')
          moves = true;
      }
      forEachChild(child, visit);
    };
    visit(node);
    return moves ? null : bases;
  }

  #case(node: Case, bases: Bases, place: Place): After {
    this.#nested(node.word, bases, place);
    let end: Bases = bases;
    for (const item of node.items) {
      for (const pattern of item.pattern) this.#nested(pattern, bases, place);
      // `;&` falls through into the next branch, so each branch may start where any earlier one ended.
      end = union(end, anyway(this.#statements(item.body.commands, end, { ...place, role: 'case' })));
    }
    return both(end);
  }

  /** Scripts inside a word, a redirection, an assignment or an expression: all of them run. */
  #nested(node: SyntaxNode, bases: Bases, place: Place): void {
    if (node.type === 'Script') this.addScript(node, bases, { role: 'substitution', within: place.within });
    else this.#nestedChildren(node, bases, place);
  }

  #nestedChildren(node: SyntaxNode | ArithmeticCommand | ArithmeticFor | TestCommand, bases: Bases, place: Place): void {
    forEachChild(node, (child) => {
      if (node.type === 'ArithmeticFor' && child.type === 'CompoundList') return;
      this.#nested(child, bases, place);
    });
  }

  #note(text: string, place: Place, bases: Bases, unknown: string): void {
    this.#push({ text, words: [], assignments: [], paths: [], writes: [], egress: [], base: bases, ...place, unknown });
  }

  #push(command: ShellCommand): number {
    if (this.commands.length >= commandsMax) this.overflow ??= `runs more than ${commandsMax} commands`;
    else this.commands.push(command);
    return this.commands.length - 1;
  }

  #bareRedirects(redirects: readonly Redirection[], bases: Bases, place: Place): void {
    const seen = redirectsOf(redirects, bases);
    if (seen.paths.length > 0 || seen.egress.length > 0)
      this.#push({ text: seen.text, words: [], assignments: [], ...pick(seen), base: bases, ...place });
    for (const redirect of redirects) this.#nested(redirect, bases, place);
  }

  #command(node: Command, bases: Bases, place: Place, piped: boolean): After {
    const words = [...(node.name === undefined ? [] : [wordOf(node.name)]), ...node.args.map(argumentWord)];
    const assigned = [...node.prefix, ...node.args]
      .filter((part): part is Assignment => part.type === 'Assignment')
      .map((part) => part.name);
    const at = this.#simple(words, assigned, redirectsOf(node.redirects, bases), bases, place, inputOf(node.redirects, piped));
    const inside = { role: 'substitution', within: at } as const;
    if (node.name !== undefined) this.#nested(node.name, bases, inside);
    for (const part of [...node.prefix, ...node.suffix]) this.#nested(part, bases, inside);
    return afterMoving(this.#movers(at), bases);
  }

  /** The command that moves the directory, looked for through `command` and `builtin`. */
  #movers(at: number): ShellCommand | undefined {
    let command = this.commands[at];
    for (let next = at + 1; command?.transparent === true && this.commands[next]?.within === next - 1; next++)
      command = this.commands[next];
    return command;
  }

  /** Writes one command down, then what it would run itself. Returns its index. */
  #simple(
    words: readonly Word[],
    assignments: readonly string[],
    redirects: Redirects,
    bases: Bases,
    place: Place,
    input: Input | null,
    candidate = false,
  ): number {
    this.#words += words.length;
    if (this.#words > wordsMax) this.overflow ??= `repeats its words in wrappers more than ${wordsMax} times`;
    // Over a cap the whole line is unknown, and what is already written down is all that rules which refuse will see.
    if (this.overflow !== null) return this.commands.length - 1;
    const program = programOf(words);
    const text = [
      ...assignments.map((name) => `${name}=…`),
      ...words.map((word) => showWord(word)),
      ...(redirects.text === '' ? [] : [redirects.text]),
    ].join(' ');
    const base = {
      text,
      words,
      assignments,
      paths: [...redirects.paths, ...pathsOf(words, program, bases)],
      writes: redirects.writes,
      egress: redirects.egress,
      base: bases,
      ...place,
      ...(candidate ? { candidate: true as const } : {}),
    };
    if (words.length > 0 && program === null) return this.#push({ ...base, unknown: 'the name of the program is only known when it runs' });
    if (program === null) return this.#push(base);
    const inner = innerOf(words, program, input);
    const at = this.#push({
      ...base,
      ...(inner.transparent && inner.commands.length === 1 ? { transparent: true as const } : {}),
      ...(inner.unknown === null ? nameTrap(program, words) : { unknown: inner.unknown }),
    });
    const place2 = { role: 'wrapped', within: at } as const;
    if (this.#nesting >= nestingMax) this.overflow ??= `nests more than ${nestingMax} commands`;
    else {
      this.#nesting++;
      const where = inner.directory === null ? bases : basesFrom(inner.directory, bases);
      for (const command of inner.commands)
        this.#simple(command.words, command.assignments, noRedirects, where, place2, null, candidate || command.candidate);
      for (const script of inner.scripts) this.#script(script, where, at);
      this.#nesting--;
    }
    return at;
  }

  #script(script: Word | string, bases: Bases, within: number): void {
    const place = { role: 'script', within } as const;
    const text = typeof script === 'string' ? script : isLiteral(script) ? script.value : null;
    if (text === null) {
      this.#note(typeof script === 'string' ? script : script.text, place, bases, 'the text of this script is only known when it runs');
      return;
    }
    const parsed = parseWithinCaps(text);
    if (parsed.fault !== null) this.#note(text.slice(0, 200), place, bases, `the text of this script ${parsed.fault}`);
    if (parsed.script !== null) this.addScript(parsed.script, bases, place);
  }
}

const showWord = (word: Word): string =>
  isLiteral(word) && /[\s'"\\$`;&|<>(){}]/.test(word.value)
    ? `'${word.value.slice(0, 120).replaceAll('\n', ' ')}'`
    : ((word.value ?? word.text).split('\n', 1)[0]?.slice(0, 160) ?? '');

const argumentWord = (argument: CommandArgument): Word => {
  if (argument.type === 'Word') return wordOf(argument);
  if (argument.value.type !== 'Word') return { text: argument.text, value: null, lead: `${argument.name}=` };
  const value = wordOf(argument.value);
  return isLiteral(value) && argument.index === undefined
    ? { text: argument.text, value: `${argument.name}=${value.value}` }
    : { text: argument.text, value: null, lead: `${argument.name}=` };
};

interface Redirects {
  readonly text: string;
  readonly paths: readonly PathUse[];
  readonly writes: readonly PathUse[];
  readonly egress: readonly string[];
}
const noRedirects: Redirects = { text: '', paths: [], writes: [], egress: [] };
const pick = ({ paths, writes, egress }: Redirects): Omit<Redirects, 'text'> => ({ paths, writes, egress });

function redirectsOf(redirects: readonly Redirection[], bases: Bases): Redirects {
  const shown: string[] = [];
  const paths: PathUse[] = [];
  const writes: PathUse[] = [];
  const egress: string[] = [];
  for (const redirect of redirects) {
    if (redirect.type !== 'Redirect' || redirect.target === undefined) continue;
    const target = wordOf(redirect.target);
    // `2>&1` and `>&-` copy or close a descriptor; `>& file` writes one.
    if ((redirect.operator === '>&' || redirect.operator === '<&') && isLiteral(target) && /^(\d+-?|-)$/.test(target.value)) continue;
    shown.push(`${redirect.operator} ${showWord(target)}`);
    if (target.value !== null && /^\/dev\/(tcp|udp)\//.test(normalizePath(target.value))) {
      egress.push(target.value);
      continue;
    }
    const access = redirect.operator === '<' || redirect.operator === '<&' ? 'read' : 'write';
    for (const use of resolvePath(target, access, bases)) {
      if (use.certainty === 'exact' && (isHarmlessDevice(use.path) || use.path.startsWith('/dev/fd/'))) continue;
      paths.push(use);
      if (access === 'write') writes.push(use);
    }
  }
  return { text: shown.join(' '), paths, writes, egress };
}

function inputOf(redirects: readonly Redirection[], piped: boolean): Input | null {
  const last = redirects.findLast(
    (redirect) => redirect.type !== 'Redirect' || redirect.operator === '<' || redirect.operator === '<>' || redirect.operator === '<&',
  );
  if (last === undefined) return piped ? { text: null } : null;
  if (last.type === 'HereDoc') {
    const isPlain = (last.body.parts ?? []).every((part) => part.type === 'Literal');
    return { text: isPlain ? last.body.text : null };
  }
  if (last.type === 'HereString' && last.target !== undefined) {
    const word = wordOf(last.target);
    return { text: isLiteral(word) ? word.value : null };
  }
  return { text: null };
}

/** What a command would run itself. */
interface Inner {
  readonly commands: readonly { readonly words: readonly Word[]; readonly assignments: readonly string[]; readonly candidate: boolean }[];
  readonly scripts: readonly (Word | string)[];
  readonly directory: Word | null;
  readonly transparent: boolean;
  readonly unknown: string | null;
}
const nothing: Inner = { commands: [], scripts: [], directory: null, transparent: false, unknown: null };

function innerOf(words: readonly Word[], program: string, input: Input | null): Inner {
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

/** `printf -v 'a[$(cmd)]'`: a name that carries a subscript runs what stands in it. */
function nameTrap(program: string, words: readonly Word[]): { unknown?: string } {
  if (!nameTakers.has(program)) return {};
  const isTrap = words.slice(1).some((word) => word.value !== null && /\[[^\]]*[$`]/.test(word.value));
  const isAssigner = program !== 'printf' && program !== 'test' && program !== '[';
  if (
    (program === 'mapfile' || program === 'readarray') &&
    words.slice(1).some((word) => word.value === null || /^-[a-zA-Z]*C/.test(word.value))
  )
    return { unknown: 'it runs a command for each line that it reads' };
  if (isTrap) return { unknown: 'a name with a computed subscript runs what stands in it' };
  const named =
    program === 'printf'
      ? words.slice(1).flatMap((word, i, rest) => (rest[i - 1]?.value === '-v' ? [word] : []))
      : isAssigner
        ? words.slice(1)
        : [];
  for (const word of named) {
    if (word.value === null && word.lead === '') return { unknown: 'the name of a variable is only known when it runs' };
    const name = (word.value ?? word.lead ?? '').split('=', 1)[0] ?? '';
    if (isSensitiveName(name)) return { unknown: `sets $${name}, which changes what runs` };
  }
  return {};
}

function basesFrom(directory: Word, bases: Bases): Bases {
  const uses = resolvePath(directory, 'read', bases);
  return uses.every((use) => use.certainty === 'exact') ? uses.map((use) => use.path) : null;
}

function afterMoving(command: ShellCommand | undefined, bases: Bases): After {
  if (command === undefined) return both(bases);
  if (command.unknown !== undefined) return both(null);
  const program = programOf(command.words);
  if (program === 'popd') return both(null);
  if (program === 'eval') return both(null);
  if (program === 'source' || program === '.') return both(null);
  if (program !== 'cd' && program !== 'pushd') return both(bases);
  const target = command.words.slice(1).find((word) => !isLiteral(word) || !/^-[LPe@]+$|^--$/.test(word.value));
  if (target === undefined || !isLiteral(target) || target.value === '-' || target.value.startsWith('~') || /^[+-]\d+$/.test(target.value))
    return { ok: null, fail: bases };
  return {
    ok:
      bases === null && !target.value.startsWith('/')
        ? null
        : [...new Set((bases ?? ['/']).map((base) => normalizePath(target.value, base)))],
    fail: bases,
  };
}
