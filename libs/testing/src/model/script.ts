import fs from 'node:fs';
import { z } from 'zod';

/** An answer of the scripted model. Errors and delays come first, then text and tool calls, in this order. */
export const ModelStep = z.strictObject({
  /** Chosen when all of these hold for the request; a step without `when` is chosen by its place. */
  when: z
    .strictObject({
      /** Text of the last tool results, anywhere in it. */
      resultContains: z.string().optional(),
      resultIsError: z.boolean().optional(),
      /** Number of assistant messages so far. */
      turn: z.number().int().min(0).optional(),
    })
    .optional(),
  text: z.string().optional(),
  tools: z.array(z.strictObject({ name: z.string().min(1), input: z.record(z.string(), z.unknown()).default({}) })).optional(),
  /** `times` = how often before the step answers normally (default: always). */
  error: z
    .strictObject({
      status: z.number().int().min(400).max(599),
      message: z.string().optional(),
      headers: z.record(z.string(), z.string()).optional(),
      times: z.number().int().min(1).optional(),
    })
    .optional(),
  /** Before the first byte. */
  delayMs: z.number().int().min(0).optional(),
  /** Between two events of a stream. */
  eventDelayMs: z.number().int().min(0).optional(),
  /** Never answers; `after_start` sends message_start first; `cut` sends half of the stream and drops the connection. */
  hang: z.enum(['before_headers', 'after_start', 'cut']).optional(),
  usage: z.strictObject({ input_tokens: z.number().int().min(0).optional(), output_tokens: z.number().int().min(0).optional() }).optional(),
});
export type ModelStep = z.infer<typeof ModelStep>;

const Conversation = z.strictObject({
  /** Text in the first user message: tells a sub-agent's conversation from the main one. */
  match: z.string().optional(),
  steps: z.array(ModelStep),
});

/** The first conversation that matches answers; one without `match` takes the rest. */
export const ModelScript = z.union([
  z.strictObject({ conversations: z.array(Conversation) }),
  z
    .strictObject({ steps: z.array(ModelStep) })
    .transform(({ steps }): { conversations: z.infer<typeof Conversation>[] } => ({ conversations: [{ steps }] })),
]);
export type ModelScript = z.infer<typeof ModelScript>;

const ContentBlock = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  content: z.unknown().optional(),
  is_error: z.boolean().nullish(),
});
const Content = z.union([z.string(), z.array(ContentBlock)]);
export const MessagesRequest = z.looseObject({
  model: z.string().min(1),
  max_tokens: z.number().int().min(1).optional(),
  stream: z.boolean().optional(),
  messages: z.array(z.looseObject({ role: z.string(), content: Content })).min(1),
  tools: z.array(z.looseObject({ name: z.string().optional(), type: z.string().optional() })).optional(),
});
export type MessagesRequest = z.infer<typeof MessagesRequest>;

export type ScriptFunction = (request: MessagesRequest) => ModelStep | Promise<ModelStep>;

/** Throws with the place that is wrong. */
export function readScriptFile(file: string): ModelScript {
  const parsed = ModelScript.safeParse(JSON.parse(fs.readFileSync(file, 'utf8')));
  if (parsed.success) return parsed.data;
  throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
}

export const assistantTurns = (request: MessagesRequest): number =>
  request.messages.filter((message) => message.role === 'assistant').length;

const textOf = (content: unknown): string => (typeof content === 'string' ? content : JSON.stringify(content ?? ''));

function lastToolResults(request: MessagesRequest): { text: string; isError: boolean }[] {
  const content = request.messages.findLast((message) => message.role === 'user')?.content;
  if (content === undefined || typeof content === 'string') return [];
  return content
    .filter((block) => block.type === 'tool_result')
    .map((block) => ({ text: textOf(block.content), isError: block.is_error === true }));
}

function holds(when: NonNullable<ModelStep['when']>, request: MessagesRequest): boolean {
  const results = lastToolResults(request);
  if (when.turn !== undefined && when.turn !== assistantTurns(request)) return false;
  if (when.resultContains !== undefined && !results.some(({ text }) => text.includes(when.resultContains ?? ''))) return false;
  return when.resultIsError === undefined || results.some(({ isError }) => isError === when.resultIsError);
}

/**
 * The step for a request, from the conversation alone: a repeated request gets the same answer, also after a restart.
 * A request without tools is one of the harness's side questions (a title, a summary) unless a conversation names it.
 */
export function chooseStep(script: ModelScript, request: MessagesRequest): ModelStep {
  const opening = textOf(request.messages.find((message) => message.role === 'user')?.content);
  const named = script.conversations.find(({ match }) => match !== undefined && opening.includes(match));
  if (named === undefined && (request.tools ?? []).length === 0 && assistantTurns(request) === 0) return { text: 'ok' };
  const conversation = named ?? script.conversations.find(({ match }) => match === undefined);
  const steps = conversation?.steps ?? [];
  const conditional = steps.find((step) => step.when !== undefined && holds(step.when, request));
  return conditional ?? steps.filter((step) => step.when === undefined)[assistantTurns(request)] ?? { text: 'Done.' };
}
