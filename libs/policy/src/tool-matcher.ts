/** `*` alone is every tool, `*` at the end a prefix. */
export function toolMatcher(matchers: readonly string[]): (tool: string) => boolean {
  const exact = new Set(matchers.filter((matcher) => !matcher.endsWith('*')));
  const prefixes = matchers.filter((matcher) => matcher.endsWith('*')).map((matcher) => matcher.slice(0, -1));
  return (tool) => exact.has(tool) || prefixes.some((prefix) => tool.startsWith(prefix));
}
