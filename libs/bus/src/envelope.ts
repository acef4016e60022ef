import { type FieldError, Problem, type ProblemCode, problemCodes } from '@fluidbox/contracts';
import { z } from 'zod';

/** A reply on the wire: the value, or the problem that the requester will see thrown. */
const Envelope = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), value: z.unknown() }),
  z.object({
    ok: z.literal(false),
    problem: z.object({
      code: z.string(),
      detail: z.string(),
      errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).default([]),
      extra: z.record(z.string(), z.unknown()).default({}),
    }),
  }),
]);

const isProblemCode = (code: string): code is ProblemCode => Object.hasOwn(problemCodes, code);

export const encodeValue = (value: unknown): string => JSON.stringify({ ok: true, value });

export const encodeProblem = ({ code, message, errors, extra }: Problem): string =>
  JSON.stringify({ ok: false, problem: { code, detail: message, errors, extra } });

/** The value of a reply; throws the problem in it. */
export function openEnvelope(text: string, subject: string): unknown {
  const envelope = Envelope.safeParse(parseJson(text));
  if (!envelope.success) throw new Problem('internal', `the reply of ${subject} is no envelope`);
  if (envelope.data.ok) return envelope.data.value;
  const { code, detail, errors, extra } = envelope.data.problem;
  const known: readonly FieldError[] = errors;
  // A newer service may know a code that we do not.
  throw new Problem(isProblemCode(code) ? code : 'internal', detail, { errors: known, extra });
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
