import type { z } from 'zod';
import { type FieldError, Problem, type ProblemCode } from './problem';

const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** Where bytes enter: a typed value, or a Problem that names each wrong field. */
export function parseOrProblem<S extends z.ZodType>(schema: S, value: unknown, code: ProblemCode = 'unprocessable'): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors: FieldError[] = result.error.issues.slice(0, 16).map((issue) => ({ pointer: pointerOf(issue.path), detail: issue.message }));
  const first = errors[0];
  throw new Problem(code, first === undefined ? 'invalid request' : `${first.pointer === '' ? 'body' : first.pointer}: ${first.detail}`, {
    errors,
  });
}
