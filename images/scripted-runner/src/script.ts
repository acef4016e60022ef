import { z } from 'zod';

/** The task of a scripted run. Every step is asked for at the gate; what the gate allows is done, for real, in the shell sandbox. */
export const Step = z.discriminatedUnion('tool', [
  z.strictObject({
    ...commonFields(),
    tool: z.literal('Bash'),
    input: z.looseObject({ command: z.string(), timeout: z.number().int().positive().optional() }),
  }),
  z.strictObject({ ...commonFields(), tool: z.literal('Read'), input: z.looseObject({ file_path: z.string() }) }),
  z.strictObject({ ...commonFields(), tool: z.literal('Write'), input: z.looseObject({ file_path: z.string(), content: z.string() }) }),
  z.strictObject({
    ...commonFields(),
    tool: z.literal('Edit'),
    input: z.looseObject({ file_path: z.string(), old_string: z.string().min(1), new_string: z.string() }),
  }),
]);
export type Step = z.infer<typeof Step>;

export const Script = z.strictObject({
  steps: z.array(Step).max(1000),
  outcome: z.enum(['completed', 'failed']).default('completed'),
  summary: z.string().optional(),
});
export type Script = z.infer<typeof Script>;

function commonFields() {
  return {
    /** The call id; made up when absent. */
    id: z.string().optional(),
    /** Said before the step, as agent.message. */
    say: z.string().optional(),
    /** What must come of the step, else the run fails: a denial, a success, a failure, or a success whose output holds a text. */
    expect: z.union([z.enum(['denied', 'ok', 'error']), z.strictObject({ output: z.string() })]).optional(),
  };
}

/** Throws with the field that is wrong. */
export function parseScript(task: string): Script {
  let value: unknown;
  try {
    value = JSON.parse(task);
  } catch (cause) {
    throw new Error('the task of a scripted run must be a JSON script {"steps":[…]}', { cause });
  }
  const parsed = Script.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`the script is not valid: ${parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')}`);
}

export type StepOutcome =
  | { readonly kind: 'denied'; readonly message: string }
  | { readonly kind: 'done'; readonly ok: boolean; readonly output: string };

/** Why the outcome is not what the step expects, or nothing. */
export function unmetExpectation(step: Step, outcome: StepOutcome): string | undefined {
  const { expect } = step;
  if (expect === undefined) return undefined;
  const actual = outcome.kind === 'denied' ? 'denied' : outcome.ok ? 'ok' : 'error';
  if (typeof expect === 'string')
    return actual === expect ? undefined : `expected ${expect}, got ${actual}${outcome.kind === 'denied' ? ` (${outcome.message})` : ''}`;
  if (outcome.kind === 'denied' || !outcome.ok) return `expected an output, got ${actual}`;
  return outcome.output.includes(expect.output) ? undefined : 'the output does not hold the expected text';
}
