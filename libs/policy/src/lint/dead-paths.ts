import type { PolicyDocument } from '@fluidbox/contracts';
import { compileGlob, exampleOfGlob } from '../glob';
import type { Found } from './finding';

/** Globs that match no path: paths are compared after `.`, `..`, `//` and empty names are gone. */
export function* deadPaths({ tools }: PolicyDocument): Generator<Found> {
  for (const [index, rule] of tools.entries())
    for (const list of ['allow', 'deny'] as const) {
      for (const [at, glob] of (rule.paths?.[list] ?? []).entries()) {
        const path = ['tools', index, 'paths', list, at];
        if (exampleOfGlob(compileGlob(glob)) === null) {
          yield {
            code: 'dead_path',
            severity: 'error',
            path,
            message: `"${glob}" matches no path: paths have no empty names and no . or .. in them`,
            fix: 'remove it, or write the path as it is after it is resolved',
          };
        } else if (glob.length > 1 && glob.endsWith('/')) {
          yield {
            code: 'directory_only',
            severity: 'warning',
            path,
            message: `"${glob}" matches the directory itself and nothing in it`,
            fix: `write "${glob}**" for what stands in it, or leave the slash out`,
          };
        } else if (list === 'allow') yield* closedAllow(glob, rule.paths?.deny ?? [], path);
      }
    }
}

/** `/a/**` in deny closes `/a/b/*` in allow; only what is certain from the text is said. */
function* closedAllow(glob: string, denies: readonly string[], path: Found['path']): Generator<Found> {
  const closed = denies.find(
    (deny) =>
      deny === glob ||
      deny === '**' ||
      deny === '/**' ||
      (isPlain(deny.slice(0, -3)) && deny.endsWith('/**') && glob.startsWith(deny.slice(0, -2))),
  );
  if (closed !== undefined)
    yield {
      code: 'dead_entry',
      severity: 'warning',
      path,
      message: `"${glob}" has no effect: "${closed}" in deny covers it`,
      fix: 'remove it from allow, or narrow the entry in deny',
    };
}
const isPlain = (text: string): boolean => !/[*?[\]{}\\]/.test(text);
