import { alwaysMatchesGlob, compileGlob, firstGlobOf, firstGlobThatMayMatch, type Glob } from './glob';
import type { PathUse } from './paths';
import { hasRedactionMark } from './shell/word';

export interface PathGlobs {
  readonly allow: readonly Glob[];
  /** Compared without regard to case: a refusal holds on file systems that ignore it, too. */
  readonly deny: readonly Glob[];
}

export const compilePaths = (rule: { readonly allow: readonly string[]; readonly deny: readonly string[] }): PathGlobs => ({
  allow: rule.allow.map((glob) => compileGlob(glob)),
  deny: rule.deny.map((glob) => compileGlob(glob, { ignoreCase: true })),
});

export interface PathVerdict {
  readonly verdict: 'ask' | 'deny';
  readonly rule: string;
  readonly reason: string;
  readonly path: string;
}

/** The strictest finding over all paths of a call; null when nothing stands against them. */
export function judgePaths(uses: readonly PathUse[], globs: PathGlobs): PathVerdict | null {
  let worst: PathVerdict | null = null;
  for (const use of uses) {
    const found = judgePath(use, globs);
    if (found?.verdict === 'deny') return found;
    worst ??= found;
  }
  return worst;
}

function judgePath(use: PathUse, globs: PathGlobs): PathVerdict | null {
  const { path } = use;
  const lower = globs.deny.length === 0 ? '' : path.toLowerCase();
  const isCertain = use.certainty === 'exact' || use.certainty === 'maybe';
  const denied = (isCertain ? firstGlobOf : firstGlobThatMayMatch)(globs.deny, lower);
  if (denied !== undefined && isCertain)
    return { verdict: 'deny', rule: `paths.deny: ${denied.source}`, reason: `${path} is denied by "${denied.source}"`, path };
  if (denied !== undefined)
    return { verdict: 'ask', rule: `paths.deny: ${denied.source}`, reason: `${path} may name a file that "${denied.source}" denies`, path };
  if (use.certainty === 'maybe') return null;
  if (use.certainty === 'unknown' || hasRedactionMark(path))
    return { verdict: 'ask', rule: 'paths', reason: `which file ${path} names is only known when it runs`, path };
  if (globs.allow.length === 0) return null;
  const isAllowed =
    use.certainty === 'glob' ? globs.allow.some((glob) => alwaysMatchesGlob(glob, path)) : firstGlobOf(globs.allow, path) !== undefined;
  return isAllowed ? null : { verdict: 'ask', rule: 'paths.allow', reason: `${path} is outside of the allowed paths`, path };
}
