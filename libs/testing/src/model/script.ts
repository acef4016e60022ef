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
  /** An input that is text is a freeform one (a custom tool call of the Responses wire). */
  tools: z
    .array(z.strictObject({ name: z.string().min(1), input: z.union([z.string(), z.record(z.string(), z.unknown())]).default({}) }))
    .optional(),
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
  /** Only requests on this wire: harnesses have tools of their own names. Default: both. */
  wire: z.enum(['messages', 'responses']).optional(),
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

const ResponseItem = z.looseObject({
  type: z.string().default('message'),
  role: z.string().optional(),
  content: z.unknown().optional(),
  call_id: z.string().optional(),
  output: z.unknown().optional(),
});
export const ResponsesRequest = z.looseObject({
  model: z.string().min(1),
  input: z.preprocess(
    (input) => (typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input),
    z.array(ResponseItem).min(1),
  ),
  stream: z.boolean().optional(),
  tools: z.array(z.looseObject({ type: z.string() })).optional(),
});
export type ResponsesRequest = z.infer<typeof ResponsesRequest>;

export type ScriptFunction = (request: MessagesRequest) => ModelStep | Promise<ModelStep>;
/** Undefined leaves the request to the script. */
export type ResponsesFunction = (request: ResponsesRequest) => ModelStep | undefined | Promise<ModelStep | undefined>;

/** Throws with the place that is wrong. */
export function readScriptFile(file: string): ModelScript {
  const parsed = ModelScript.safeParse(JSON.parse(fs.readFileSync(file, 'utf8')));
  if (parsed.success) return parsed.data;
  throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
}

/** What a script chooses by, whichever wire the request came on. */
interface Moment {
  readonly wire: 'messages' | 'responses';
  readonly opening: string;
  readonly offersTools: boolean;
  /** Answers of the model so far. */
  readonly turns: number;
  readonly results: readonly { readonly text: string; readonly isError: boolean }[];
}

export const assistantTurns = (request: MessagesRequest): number =>
  request.messages.filter((message) => message.role === 'assistant').length;

const textOf = (content: unknown): string => (typeof content === 'string' ? content : JSON.stringify(content ?? ''));

export function momentOfMessages(request: MessagesRequest): Moment {
  return {
    wire: 'messages',
    opening: textOf(request.messages.find((message) => message.role === 'user')?.content),
    offersTools: (request.tools ?? []).length > 0,
    turns: assistantTurns(request),
    results: lastToolResults(request),
  };
}

function lastToolResults(request: MessagesRequest): { text: string; isError: boolean }[] {
  const content = request.messages.findLast((message) => message.role === 'user')?.content;
  if (content === undefined || typeof content === 'string') return [];
  return content
    .filter((block) => block.type === 'tool_result')
    .map((block) => ({ text: textOf(block.content), isError: block.is_error === true }));
}

const isByModel = ({ type, role }: ResponsesRequest['input'][number]): boolean =>
  role === 'assistant' || type === 'reasoning' || type.endsWith('_call');

/** One answer is a run of items that the model made; what stands between two runs are results and messages. */
export function momentOfResponses({ input, tools }: ResponsesRequest): Moment {
  const first = input.findIndex(isByModel);
  const last = input.findLastIndex(isByModel);
  return {
    wire: 'responses',
    opening: input
      .slice(0, first === -1 ? undefined : first)
      .filter(({ role }) => role === 'user')
      .map(({ content }) => textOf(content))
      .join('\n'),
    offersTools: (tools ?? []).length > 0,
    turns: input.filter((item, at) => isByModel(item) && !(at > 0 && isByModel(input[at - 1] ?? item))).length,
    // This wire carries no error flag.
    results: input
      .slice(last + 1)
      .flatMap(({ type, output }) => (type.endsWith('_output') ? [{ text: textOf(output), isError: false }] : [])),
  };
}

function holds(when: NonNullable<ModelStep['when']>, { turns, results }: Moment): boolean {
  if (when.turn !== undefined && when.turn !== turns) return false;
  if (when.resultContains !== undefined && !results.some(({ text }) => text.includes(when.resultContains ?? ''))) return false;
  return when.resultIsError === undefined || results.some(({ isError }) => isError === when.resultIsError);
}

/**
 * The step for a request, from the conversation alone: a repeated request gets the same answer, also after a restart.
 * A request without tools is one of the harness's side questions (a title, a summary) unless a conversation names it.
 */
export function chooseStep(script: ModelScript, moment: Moment): ModelStep {
  const conversations = script.conversations.filter(({ wire }) => wire === undefined || wire === moment.wire);
  const named = conversations.find(({ match }) => match !== undefined && moment.opening.includes(match));
  if (named === undefined && !moment.offersTools && moment.turns === 0) return { text: 'ok' };
  const conversation = named ?? conversations.find(({ match }) => match === undefined);
  const steps = conversation?.steps ?? [];
  const conditional = steps.find((step) => step.when !== undefined && holds(step.when, moment));
  return conditional ?? steps.filter((step) => step.when === undefined)[moment.turns] ?? { text: 'Done.' };
}
