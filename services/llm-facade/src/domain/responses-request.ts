import type { ScreenedRequest, ScreenRules } from './dialect';
import { outputTokensDefault, outputTokensMax } from './estimate';
import { isObject, type Json, textOf } from './json';
import { type Refusal, refusals } from './refusal';
import { resultsIn, toolNameOf } from './responses-items';

/** What a request may say. Anything else is a feature that nobody judged: it could keep state at the provider, or make it run something. */
const admitted = new Set([
  'model',
  'input',
  'instructions',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'max_tool_calls',
  'reasoning',
  'include',
  'text',
  'stream',
  'stream_options',
  'store',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_logprobs',
  'truncation',
  'context_management',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'service_tier',
  'background',
  'client_metadata',
]);
/**
 * What the input may be made of; without a type it is a message. Calls and results of what the provider runs have no place in a session that may not use
 * it: they name containers, stored files and addresses, and an approval among them would let a call run there.
 */
const admittedItems = new Set([
  ...['message', 'agent_message', 'reasoning', 'additional_tools', 'configuration_update'],
  ...['function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output'],
  ...['local_shell_call', 'local_shell_call_output', 'tool_search_call', 'tool_search_output'],
  ...['compaction', 'compaction_summary', 'compaction_trigger', 'context_compaction'],
]);
/** What would be kept at the provider and read from there, unseen by us. */
const stateful = ['previous_response_id', 'conversation', 'prompt'];
/** Names the installation and its sandbox, to nobody's use. */
const leftOut = ['client_metadata', 'background'];

type Screened = { ok: true; request: ScreenedRequest } | { ok: false; refusal: Refusal };
const refused = (message: string): Screened => ({ ok: false, refusal: refusals.invalid(message) });

/** Judges a request and writes the one that is sent. */
export function screenResponses(body: unknown, rules: ScreenRules): Screened {
  if (!isObject(body)) return refused('body: must be a JSON object');
  if (body.model !== rules.model) return refused(`model: this session is frozen to ${rules.model}`);
  for (const member of stateful)
    if (isGiven(body[member])) return refused(`${member}: the provider keeps no state for this session; send the whole input`);
  for (const member of Object.keys(body))
    if (!admitted.has(member) && isGiven(body[member])) return refused(`${member}: not admitted in a request of this session`);
  if (body.background === true) return refused('background: an answer must come to the one that asks for it');
  if (isGiven(body.stream) && typeof body.stream !== 'boolean') return refused('stream: must be true or false');
  if (isGiven(body.service_tier) && body.service_tier !== 'auto' && body.service_tier !== 'default')
    return refused("service_tier: this session's cost is counted at the standard price, so only auto or default may be asked for");
  const maximum = body.max_output_tokens ?? outputTokensDefault;
  if (typeof maximum !== 'number' || !Number.isInteger(maximum) || maximum < 1 || maximum > outputTokensMax)
    return refused(`max_output_tokens: must be an integer between 1 and ${outputTokensMax}`);
  if (typeof body.input !== 'string' && !Array.isArray(body.input)) return refused('input: must be text or an array');

  const dropped = new Set<string>();
  const tools = screenTools(body.tools, 'tools', rules, dropped);
  if (typeof tools === 'string') return refused(tools);
  const input = typeof body.input === 'string' ? body.input : screenInput(body.input, rules, dropped);
  if (typeof input === 'string' && input !== body.input) return refused(input);

  const sent: Record<string, unknown> = Object.fromEntries(
    Object.entries(body).filter(([member, value]) => isGiven(value) && !leftOut.includes(member)),
  );
  // A project may have a dearer tier by default.
  Object.assign(sent, { input, store: false, max_output_tokens: maximum, service_tier: 'default' });
  if (tools !== null) sent.tools = tools;
  if (dropped.size > 0 && !choosesOneOf(body.tool_choice, tools ?? [])) delete sent.tool_choice;
  return {
    ok: true,
    request: {
      body: Buffer.from(JSON.stringify(sent), 'utf8'),
      stream: body.stream === true,
      outputTokensMax: maximum,
      cachesForAnHour: false,
      droppedTools: dropped,
      toolResults: resultsIn(body.input),
    },
  };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** The tools that may be offered, or what is wrong. A tool that the provider would run has no client to offer it to, so it is dropped as well. */
function screenTools(tools: unknown, at: string, rules: ScreenRules, dropped: Set<string>, namespace?: string): Json[] | null | string {
  if (!isGiven(tools)) return null;
  if (!Array.isArray(tools)) return `${at}: must be an array`;
  const kept: Json[] = [];
  for (const [i, tool] of tools.entries()) {
    if (!isObject(tool) || typeof tool.type !== 'string') return `${at}/${i}: must be a tool with a type`;
    if (tool.type === 'namespace') {
      const inner = screenTools(tool.tools, `${at}/${i}/tools`, rules, dropped, textOf(tool.name));
      if (typeof inner === 'string') return inner;
      if (inner !== null && inner.length > 0) kept.push({ ...tool, tools: inner });
      continue;
    }
    const isNamed = tool.type === 'function' || tool.type === 'custom';
    if (isNamed && textOf(tool.name) === '') return `${at}/${i}/name: must be a tool name`;
    const name = isNamed ? toolNameOf(textOf(tool.name), namespace) : tool.type;
    const isClients = isNamed || tool.type === 'local_shell' || (tool.type === 'tool_search' && tool.execution === 'client');
    if (isClients && rules.offers(name)) kept.push(tool);
    else dropped.add(name);
  }
  return kept;
}

/** The input with its tool lists screened (a harness may put them there), or what is wrong. */
function screenInput(items: readonly unknown[], rules: ScreenRules, dropped: Set<string>): unknown[] | string {
  const screened: unknown[] = [];
  for (const [i, item] of items.entries()) {
    if (!isObject(item)) return `input/${i}: must be an object`;
    if (item.type === 'item_reference') return `input/${i}: the provider keeps no state for this session; send the item itself`;
    if (isGiven(item.type) && !(typeof item.type === 'string' && admittedItems.has(item.type)))
      return `input/${i}: ${textOf(item.type) || 'its type'} is not admitted in a request of this session`;
    const foreign = elsewhere(item);
    if (foreign !== undefined)
      return `input/${i}: a ${textOf(foreign.type) || 'file'} must carry its bytes as a data: URL; the provider fetches nothing for this session`;
    const tools = screenTools(item.tools, `input/${i}/tools`, rules, dropped);
    if (typeof tools === 'string') return tools;
    screened.push(tools === null ? item : { ...item, tools });
  }
  return screened;
}

/** A file that the provider would fetch, or that was stored there by whoever has the key; wherever in the item it stands, but for its tools' schemas. */
function elsewhere(node: object, isItem = true): Json | undefined {
  if (isObject(node) && isElsewhere(node)) return node;
  for (const name in node) {
    const child = (node as Json)[name];
    if (typeof child !== 'object' || child === null || (isItem && name === 'tools')) continue;
    const found = elsewhere(child, false);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isElsewhere = (part: Json): boolean =>
  isGiven(part.file_id) || [part.image_url, part.file_url].some((url) => isGiven(url) && !textOf(url).startsWith('data:'));

/** A choice among tools that were dropped is refused upstream. */
const choosesOneOf = (choice: unknown, tools: readonly Json[]): boolean =>
  typeof choice === 'string'
    ? choice !== 'required' || tools.length > 0
    : isObject(choice) && tools.some(({ name }) => name === choice.name);
