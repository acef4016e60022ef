const prefix = '/internal/llm/';

/** `v1/messages` of `/internal/llm/v1/messages?beta=true`. The query is not passed on. */
export function llmPathOf(url: string): string {
  const path = url.split('?', 1)[0] ?? '';
  return path.startsWith(prefix) ? path.slice(prefix.length) : path;
}
