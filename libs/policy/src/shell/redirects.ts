import type { Redirection } from 'unbash';
import { isHarmlessDevice, normalizePath, type PathUse } from '../paths';
import type { Bases } from './directories';
import { resolvePath } from './path-arguments';
import { isLiteral, showWord, wordOf } from './word';

export interface Input {
  /** Text that the command reads as its standard input, when it is written in the line. */
  readonly text: string | null;
}

export interface Redirects {
  readonly text: string;
  readonly paths: readonly PathUse[];
  readonly writes: readonly PathUse[];
  readonly egress: readonly string[];
}
export const noRedirects: Redirects = { text: '', paths: [], writes: [], egress: [] };
export const pick = ({ paths, writes, egress }: Redirects): Omit<Redirects, 'text'> => ({ paths, writes, egress });

export function redirectsOf(redirects: readonly Redirection[], bases: Bases): Redirects {
  const shown: string[] = [];
  const paths: PathUse[] = [];
  const writes: PathUse[] = [];
  const egress: string[] = [];
  for (const redirect of redirects) {
    if (redirect.type !== 'Redirect' || redirect.target === undefined) continue;
    const target = wordOf(redirect.target);
    // `2>&1` and `>&-` copy or close a descriptor; `>& file` writes one.
    if ((redirect.operator === '>&' || redirect.operator === '<&') && isLiteral(target) && /^(\d+-?|-)$/.test(target.value)) continue;
    shown.push(`${redirect.operator} ${showWord(target)}`);
    if (target.value !== null && /^\/dev\/(tcp|udp)\//.test(normalizePath(target.value))) {
      egress.push(target.value);
      continue;
    }
    const access = redirect.operator === '<' || redirect.operator === '<&' ? 'read' : 'write';
    for (const use of resolvePath(target, access, bases)) {
      if (use.certainty === 'exact' && (isHarmlessDevice(use.path) || use.path.startsWith('/dev/fd/'))) continue;
      paths.push(use);
      if (access === 'write') writes.push(use);
    }
  }
  return { text: shown.join(' '), paths, writes, egress };
}

export function inputOf(redirects: readonly Redirection[], piped: boolean): Input | null {
  const last = redirects.findLast(
    (redirect) => redirect.type !== 'Redirect' || redirect.operator === '<' || redirect.operator === '<>' || redirect.operator === '<&',
  );
  if (last === undefined) return piped ? { text: null } : null;
  if (last.type === 'HereDoc') {
    const isPlain = (last.body.parts ?? []).every((part) => part.type === 'Literal');
    return { text: isPlain ? last.body.text : null };
  }
  if (last.type === 'HereString' && last.target !== undefined) {
    const word = wordOf(last.target);
    return { text: isLiteral(word) ? word.value : null };
  }
  return { text: null };
}
