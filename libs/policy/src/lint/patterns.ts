import type { PolicyDocument } from '@fluidbox/contracts';
import { canMatch } from '../pattern-reach';
import type { Found } from './finding';

export function* deadPatterns({ tools }: PolicyDocument): Generator<Found> {
  for (const [index, rule] of tools.entries())
    for (const [at, source] of (rule.shell?.deny_regex ?? []).entries())
      if (!canMatch(source))
        yield {
          code: 'regex_never_matches',
          severity: 'error',
          path: ['tools', index, 'shell', 'deny_regex', at],
          message: `no text matches ${source}: ^ and $ are the start and the end of the whole command`,
          fix: 'correct the pattern, or remove it',
        };
}
