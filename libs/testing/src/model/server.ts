import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { z } from 'zod';
import { chooseStep, MessagesRequest, ModelScript, type ModelStep, type ScriptFunction } from './script';
import { answerFor, countTokens, type EmittedToolCall, encodeEvent, streamEvents, wireError, wireMessage } from './wire';

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

interface Exchange {
  readonly request: http.IncomingMessage;
  readonly response: http.ServerResponse;
  readonly record: RecordedRequest;
}

const bodyBytesMax = 32 * 1024 * 1024;

/** Starts a server that speaks the Anthropic Messages wire and answers from a script. Any API key will do, none will not. */
export async function startScriptedModel({ script, port = 0, host = '127.0.0.1' }: ScriptedModelOptions): Promise<ScriptedModel> {
  const choose: ScriptFunction = typeof script === 'function' ? script : bind(ModelScript.parse(script));
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
    if (request.method !== 'POST' || (path !== '/v1/messages' && path !== '/v1/messages/count_tokens'))
      return sendError(response, 404, `no such path: ${path}`);
    if (!request.headers['x-api-key'] && !request.headers.authorization) return sendError(response, 401, 'x-api-key header is required');
    const parsed = MessagesRequest.safeParse(body.value);
    if (!parsed.success)
      return sendError(response, 400, parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
    if (path.endsWith('/count_tokens')) return sendJson(response, 200, { input_tokens: countTokens(parsed.data) });
    if (parsed.data.max_tokens === undefined) return sendError(response, 400, 'max_tokens: Field required');
    await answer({ request, response, record }, parsed.data, await choose(parsed.data), failures);
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

const bind =
  (script: ModelScript): ScriptFunction =>
  (request) =>
    chooseStep(script, request);

async function answer(
  { response, record }: Exchange,
  request: MessagesRequest,
  step: ModelStep,
  failures: Map<ModelStep, number>,
): Promise<void> {
  if (step.delayMs !== undefined) await pause(step.delayMs);
  if (step.error !== undefined) {
    const failed = (failures.get(step) ?? 0) + 1;
    failures.set(step, failed);
    if (failed <= (step.error.times ?? Number.POSITIVE_INFINITY)) {
      return sendError(response, step.error.status, step.error.message ?? 'scripted error', step.error.headers);
    }
  }
  if (step.hang === 'before_headers') return;
  const message = answerFor(request, step);
  record.emitted.push(...message.blocks.filter((block) => block.type === 'tool_use'));
  if (request.stream !== true) return sendJson(response, 200, wireMessage(message));

  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'request-id': message.id.replace('msg', 'req'),
  });
  const events = streamEvents(message);
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

function sendError(response: http.ServerResponse, status: number, message: string, headers: Record<string, string> = {}): void {
  sendJson(response, status, wireError(status, message), headers);
}
