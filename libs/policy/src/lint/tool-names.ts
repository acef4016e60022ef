import type { PolicyDocument } from '@fluidbox/contracts';
import { toolMatcher } from '../tool-matcher';
import type { Found } from './finding';

/** Compared with the tools that a harness offers: drift of names makes rules inert without a word. */
export function* toolNames({ tools, defaults }: PolicyDocument, offered: readonly string[]): Generator<Found> {
  if (tools.length === 0) return;
  const unnamed = offered.filter((tool) => !tools.some((rule) => toolMatcher(rule.match)(tool)));
  if (unnamed.length > 0)
    yield {
      code: 'unnamed_tool',
      severity: 'note',
      path: ['tools'],
      message: `no rule names ${unnamed.join(', ')}; defaults.tool_action decides: ${defaults.tool_action}`,
      fix: 'add rules for them, or leave it so on purpose',
    };
  for (const [index, rule] of tools.entries())
    for (const [at, matcher] of rule.match.entries()) {
      const meant = unnamed.find((tool) => isNear(matcher, tool));
      if (meant !== undefined)
        yield {
          code: 'misspelt_tool',
          severity: 'error',
          path: ['tools', index, 'match', at],
          message: `no harness has a tool ${matcher}, and no rule names ${meant}`,
          fix: `write ${meant}`,
        };
    }
}

/** One letter too many, too few, another or swapped, or only the case is different. */
function isNear(written: string, name: string): boolean {
  if (written === name || written.endsWith('*') || name.length < 4) return false;
  const [a, b] = [written.toLowerCase(), name.toLowerCase()];
  if (a === b) return true;
  let start = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  return (left.length <= 1 && right.length <= 1) || (left.length === 2 && left === [...right].reverse().join(''));
}
