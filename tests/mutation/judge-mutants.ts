import fs from 'node:fs';
import path from 'node:path';
import { findMutants, type Mutant, mutated } from './find-mutants';
import { runTest, WarmPackage } from './warm-package';

export interface Judged {
  readonly mutant: Mutant;
  /** The test that noticed; null when none did. */
  readonly killedBy: string | null;
  readonly ms: number;
}
interface Known {
  readonly file: string;
  readonly index: number;
  readonly title: string;
  ms: number;
  /** `file#function` of every function that it calls. */
  readonly calls: Set<string>;
}

const filesBelow = (dir: string): string[] =>
  fs.readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => path.join(dir, name));

/** Sources and unit tests of a package. `leftOut`: tests that start programs. */
export function packageFiles(root: string, leftOut: readonly string[]): { sources: string[]; tests: string[] } {
  const files = filesBelow(path.join(root, 'src'))
    .filter((file) => file.endsWith('.ts'))
    .sort();
  return {
    sources: files.filter((file) => !/\.(test|fixture)\.ts$/.test(file)),
    tests: files.filter((file) => file.endsWith('.test.ts') && !leftOut.some((name) => file.endsWith(name))),
  };
}

/** Judges mutants one after the other. The tests that reach a mutant run fastest first, and stop at the first that fails. */
export async function* judgeMutants(root: string, leftOut: readonly string[], mutants: readonly Mutant[]): AsyncGenerator<Judged> {
  const { sources, tests } = packageFiles(root, leftOut);
  const warm = new WarmPackage(root, tests);
  const known = await baseline(warm, sources);
  for (const mutant of mutants) {
    const started = performance.now();
    const killedBy = await judge(warm, known, mutant);
    yield { mutant, killedBy, ms: performance.now() - started };
  }
}

/** A mutant that loops for ever is noticed by that; one that meets a busy machine is not. */
const hangMsMin = 4_000;
const slowerMax = 8;

const uncounted = (): ((n: number) => void) => () => undefined;

async function baseline(warm: WarmPackage, sources: readonly string[]): Promise<Known[]> {
  for (const file of sources) warm.count(file, findMutants(file, fs.readFileSync(file, 'utf8')).functions);
  let calls = new Set<string>();
  const called = (file: string) => (n: number) => void calls.add(`${file}#${n}`);
  const found: Known[] = [];
  for (const file of warm.testFiles) {
    calls = new Set();
    const { tests, end } = warm.testsOf(file, new Map(), called);
    const whileLoading = calls;
    for (const test of tests) {
      calls = new Set();
      const started = performance.now();
      // A test that wants more rounds of a property than are run here says nothing.
      if ((await runTest(test)) === null)
        found.push({
          file,
          index: test.index,
          title: test.title,
          ms: performance.now() - started,
          calls: new Set([...calls, ...whileLoading]),
        });
    }
    end();
  }
  warm.uncount();
  return found.sort((a, b) => a.ms - b.ms);
}

async function judge(warm: WarmPackage, known: readonly Known[], mutant: Mutant): Promise<string | null> {
  const { file, within } = mutant;
  const changed = new Map([[file, warm.compile(file, mutated(fs.readFileSync(file, 'utf8'), mutant))]]);
  // Everything is loaded once before, so that it is known what depends on what.
  for (const test of warm.testFiles) warm.load(test, new Map(), uncounted, silent);
  const dependents = warm.dependents(file);
  const reached = known.filter((test) => dependents.has(test.file) && (within === null || test.calls.has(`${file}#${within}`)));
  warm.forget(dependents);
  const loaded = new Map<string, ReturnType<WarmPackage['testsOf']>>();
  try {
    for (const { file: testFile, index, title, ms } of reached) {
      let tests: ReturnType<WarmPackage['testsOf']>;
      try {
        tests = loaded.get(testFile) ?? warm.testsOf(testFile, changed, uncounted);
      } catch (error) {
        return `loading ${warm.relative(testFile)}: ${error instanceof Error ? error.message.split('\n')[0] : String(error)}`;
      }
      loaded.set(testFile, tests);
      const test = tests.tests[index];
      if (test === undefined || test.title !== title) return `${title} (is not defined any more)`;
      if ((await runTest(test, Math.max(hangMsMin, ms * slowerMax))) !== null) return title;
    }
    return null;
  } finally {
    for (const { end } of loaded.values()) end();
    warm.forget(dependents);
  }
}

const nothing = (): void => undefined;
const chain = Object.assign(() => undefined, { each: () => nothing, skip: nothing });
/** For a load that only looks at the imports of a test file. */
const silent = { expect: nothing, it: chain, test: chain, describe: chain, beforeAll: nothing, afterAll: nothing };
