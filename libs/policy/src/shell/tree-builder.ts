import {
  type AndOr,
  type ArithmeticCommand,
  type ArithmeticFor,
  type Assignment,
  type Case,
  type Command,
  type CommandArgument,
  forEachChild,
  type If,
  type Pipeline,
  type Redirection,
  type Script,
  type Statement,
  type SyntaxNode,
  type TestCommand,
} from 'unbash';
import { type After, afterMoving, anyway, type Bases, basesFrom, both, directoryMovers, union } from './directories';
import { parseWithinCaps } from './faults';
import { innerOf } from './inner-commands';
import { nameTrap } from './name-trap';
import { programOf } from './options';
import { pathsOf } from './path-arguments';
import { isSensitiveName } from './programs/sensitive-names';
import { wrappers } from './programs/wrappers';
import { type Input, inputOf, noRedirects, pick, type Redirects, redirectsOf } from './redirects';
import type { Role, ShellCommand } from './tree';
import { isLiteral, showWord, type Word, wordOf } from './word';

interface Place {
  readonly role: Role;
  readonly within: number | null;
}

const nestingMax = 16;
const commandsMax = 1024;
/** Words over all commands: each wrapper repeats the words behind it, so the sum is what the work grows with. */
const wordsMax = 16_384;

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
      case 'AndOr':
        return this.#andOr(node, bases, place);
      case 'Pipeline':
        return this.#pipeline(node, bases, place);
      case 'Subshell':
        this.#statements(node.body.commands, bases, { ...place, role: 'subshell' });
        return both(bases);
      case 'BraceGroup':
        return this.#statements(node.body.commands, bases, { ...place, role: 'group' });
      case 'CompoundList':
        return this.#statements(node.commands, bases, place);
      case 'If':
        return this.#if(node, bases, place);
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

  #andOr(node: AndOr, bases: Bases, place: Place): After {
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

  #pipeline(node: Pipeline, bases: Bases, place: Place): After {
    const timed = node.prefixes.some((prefix) => prefix.type === 'Time');
    const [only] = node.commands;
    if (node.commands.length === 1 && only !== undefined) {
      const after = only.type === 'Command' ? this.#command(only, bases, place, false, timed) : this.#node(only, bases, place);
      return node.prefixes.some((prefix) => prefix.type === 'Negation') ? { ok: after.fail, fail: after.ok } : after;
    }
    const first = this.commands.length;
    const rendered: string[] = [];
    node.commands.forEach((command, i) => {
      const at = this.commands.length;
      if (command.type === 'Command') this.#command(command, bases, { ...place, role: 'pipeline' }, i > 0, timed && i === 0);
      else this.#node(command, bases, { ...place, role: 'pipeline' });
      rendered.push(this.commands[at]?.text ?? '');
    });
    if (this.commands.length > first) this.pipelines.push(rendered.join(' | '));
    return both(bases);
  }

  #if(node: If, bases: Bases, place: Place): After {
    const inside = { ...place, role: 'condition' } as const;
    let tested = this.#statements(node.clause.commands, bases, inside);
    let end = anyway(this.#statements(node.then.commands, tested.ok, inside));
    for (const branch of node.elif) {
      tested = this.#statements(branch.clause.commands, tested.fail, inside);
      end = union(end, anyway(this.#statements(branch.then.commands, tested.ok, inside)));
    }
    return both(union(end, node.else === undefined ? tested.fail : anyway(this.#statements(node.else.commands, tested.fail, inside))));
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

  #command(node: Command, bases: Bases, place: Place, piped: boolean, timed = false): After {
    const name = node.name === undefined ? [] : [wordOf(node.name)];
    // To bash `time` is a keyword with one option of its own. `sh` may know no such keyword: there `time -v rm` is a program that runs rm.
    const program = timed && name[0]?.value?.startsWith('-') === true ? [{ text: 'time', value: 'time' }] : [];
    const words = [...program, ...name, ...node.args.map(argumentWord)];
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

const argumentWord = (argument: CommandArgument): Word => {
  if (argument.type === 'Word') return wordOf(argument);
  if (argument.value.type !== 'Word') return { text: argument.text, value: null, lead: `${argument.name}=` };
  const value = wordOf(argument.value);
  return isLiteral(value) && argument.index === undefined
    ? { text: argument.text, value: `${argument.name}=${value.value}` }
    : { text: argument.text, value: null, lead: `${argument.name}=` };
};
