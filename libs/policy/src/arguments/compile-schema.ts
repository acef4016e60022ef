import { utf8Bytes } from '@fluidbox/contracts';
import { linearPattern } from '../pattern';
import { arrayKeywords, lastArrayKeywords } from './array-keywords';
import { argumentBounds, beyondBounds, schemaBounds } from './bounds';
import { combiningKeywords } from './combining-keywords';
import { lastObjectKeywords, objectKeywords } from './object-keywords';
import {
  type ArgumentFault,
  type Check,
  type Compiling,
  faultsMax,
  isObject,
  type Keyword,
  nothingSeen,
  type Pattern,
  Run,
  SchemaProblem,
} from './run';
import { scalarKeywords } from './scalar-keywords';

/** In this order: what looks at what the others have not looked at comes last. */
const keywords: Readonly<Record<string, Keyword>> = {
  ...scalarKeywords,
  ...objectKeywords,
  ...arrayKeywords,
  ...combiningKeywords,
  ...lastObjectKeywords,
  ...lastArrayKeywords,
};
/** They refer to schemas by other means than a place in this one; to skip one would be to check less than the schema says. */
const unsupported = ['$dynamicRef', '$recursiveRef'] as const;

export interface RejectedArguments extends ArgumentFault {
  /** For the record and the agent: up to eight places, at most 400 bytes, never a value. */
  readonly summary: string;
}
export type ArgumentSchema =
  | { readonly ok: true; readonly validate: (input: unknown) => RejectedArguments | null }
  | { readonly ok: false; readonly problem: string };

/**
 * The frozen input schema of a tool, ready to judge calls. JSON Schema 2020-12, or draft-07 where `$schema` or `dialect` says so;
 * references only within the schema, patterns in linear time, `format` is not judged. Every bound is a size, so that a verdict is the
 * same on every machine. Compile once per digest: it costs more than judging.
 */
export function compileArgumentSchema(schema: unknown, options: { readonly dialect?: 'draft-07' | '2020-12' } = {}): ArgumentSchema {
  const beyond = beyondBounds(schema, schemaBounds);
  if (beyond !== null) return { ok: false, problem: `the schema ${beyond}` };
  try {
    const check = new Compiler(schema, options.dialect ?? dialectOf(schema)).schema(schema, '');
    return { ok: true, validate: (input) => validate(check, input) };
  } catch (error) {
    if (error instanceof SchemaProblem) return { ok: false, problem: error.message };
    throw error;
  }
}

const dialectOf = (schema: unknown): 'draft-07' | '2020-12' =>
  isObject(schema) && typeof schema.$schema === 'string' && /draft-0[3-7]/.test(schema.$schema) ? 'draft-07' : '2020-12';

function validate(check: Check, input: unknown): RejectedArguments | null {
  const beyond = beyondBounds(input, argumentBounds);
  if (beyond !== null) return rejected([{ pointer: '', reason: beyond }]);
  const run = new Run();
  const good = check(input, null, run, nothingSeen());
  if (run.exhausted) return rejected([{ pointer: '', reason: 'take more steps to check than are allowed' }]);
  return good ? null : rejected(run.faults);
}

const summaryBytesMax = 400;
function cut(text: string): string {
  if (utf8Bytes(text) <= summaryBytesMax) return text;
  let kept = '';
  let bytes = 0;
  for (const char of text) {
    bytes += utf8Bytes(char);
    // The mark of the cut has three bytes.
    if (bytes > summaryBytesMax - 3) break;
    kept += char;
  }
  return `${kept}…`;
}

function rejected(faults: readonly ArgumentFault[]): RejectedArguments {
  const first = faults[0] ?? { pointer: '', reason: 'do not fit the schema' };
  const all = faults.slice(0, faultsMax).map(({ pointer, reason }) => `${pointer === '' ? '(arguments)' : pointer} ${reason}`);
  const text = `arguments rejected by frozen schema: ${all.join('; ')}`;
  return { ...first, summary: cut(text) };
}

class Compiler implements Compiling {
  readonly #root: unknown;
  readonly #compiled = new Map<unknown, Check>();
  readonly #patterns = new Map<string, Pattern>();
  readonly dialect: Compiling['dialect'];

  constructor(root: unknown, dialect: Compiling['dialect']) {
    this.#root = root;
    this.dialect = dialect;
  }

  schema(node: unknown, where: string): Check {
    if (node === true) return () => true;
    if (node === false) return (_value, at, run) => run.fault(at, 'is not allowed');
    if (!isObject(node)) throw new SchemaProblem(where, 'must be a schema');
    const known = this.#compiled.get(node);
    if (known !== undefined) return known;
    // A schema may refer to itself, so it is known before it is ready.
    let ready: Check = () => true;
    this.#compiled.set(node, (...call) => ready(...call));
    ready = this.#checkOf(node, where);
    this.#compiled.set(node, ready);
    return ready;
  }

  #checkOf(node: Readonly<Record<string, unknown>>, where: string): Check {
    for (const key of unsupported) if (Object.hasOwn(node, key)) throw new SchemaProblem(`${where}/${key}`, 'is not supported');
    if (where !== '' && typeof node.$id === 'string' && !node.$id.startsWith('#'))
      throw new SchemaProblem(`${where}/$id`, 'must not stand inside of a schema');
    const checks: Check[] = [];
    if (node.$ref !== undefined) checks.push(this.reference(node.$ref, `${where}/$ref`));
    // Before 2019 whatever stands beside a reference is ignored.
    if (node.$ref === undefined || this.dialect !== 'draft-07')
      for (const [name, keyword] of Object.entries(keywords))
        if (Object.hasOwn(node, name)) checks.push(keyword(node[name], `${where}/${name}`, this, node));
    const own = Object.values(node).reduce<number>((total, part) => total + 1 + partsOf(part), 1);
    return (value, at, run, seen) => {
      if (!run.work(own + checks.length * partsOf(value))) return false;
      let good = true;
      for (const check of checks) good = check(value, at, run, seen) && good;
      return good && !run.exhausted;
    };
  }

  reference(target: unknown, where: string): Check {
    if (typeof target !== 'string' || !target.startsWith('#')) throw new SchemaProblem(where, 'must refer to a place in the schema itself');
    const found = this.#targetOf(target.slice(1), where);
    let check: Check | null = null;
    return (value, at, run, seen) =>
      run.refer(() => {
        check ??= this.schema(found, target);
        return check(value, at, run, seen);
      });
  }

  #targetOf(fragment: string, where: string): unknown {
    if (fragment === '') return this.#root;
    if (!fragment.startsWith('/')) {
      const anchored = anchorOf(this.#root, fragment);
      if (anchored === undefined) throw new SchemaProblem(where, 'refers to nothing');
      return anchored;
    }
    let node: unknown = this.#root;
    for (const part of fragment.slice(1).split('/')) {
      const key = decoded(part, where).replaceAll('~1', '/').replaceAll('~0', '~');
      if (node === null || typeof node !== 'object' || !Object.hasOwn(node, key)) throw new SchemaProblem(where, 'refers to nothing');
      node = (node as Readonly<Record<string, unknown>>)[key];
    }
    return node;
  }

  pattern(source: unknown, where: string): Pattern {
    if (typeof source !== 'string') throw new SchemaProblem(where, 'must be a pattern');
    const known = this.#patterns.get(source);
    if (known !== undefined) return known;
    if (this.#patterns.size >= schemaBounds.patterns) throw new SchemaProblem('', `has more than ${schemaBounds.patterns} patterns`);
    try {
      const compiled = { source, ...linearPattern(source, 'as JSON Schema') };
      this.#patterns.set(source, compiled);
      return compiled;
    } catch (error) {
      throw new SchemaProblem(
        where,
        `is not a pattern that can be matched in linear time (${error instanceof Error ? error.message : String(error)})`,
      );
    }
  }
}

/** What a keyword that looks at every part of a value costs. */
const partsOf = (value: unknown): number =>
  typeof value === 'string' ? value.length >> 6 : value === null || typeof value !== 'object' ? 0 : Object.keys(value).length;

function decoded(part: string, where: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new SchemaProblem(where, 'refers to nothing');
  }
}

function anchorOf(node: unknown, name: string): unknown {
  if (node === null || typeof node !== 'object') return undefined;
  if (isObject(node) && (node.$anchor === name || node.$id === `#${name}`)) return node;
  for (const inner of Object.values(node)) {
    const found = anchorOf(inner, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
