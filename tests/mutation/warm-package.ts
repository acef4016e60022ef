import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import vm from 'node:vm';
import { transformSync } from '@swc/core';
import fc from 'fast-check';
import { counted, type FunctionBody } from './find-mutants';
import { collector, type Test } from './small-jest';

const swc = JSON.parse(fs.readFileSync(path.join(__dirname, '../../libs/tooling/swc.json'), 'utf8'));
/** As a test file is reduced: enough to notice, and the same every time. */
const propertyRunsMax = 60;
const propertySeed = 20261129;
/** How long loading a file, and a test of the package as it is, may take before it is taken for a hang. */
const patienceMs = 60_000;

const fewerRuns = {
  ...fc,
  assert: (property: Parameters<typeof fc.assert>[0], options: { numRuns?: number } = {}) =>
    fc.assert(property, { ...options, numRuns: Math.min(options.numRuns ?? 100, propertyRunsMax), seed: propertySeed }),
};

interface Loaded {
  readonly module: { exports: unknown };
}
type Compiled = (
  globals: Readonly<Record<string, unknown>>,
  module: { exports: unknown },
  require: (name: string) => unknown,
  file: string,
  dir: string,
) => void;

/** A package whose files are loaded here again and again, one of them with another text. What does not depend on that one stays as it is. */
export class WarmPackage {
  readonly #root: string;
  readonly #compiled = new Map<string, Compiled>();
  readonly #imports = new Map<string, Set<string>>();
  #modules = new Map<string, Loaded>();
  readonly testFiles: readonly string[];

  constructor(root: string, testFiles: readonly string[]) {
    this.#root = root;
    this.testFiles = testFiles;
  }

  compile(file: string, text: string): Compiled {
    const { code } = transformSync(text, { ...swc, swcrc: false, sourceMaps: false, filename: file });
    const names = 'expect, it, test, describe, beforeAll, afterAll, __called';
    const wrapped = `(function ({ ${names} }, module, require, __filename, __dirname) { const exports = module.exports; ${code}\n})`;
    return new vm.Script(wrapped, { filename: file }).runInThisContext() as Compiled;
  }

  #compiledOf(file: string): Compiled {
    const known = this.#compiled.get(file) ?? this.compile(file, fs.readFileSync(file, 'utf8'));
    this.#compiled.set(file, known);
    return known;
  }

  /** Every load counts the calls of functions, so that it is known which test reaches which mutant. */
  count(file: string, functions: readonly FunctionBody[]): void {
    this.#compiled.set(file, this.compile(file, counted(fs.readFileSync(file, 'utf8'), functions)));
  }
  uncount(): void {
    this.#compiled.clear();
    this.#modules.clear();
  }

  /** The files that have to be loaded again when this one changes. */
  dependents(file: string): Set<string> {
    const found = new Set([file]);
    for (let before = -1; before !== found.size; ) {
      before = found.size;
      for (const [from, to] of this.#imports) if ([...to].some((each) => found.has(each))) found.add(from);
    }
    return found;
  }

  /** `called(file)` answers the counter of one file. */
  load(
    file: string,
    changed: ReadonlyMap<string, Compiled>,
    called: (file: string) => (n: number) => void,
    globals: Readonly<Record<string, unknown>> = {},
  ): unknown {
    const known = this.#modules.get(file);
    if (known !== undefined) return known.module.exports;
    const module: { exports: unknown } = { exports: {} };
    this.#modules.set(file, { module });
    const outside = createRequire(file);
    const require = (name: string): unknown => {
      if (name === 'fast-check') return fewerRuns;
      if (!name.startsWith('.')) return outside(name);
      const base = path.resolve(path.dirname(file), name);
      const target =
        [`${base}.ts`, path.join(base, 'index.ts'), base].find((each) => fs.statSync(each, { throwIfNoEntry: false })?.isFile() === true) ??
        base;
      const known = this.#imports.get(file) ?? new Set();
      this.#imports.set(file, known.add(target));
      return this.load(target, changed, called);
    };
    (changed.get(file) ?? this.#compiledOf(file))({ ...globals, __called: called(file) }, module, require, file, path.dirname(file));
    return module.exports;
  }

  forget(files: ReadonlySet<string>): void {
    for (const file of files) this.#modules.delete(file);
  }

  /** The tests of a file, its hooks run; loaded anew. Throws what loading throws. */
  testsOf(
    file: string,
    changed: ReadonlyMap<string, Compiled>,
    called: (file: string) => (n: number) => void,
  ): { tests: readonly Test[]; end: () => void } {
    const { file: collected, globals } = collector();
    this.#modules.delete(file);
    within(() => this.load(file, changed, called, globals), patienceMs);
    for (const before of collected.before) before();
    return { tests: collected.tests, end: () => collected.after.forEach((after) => void after()) };
  }

  relative(file: string): string {
    return path.relative(this.#root, file);
  }
}

const runner = new vm.Script('globalThis.__mutationWork()');
/** A mutant may loop for ever; then it is noticed by that. */
function within(work: () => unknown, timeoutMs: number): unknown {
  let answer: unknown;
  Object.assign(globalThis, {
    __mutationWork: () => {
      answer = work();
    },
  });
  runner.runInThisContext({ timeout: timeoutMs });
  return answer;
}

/** Null when it passes, else why not. */
export async function runTest(test: Test, timeoutMs = patienceMs): Promise<string | null> {
  try {
    await within(test.run, timeoutMs);
    return null;
  } catch (error) {
    return error instanceof Error ? (error.message.split('\n')[0] ?? 'failed') : String(error);
  }
}
