import { breachOf, mergeUsage } from './anthropic-blocks';
import { AnthropicEvents } from './anthropic-stream';
import type { ToolResult } from './coverage';
import type { Answer, Breach, Dialect, ModelCall, RequestKind, ScreenedRequest, ScreenRules } from './dialect';
import { outputTokensDefault, outputTokensMax } from './estimate';
import { isObject } from './json';
import { type Refusal, refusals } from './refusal';
import { SseMeter } from './sse-meter';
import { noUsage } from './usage';

/** Anthropic Messages: `POST /v1/messages`, streamed or not, and `/v1/messages/count_tokens`. */
export const anthropicMessages: Dialect = {
  id: 'anthropic_messages',
  provider: {
    keyVariable: 'FLUIDBOX_ANTHROPIC_KEY_FILE',
    credentialHeaders: (key) => ({ 'x-api-key': key }),
    keepsHeader: (name) => name === 'request-id' || name.startsWith('anthropic-ratelimit-'),
  },
  paths: { 'v1/messages': 'generate', 'v1/messages/count_tokens': 'count_tokens' },
  screen,
  withOutputMax,
  forwardedHeaders: (incoming) => {
    const asked = (incoming['anthropic-beta'] ?? '').split(',').map((beta) => beta.trim());
    const betas = asked.filter((beta) => beta !== '' && !isDearerBeta(beta));
    return {
      'anthropic-version': incoming['anthropic-version'] ?? '2023-06-01',
      ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
    };
  },
  agentIdOf: (incoming) => {
    const id = incoming['x-claude-code-agent-id'];
    return id !== undefined && /^[\w.:-]{1,128}$/.test(id) ? id : null;
  },
  errorBody: (refusal) =>
    refusal.exactBody ??
    JSON.stringify({ type: 'error', error: { type: errorType(refusal.status), message: refusal.message, code: refusal.code } }),
  streamMeter: (request, { stopsAtBreach }) => new SseMeter(new AnthropicEvents(request.droppedTools, stopsAtBreach)),
  readAnswer,
};

const errorTypes: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'permission_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  503: 'overloaded_error',
};
const errorType = (status: number): string => errorTypes[status] ?? 'api_error';

/** What makes the same tokens dearer than the one price per model that the run was frozen with. */
const isDearerBeta = (beta: string): boolean => /^(context-1m|fast-mode)-/.test(beta);
const standardPrice: Readonly<Record<string, readonly unknown[]>> = {
  speed: ['standard'],
  inference_geo: ['global'],
  service_tier: ['auto', 'standard_only'],
};

/** Members that make the provider itself run something or fetch tools from elsewhere. */
const providerExecution = ['mcp_servers', 'container'];

function screen(
  body: unknown,
  kind: RequestKind,
  rules: ScreenRules,
): { ok: true; request: ScreenedRequest } | { ok: false; refusal: Refusal } {
  const refused = (message: string) => ({ ok: false, refusal: refusals.invalid(message) }) as const;
  if (!isObject(body)) return refused('body: must be a JSON object');
  if (body.model !== rules.model) return refused(`model: this session is frozen to ${rules.model}`);
  if (!Array.isArray(body.messages)) return refused('messages: must be an array');
  if (body.stream !== undefined && typeof body.stream !== 'boolean') return refused('stream: must be true or false');
  for (const member of providerExecution) {
    if (body[member] !== undefined && body[member] !== null)
      return refused(`${member}: the provider must not execute anything for this session`);
  }
  for (const [member, values] of Object.entries(standardPrice)) {
    if (body[member] !== undefined && body[member] !== null && !values.includes(body[member]))
      return refused(`${member}: this session's cost is counted at the standard price, so only ${values.join(' or ')} may be asked for`);
  }
  const foreign = body.messages.findIndex((message) => isObject(message) && holdsForeign(message.content));
  if (foreign !== -1)
    return refused(`messages/${foreign}: an image or document must carry its bytes; the provider fetches nothing for this session`);
  const maximum = body.max_tokens ?? outputTokensDefault;
  if (typeof maximum !== 'number' || !Number.isInteger(maximum) || maximum < 1 || maximum > outputTokensMax) {
    return refused(`max_tokens: must be an integer between 1 and ${outputTokensMax}`);
  }
  const tools = screenTools(body.tools, rules);
  if (typeof tools === 'string') return refused(tools);
  // What is reserved is what may be written: a request that names no maximum gets the one that was counted.
  const sent: Record<string, unknown> = { ...body, ...(kind === 'generate' ? { max_tokens: maximum } : {}) };
  if (tools.dropped.size > 0) {
    if (tools.kept.length > 0) sent.tools = tools.kept;
    else {
      // An empty list, or a choice among no tools, is refused upstream.
      delete sent.tools;
      delete sent.tool_choice;
    }
  }
  const text = JSON.stringify(sent);
  return {
    ok: true,
    request: {
      body: Buffer.from(text, 'utf8'),
      stream: body.stream === true,
      outputTokensMax: kind === 'generate' ? maximum : 0,
      cachesForAnHour: text.includes('"ttl":"1h"'),
      droppedTools: tools.dropped,
      toolResults: kind === 'generate' ? toolResultsOf(body.messages) : [],
    },
  };
}

/** What the provider would fetch from an address, or take from what was stored there by whoever has the key. */
const holdsForeign = (content: unknown): boolean =>
  Array.isArray(content) &&
  content.some((block) => {
    if (!isObject(block)) return false;
    if (block.type === 'container_upload') return true;
    const { source } = block;
    if (isObject(source) && (source.type === 'url' || source.type === 'file' || holdsForeign(source.content))) return true;
    return holdsForeign(block.content);
  });

/** What is thought counts as output, and must be less than all of it. */
const answerTokensMin = 1_024;

function withOutputMax(body: Buffer, outputTokens: number): Buffer {
  const { thinking, ...request } = JSON.parse(body.toString('utf8')) as { thinking?: unknown };
  const isLarger = isObject(thinking) && typeof thinking.budget_tokens === 'number' && thinking.budget_tokens >= outputTokens;
  const within = isLarger ? { ...thinking, budget_tokens: outputTokens - answerTokensMin } : thinking;
  return Buffer.from(
    JSON.stringify({ ...request, max_tokens: outputTokens, ...(within === undefined ? {} : { thinking: within }) }),
    'utf8',
  );
}

function screenTools(tools: unknown, rules: ScreenRules): { kept: unknown[]; dropped: Set<string> } | string {
  const kept: unknown[] = [];
  const dropped = new Set<string>();
  if (tools === undefined || tools === null) return { kept, dropped };
  if (!Array.isArray(tools)) return 'tools: must be an array';
  for (const [i, tool] of tools.entries()) {
    if (!isObject(tool)) return `tools/${i}: must be an object`;
    // Every other type is executed by the provider or by a client we know nothing of.
    if (tool.type !== undefined && tool.type !== null && tool.type !== 'custom')
      return `tools/${i}/type: ${String(tool.type)} is not a client tool; only custom tools are offered to this session's model`;
    if (typeof tool.name !== 'string' || tool.name === '') return `tools/${i}/name: must be a tool name`;
    if (rules.offers(tool.name)) kept.push(tool);
    else dropped.add(tool.name);
  }
  return { kept, dropped };
}

/** Every result in the history, the latest included. */
function toolResultsOf(messages: readonly unknown[]): ToolResult[] {
  const results: ToolResult[] = [];
  for (const message of messages) {
    if (!isObject(message) || !Array.isArray(message.content)) continue;
    for (const block of message.content) {
      if (!isObject(block) || block.type !== 'tool_result' || typeof block.tool_use_id !== 'string') continue;
      results.push({ toolCallId: block.tool_use_id, isError: block.is_error === true, textStart: textStartOf(block.content) });
    }
  }
  return results;
}

function textStartOf(content: unknown): string {
  if (typeof content === 'string') return content.slice(0, 200);
  if (!Array.isArray(content)) return '';
  const first: unknown = content[0];
  return isObject(first) && first.type === 'text' && typeof first.text === 'string' ? first.text.slice(0, 200) : '';
}

function readAnswer(body: unknown, request: ScreenedRequest): Answer | null {
  if (!isObject(body) || !isObject(body.usage) || !Array.isArray(body.content)) return null;
  const calls: ModelCall[] = [];
  let breach: Breach | null = null;
  for (const block of body.content) {
    if (!isObject(block)) return null;
    breach ??= breachOf(block, request.droppedTools);
    if (block.type === 'tool_use')
      calls.push({
        toolCallId: String(block.id),
        tool: String(block.name),
        input: block.input ?? {},
        rawInput: JSON.stringify(block.input ?? {}),
      });
  }
  return {
    usage: mergeUsage(noUsage, body.usage),
    stopReason: typeof body.stop_reason === 'string' ? body.stop_reason : null,
    calls,
    breach,
  };
}
