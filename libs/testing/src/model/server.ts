import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { z } from 'zod';
import { responseEvents, responsesAnswer, responsesError, wireResponse } from './responses-wire';
import {
  chooseStep,
  MessagesRequest,
  ModelScript,
  type ModelStep,
  momentOfMessages,
  momentOfResponses,
  type ResponsesFunction,
  ResponsesRequest,
  type ScriptFunction,
} from './script';
import { answerFor, countTokens, type EmittedToolCall, encodeEvent, type StreamEvent, streamEvents, wireError, wireMessage } from './wire';

/** A request as it arrived, for tests. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: unknown;
  /** The tool calls that the answer carried. */
  readonly emitted: EmittedToolCall[];
  status: number;
}

export interface ScriptedModelOptions {
  readonly script: z.input<typeof ModelScript> | ScriptFunction;
  /** Asked first for requests on the Responses wire. */
  readonly responses?: ResponsesFunction;
  /** 0 or absent = any free port. */
  readonly port?: number;
  readonly host?: string;
}

export interface ScriptedModel {
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  /** Every tool call of every answer, in order. */
  emittedToolCalls(): EmittedToolCall[];
  close(): Promise<void>;
}

/** An answer as its wire has it. */
interface WireAnswer {
  readonly id: string;
  readonly calls: readonly EmittedToolCall[];
  readonly whole: Record<string, unknown>;
  readonly events: readonly StreamEvent[];
}

interface Exchange {
  readonly response: http.ServerResponse;
  readonly record: RecordedRequest;
  readonly stream: boolean;
  readonly errorBody: (status: number, message: string) => Record<string, unknown>;
  readonly answerOf: (step: ModelStep) => WireAnswer;
}

const bodyBytesMax = 32 * 1024 * 1024;

/** Starts a server that speaks the Anthropic Messages and the OpenAI Responses wire and answers from a script. Any API key will do, none will not. */
export async function startScriptedModel({
  script,
  responses,
  port = 0,
  host = '127.0.0.1',
}: ScriptedModelOptions): Promise<ScriptedModel> {
  const written = typeof script === 'function' ? undefined : ModelScript.parse(script);
  const choose: ScriptFunction = (request) =>
    typeof script === 'function' ? script(request) : chooseStep(written ?? { conversations: [] }, momentOfMessages(request));
  const chooseResponse = async (request: ResponsesRequest): Promise<ModelStep> =>
    (await responses?.(request)) ?? chooseStep(written ?? { conversations: [] }, momentOfResponses(request));
  const requests: RecordedRequest[] = [];
  const failures = new Map<ModelStep, number>();

  const server = http.createServer((request, response) => {
    void handle(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendError(response, 500, `the script failed: ${String(error)}`);
    });
  });
  server.requestTimeout = 0;

  async function handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const body = await readBody(request);
    const record: RecordedRequest = {
      method: request.method ?? '',
      path,
      headers: request.headers,
      body: body.value,
      emitted: [],
      status: 0,
    };
    requests.push(record);
    response.once('close', () => {
      record.status = response.statusCode;
    });
    if (request.method === 'HEAD') return void response.writeHead(200).end();
    if (request.method === 'POST' && path === '/v1/responses') return handleResponses(request, response, record);
    if (request.method !== 'POST' || (path !== '/v1/messages' && path !== '/v1/messages/count_tokens'))
      return sendError(response, 404, `no such path: ${path}`);
    if (!request.headers['x-api-key'] && !request.headers.authorization) return sendError(response, 401, 'x-api-key header is required');
    const parsed = MessagesRequest.safeParse(body.value);
    if (!parsed.success)
      return sendError(response, 400, parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
    if (path.endsWith('/count_tokens')) return sendJson(response, 200, { input_tokens: countTokens(parsed.data) });
    if (parsed.data.max_tokens === undefined) return sendError(response, 400, 'max_tokens: Field required');
    const answerOf = (step: ModelStep): WireAnswer => {
      const message = answerFor(parsed.data, step);
      const calls = message.blocks.filter((block) => block.type === 'tool_use');
      return { id: message.id.replace('msg', 'req'), calls, whole: wireMessage(message), events: streamEvents(message) };
    };
    const stream = parsed.data.stream === true;
    await answer({ response, record, stream, errorBody: wireError, answerOf }, await choose(parsed.data), failures);
  }

  async function handleResponses(request: http.IncomingMessage, response: http.ServerResponse, record: RecordedRequest): Promise<void> {
    const refuse = (status: number, message: string): void => sendJson(response, status, responsesError(status, message));
    if (!request.headers.authorization) return refuse(401, 'You did not provide an API key.');
    const parsed = ResponsesRequest.safeParse(record.body);
    if (!parsed.success) return refuse(400, parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
    const answerOf = (step: ModelStep): WireAnswer => {
      const made = responsesAnswer(parsed.data, step);
      return { id: made.id.replace('resp', 'req'), calls: made.calls, whole: wireResponse(made), events: responseEvents(made) };
    };
    const stream = parsed.data.stream === true;
    await answer({ response, record, stream, errorBody: responsesError, answerOf }, await chooseResponse(parsed.data), failures);
  }

  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the scripted model has no port');
  return {
    url: `http://${host}:${address.port}`,
    requests,
    emittedToolCalls: () => requests.flatMap((request) => request.emitted),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  { response, record, stream, errorBody, answerOf }: Exchange,
  step: ModelStep,
  failures: Map<ModelStep, number>,
): Promise<void> {
  if (step.delayMs !== undefined) await pause(step.delayMs);
  if (step.error !== undefined) {
    const failed = (failures.get(step) ?? 0) + 1;
    failures.set(step, failed);
    if (failed <= (step.error.times ?? Number.POSITIVE_INFINITY)) {
      const { status, message = 'scripted error', headers } = step.error;
      return sendJson(response, status, errorBody(status, message), headers);
    }
  }
  if (step.hang === 'before_headers') return;
  const { id, calls, whole, events } = answerOf(step);
  record.emitted.push(...calls);
  if (!stream) return sendJson(response, 200, whole);

  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'request-id': id,
  });
  const until = step.hang === 'after_start' ? 1 : step.hang === 'cut' ? Math.ceil(events.length / 2) : events.length;
  for (const event of events.slice(0, until)) {
    if (response.destroyed) return;
    if (!response.write(encodeEvent(event))) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    if (step.eventDelayMs !== undefined) await pause(step.eventDelayMs);
  }
  if (step.hang === 'after_start') return;
  if (step.hang === 'cut') response.destroy();
  else response.end();
}

async function readBody(request: http.IncomingMessage): Promise<{ value: unknown }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= bodyBytesMax) chunks.push(chunk);
  }
  try {
    return { value: JSON.parse(Buffer.concat(chunks).toString('utf8')) };
  } catch {
    return { value: undefined };
  }
}

function sendJson(response: http.ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

function sendError(response: http.ServerResponse, status: number, message: string): void {
  sendJson(response, status, wireError(status, message));
}
