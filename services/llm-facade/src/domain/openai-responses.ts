import type { Answer, Dialect, ModelCall, ScreenedRequest } from './dialect';
import { isObject } from './json';
import { callOf, endOf, itemBreach, responsesUsage } from './responses-items';
import { screenResponses } from './responses-request';
import { ResponsesEvents } from './responses-stream';
import { SseMeter } from './sse-meter';

/** OpenAI Responses: `POST /v1/responses`, streamed or not. Codex asks for nothing else. */
export const openaiResponses: Dialect = {
  id: 'openai_responses',
  provider: {
    keyVariable: 'FLUIDBOX_OPENAI_KEY_FILE',
    credentialHeaders: (key) => ({ authorization: `Bearer ${key}` }),
    keepsHeader: (name) => name === 'x-request-id' || name.startsWith('x-ratelimit-'),
  },
  paths: { 'v1/responses': 'generate' },
  screen: (body, _kind, rules) => screenResponses(body, rules),
  withOutputMax: (body, outputTokens) =>
    Buffer.from(JSON.stringify({ ...JSON.parse(body.toString('utf8')), max_output_tokens: outputTokens }), 'utf8'),
  // What a harness says of itself (`x-codex-*`, `session-id`, `originator`) is for its maker's own service; a beta header could change the wire.
  forwardedHeaders: () => ({}),
  agentIdOf: () => null,
  errorBody: (refusal) =>
    refusal.exactBody ??
    JSON.stringify({ error: { message: refusal.message, type: errorType(refusal.status), param: null, code: refusal.code } }),
  streamMeter: (request, { stopsAtBreach }) => new SseMeter(new ResponsesEvents(request.droppedTools, stopsAtBreach)),
  readAnswer,
};

const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'insufficient_quota',
};
const errorType = (status: number): string => errorTypes[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');

function readAnswer(body: unknown, request: ScreenedRequest): Answer | null {
  if (!isObject(body) || !Array.isArray(body.output)) return null;
  const usage = responsesUsage(body.usage);
  if (usage === null || !body.output.every(isObject)) return null;
  const breaches = body.output.map((item) => itemBreach(item, request.droppedTools));
  return {
    usage,
    stopReason: endOf(body),
    calls: body.output.map(callOf).filter((call): call is ModelCall => call !== null),
    breach: breaches.find((breach) => breach !== null) ?? null,
  };
}
