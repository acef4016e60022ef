import { expect } from 'expect';

/** As much of a test runner as the unit tests of a pure package use, in this process, so that nothing is started anew for a mutant. */
export interface Test {
  readonly title: string;
  readonly run: () => unknown;
  /** By the order in which they were written, so that the same test is known again in the next load. */
  readonly index: number;
}
export interface TestFile {
  readonly tests: Test[];
  readonly after: (() => unknown)[];
  readonly before: (() => unknown)[];
}

type Body = (...args: unknown[]) => unknown;

export function collector(): { file: TestFile; globals: Readonly<Record<string, unknown>> } {
  const file: TestFile = { tests: [], after: [], before: [] };
  const scope: string[] = [];
  const it = (title: string, run: () => unknown): void => {
    file.tests.push({ title: [...scope, title].join(' › '), run, index: file.tests.length });
  };
  const describe = (title: string, body: () => void): void => {
    scope.push(title);
    body();
    scope.pop();
  };
  const skip = (): void => undefined;
  const each =
    (define: (title: string, run: () => unknown) => void) =>
    (rows: readonly unknown[]) =>
    (title: string, body: Body): void => {
      for (const [i, row] of rows.entries()) define(`${title} #${i}`, () => (Array.isArray(row) ? body(...row) : body(row)));
    };
  const hooks = (list: (() => unknown)[]) => (run: () => unknown) => void list.push(run);
  return {
    file,
    globals: {
      expect,
      it: Object.assign(it, { each: each(it), skip }),
      test: Object.assign(it, { each: each(it), skip }),
      describe: Object.assign(describe, { skip, each: each(describe as (title: string, run: () => unknown) => void) }),
      beforeAll: hooks(file.before),
      afterAll: hooks(file.after),
    },
  };
}
