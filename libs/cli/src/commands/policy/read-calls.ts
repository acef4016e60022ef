import fs from 'node:fs';
import readline from 'node:readline';
import { type GateProjection, gateProjection, type RecordedCall, type ToolCall } from '@fluidbox/policy';
import { z } from 'zod';
import { exitCodes } from '../../exit-codes';
import { CommandFailure } from '../../failure';
import { unusable } from '../../named-file';

const Call = z.strictObject({
  tool: z.string('must be a text').min(1, 'must not be empty'),
  input: z.record(z.string(), z.unknown(), 'must be an object'),
  cwd: z.string('must be a text').optional(),
});

/** What stands beside a recorded call, whichever form it has. */
const recorded = {
  run: z.string().optional(),
  call_id: z.string().optional(),
  at: z.union([z.number(), z.iso.datetime().transform((time) => Date.parse(time))]).optional(),
  ok: z.boolean().nullable().optional(),
  ran: z.boolean().optional(),
};
const Word = z.object({
  text: z.string(),
  value: z.string().nullable(),
  glob: z.literal(true).optional(),
  lead: z.string().optional(),
  splits: z.literal(true).optional(),
});
const PathUse = z.object({ path: z.string(), access: z.enum(['read', 'write']), certainty: z.enum(['exact', 'glob', 'maybe', 'unknown']) });
const roles = [
  'list',
  'pipeline',
  'background',
  'subshell',
  'group',
  'condition',
  'loop',
  'case',
  'function',
  'substitution',
  'wrapped',
  'script',
] as const;
const Command = z.object({
  text: z.string(),
  words: z.array(Word),
  assignments: z.array(z.string()),
  paths: z.array(PathUse),
  writes: z.array(PathUse),
  egress: z.array(z.string()),
  base: z.array(z.string()).nullable(),
  role: z.enum(roles),
  within: z.number().int().nullable(),
  transparent: z.literal(true).optional(),
  candidate: z.literal(true).optional(),
  unknown: z.string().optional(),
});
const Projection = z.object({
  engine: z.string(),
  tool: z.string(),
  cwd: z.string(),
  paths: z.array(PathUse),
  unreadablePath: z.string().nullable(),
  shell: z
    .object({
      text: z.string(),
      commands: z.array(Command),
      pipelines: z.array(z.string()),
      chain: z.array(z.number().int()).optional(),
      unknown: z.string().nullable(),
    })
    .nullable(),
  hosts: z.array(z.string()),
  args: z.record(z.string(), z.unknown()),
  mended: z.boolean(),
});
const RecordedProjection = z.strictObject({ projection: Projection, ...recorded });
const RecordedCallLine = Call.extend(recorded);

function jsonOf(line: string, place: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new CommandFailure(`${place}: is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, exitCodes.usage);
  }
}

function parsedAs<T>(schema: z.ZodType<T>, value: unknown, place: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
  throw new CommandFailure(`${place}: ${problems.join('; ')}`, exitCodes.usage);
}

/** One `{tool, input, cwd?}` per line; empty lines are passed over. */
export const callsIn = (text: string, file: string): ToolCall[] =>
  text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const { tool, input, cwd } = parsedAs(Call, jsonOf(line, `${file}:${index + 1}`), `${file}:${index + 1}`);
    return [{ tool, input, ...(cwd === undefined ? {} : { cwd }) }];
  });

/** Recorded calls of a file, one a line, read as they are needed: a projection as the gate keeps it, or the call itself. */
export async function* recordedCalls(file: string): AsyncGenerator<RecordedCall> {
  const stream = file === '-' ? process.stdin : fs.createReadStream(file, 'utf8');
  let number = 0;
  try {
    for await (const line of readline.createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })) {
      number++;
      if (line.trim() !== '') yield recordedCall(line, `${file}:${number}`);
    }
  } catch (cause) {
    if (cause instanceof CommandFailure) throw cause;
    throw unusable(file, '--calls', cause, 'no such file (with a policy name it is how many recorded calls)');
  }
}

function recordedCall(line: string, place: string): RecordedCall {
  const value = jsonOf(line, place);
  const isProjection = value !== null && typeof value === 'object' && 'projection' in value;
  const { run, call_id, at, ok, ran, ...call } = parsedAs<z.infer<typeof RecordedProjection> | z.infer<typeof RecordedCallLine>>(
    isProjection ? RecordedProjection : RecordedCallLine,
    value,
    place,
  );
  return {
    projection: projectionOf(call),
    ...(run === undefined ? {} : { run }),
    ...(call_id === undefined ? {} : { callId: call_id }),
    ...(at === undefined ? {} : { at }),
    ...(ok === undefined ? {} : { ok }),
    ...(ran === undefined ? {} : { ran }),
  };
}

function projectionOf(call: { readonly projection: z.infer<typeof Projection> } | z.infer<typeof Call>): GateProjection {
  // The schema says the same as the type but for `undefined`, which JSON does not have.
  if ('projection' in call) return call.projection as GateProjection;
  return gateProjection({ tool: call.tool, input: call.input, ...(call.cwd === undefined ? {} : { cwd: call.cwd }) });
}
