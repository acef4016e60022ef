import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';

/** The only paths an agent program may reach. The forwarded path is taken from this list, never from the request. */
const forwardedPaths = ['/v1/messages', '/v1/messages/count_tokens', '/v1/responses'] as const;

/** Credentials and routing of the agent's own making, and what belongs to one hop only. */
const strippedHeaders = new Set([
  'authorization',
  'x-api-key',
  'cookie',
  'host',
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'forwarded',
  'via',
]);
const strippedPrefixes = ['proxy-', 'x-forwarded-', 'x-real-', 'fb-', 'fluidbox-', 'traceparent', 'tracestate'];

/** The upstream path for a request of the agent program, or nothing. A base URL may or may not carry the facade's own prefix. */
export function forwardedPath(method: string | undefined, url: string | undefined): string | undefined {
  if (method !== 'POST' || url === undefined) return undefined;
  const [path = '', query = ''] = url.split('?', 2);
  const bare = path.startsWith('/internal/llm/') ? path.slice('/internal/llm'.length) : path;
  const known = forwardedPaths.find((candidate) => candidate === bare);
  if (known === undefined) return undefined;
  return `/internal/llm${known}${query.split('&').includes('beta=true') ? '?beta=true' : ''}`;
}

/** The agent's headers without what could name another credential, plus the run's own llm token. */
export function forwardedHeaders(headers: IncomingHttpHeaders, llmToken: string): OutgoingHttpHeaders {
  const kept = Object.entries(headers).filter(
    ([name]) => !strippedHeaders.has(name) && !strippedPrefixes.some((prefix) => name.startsWith(prefix)),
  );
  return { ...Object.fromEntries(kept), host: 'fluidbox', authorization: `Bearer ${llmToken}` };
}

export type Refusal = 'wrong_audience' | 'budget_exhausted';

/** What a refused model request means for the whole run. */
export function readRefusal(status: number, body: string): Refusal | undefined {
  if ((status === 401 || status === 403) && body.includes('wrong_audience')) return 'wrong_audience';
  if (status === 429 && body.includes('budget_exhausted')) return 'budget_exhausted';
  return undefined;
}
