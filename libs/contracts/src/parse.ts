import type { z } from 'zod';
import { issueWords, jsonKinds } from './issue-words';
import { type FieldError, Problem, type ProblemCode } from './problem';

const pointerOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

const errorsMax = 16;
/** A key that is not known is named where it stands, as any other field. */
const fieldErrors = (issue: z.core.$ZodIssue): FieldError[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.map((key) => ({ pointer: pointerOf([...issue.path, key]), detail: 'is not known here' }))
    : [{ pointer: pointerOf(issue.path), detail: issueWords(issue, jsonKinds) }];

/** Where bytes enter: a typed value, or a Problem that names each wrong field. */
export function parseOrProblem<S extends z.ZodType>(schema: S, value: unknown, code: ProblemCode = 'unprocessable'): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap(fieldErrors).slice(0, errorsMax);
  const first = errors[0];
  throw new Problem(code, first === undefined ? 'invalid request' : `${first.pointer === '' ? 'body' : first.pointer}: ${first.detail}`, {
    errors,
  });
}
