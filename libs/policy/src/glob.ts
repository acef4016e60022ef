/**
 * Path patterns: `*` and `?` stay within a segment, `**` as a whole segment crosses, `[…]` is a set, `{a,b}` alternatives; a leading
 * dot is not special. Matching is a table over (pattern, text), so its cost is the product of two bounded lengths and never
 * explodes; the translation of patterns to regular expressions that libraries offer backtracks and was dropped for that. The test
 * beside this file keeps it equal to picomatch (dot, posix, no extglob).
 */
type Unit =
  | { readonly any: 'one' | 'many' }
  | {
      readonly set: (char: string) => boolean;
      /** Characters to try, should one be wanted. */
      readonly hints: readonly string[];
      /** It stands for itself. */
      readonly literal?: string;
    };
interface NamePattern {
  readonly units: readonly Unit[];
  /** The same answer as the table's for a name without wildcards, when the pattern is a text with at most one `*`. */
  readonly quick: ((name: string) => boolean) | null;
}
type Segment = 'cross' | NamePattern;

export interface Glob {
  readonly source: string;
  /** The same answer as the table's, for the usual forms `/a/b`, `/a/**` and `**\/a`. */
  readonly quick: ((path: string) => boolean) | null;
  readonly alternatives: readonly (readonly Segment[])[];
}

const alternativesMax = 64;

function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = /\{([^{}]*,[^{}]*)\}/.exec(next);
    if (group === null) done.push(next);
    else
      for (const choice of (group[1] ?? '').split(','))
        open.push(next.slice(0, group.index) + choice + next.slice(group.index + group[0].length));
    if (open.length + done.length > alternativesMax) throw new RangeError(`has more than ${alternativesMax} alternatives`);
  }
  return done;
}

function charSet(body: string): Extract<Unit, { set: unknown }> {
  const negated = /^[!^]/.test(body);
  const members = [...(negated ? body.slice(1) : body)];
  const ranges: [string, string][] = [];
  for (let i = 0; i < members.length; i++) {
    const first = members[i] ?? '';
    const last = members[i + 1] === '-' ? members[i + 2] : undefined;
    if (last === undefined) ranges.push([first, first]);
    else {
      ranges.push([first, last]);
      i += 2;
    }
  }
  return {
    set: (char) => char !== '/' && ranges.some(([low, high]) => char >= low && char <= high) !== negated,
    hints: [...ranges.flat(), ...'xX0_.-\u00e4'],
  };
}

function unitsOf(segment: string): Segment {
  if (segment === '**') return 'cross';
  const units: Unit[] = [];
  const chars = [...segment];
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i] ?? '';
    if (char === '*') {
      if (chars[i - 1] !== '*') units.push({ any: 'many' });
    } else if (char === '?') units.push({ any: 'one' });
    else if (char === '[' && chars.indexOf(']', i + 2) > 0) {
      const end = chars.indexOf(']', i + 2);
      units.push(charSet(chars.slice(i + 1, end).join('')));
      i = end;
    } else {
      const wanted = char === '\\' && i + 1 < chars.length ? (chars[++i] ?? '') : char;
      units.push({ set: (other) => other === wanted, hints: [wanted], literal: wanted });
    }
  }
  return { units, quick: quickNameMatch(units) };
}

function quickNameMatch(units: readonly Unit[]): NamePattern['quick'] {
  const star = units.findIndex((unit) => 'any' in unit && unit.any === 'many');
  const [before, after] = star === -1 ? [literalOf(units), ''] : [literalOf(units.slice(0, star)), literalOf(units.slice(star + 1))];
  if (before === null || after === null) return null;
  if (star === -1) return (name) => name === before;
  const least = before.length + after.length;
  return (name) => name.length >= least && name.startsWith(before) && name.endsWith(after);
}

/** Null when it is more than a text, or ends inside of a character. */
function literalOf(units: readonly Unit[]): string | null {
  let text = '';
  for (const unit of units) {
    if ('any' in unit || unit.literal === undefined) return null;
    text += unit.literal;
  }
  return text.isWellFormed() ? text : null;
}

/** Throws a RangeError that says what is wrong. */
export function compileGlob(source: string, options: { ignoreCase?: boolean } = {}): Glob {
  const pattern = options.ignoreCase === true ? source.toLowerCase() : source;
  return {
    source,
    quick: quickMatch(pattern),
    alternatives: expandBraces(pattern).map((alternative) =>
      alternative
        .split('/')
        .filter((s, i, all) => s !== '' || i === 0 || i < all.length - 1)
        .map(unitsOf),
    ),
  };
}

const isPlain = (text: string): boolean => !/[*?[\]{}\\]/.test(text);

function quickMatch(pattern: string): Glob['quick'] {
  if (pattern.includes('//') || (pattern.length > 1 && pattern.endsWith('/'))) return null;
  if (pattern === '**' || pattern === '/**') return (path) => path.startsWith('/');
  if (pattern.startsWith('/') && isPlain(pattern)) return (path) => path === pattern;
  const below = pattern.slice(0, -3);
  if (below.startsWith('/') && pattern.endsWith('/**') && isPlain(below)) {
    const inside = `${below}/`;
    return (path) => path === below || path.startsWith(inside);
  }
  const anywhere = pattern.slice(2);
  if (pattern.startsWith('**/') && anywhere.length > 1 && isPlain(anywhere)) return (path) => path.endsWith(anywhere);
  return null;
}

/** Could `units` match a name that the text describes? In `name`, `*` and `?` stand for unknown text when `wild`. */
function segmentMatches(units: readonly Unit[], name: string, wild: boolean): boolean {
  const [first] = units;
  const chars = [...name];
  // A shell's `*` and `?` do not enter names that begin with a dot.
  if (wild && /^[*?]/.test(name) && first !== undefined && 'set' in first && first.set('.') && !first.set('a')) return false;
  // reachable[i]: the units so far can consume the first i characters of the name.
  let reachable = chars.map(() => false).concat(false);
  const spread = (row: boolean[]): boolean[] => {
    // A `*` of the name may stand for nothing.
    if (wild) for (let i = 0; i < chars.length; i++) if (row[i] && chars[i] === '*') row[i + 1] = true;
    return row;
  };
  reachable[0] = true;
  spread(reachable);
  for (const unit of units) {
    const next = reachable.map(() => false);
    for (let i = 0; i <= chars.length; i++) {
      if (!reachable[i]) continue;
      if ('any' in unit && unit.any === 'many') {
        for (let j = i; j <= chars.length; j++) next[j] = true;
        break;
      }
      const char = chars[i];
      if (char === undefined) continue;
      if (wild && char === '*') next[i] = true;
      if ((wild && (char === '*' || char === '?')) || 'any' in unit || unit.set(char)) next[i + 1] = true;
    }
    reachable = spread(next);
  }
  return reachable[chars.length] === true;
}

interface Name {
  readonly text: string;
  /** `*` and `?` in it stand for unknown text. */
  readonly wild: boolean;
}
const namesOf = (path: string): Name[] => path.split('/').map((text) => ({ text, wild: false }));
const unknownNamesOf = (path: string): Name[] =>
  path
    .replaceAll(/\[[^\]/]*\]/g, '?')
    .split('/')
    .map((text) => ({ text, wild: /[*?]/.test(text) }));

const nameMatches = ({ units, quick }: NamePattern, { text, wild }: Name): boolean =>
  quick !== null && !wild ? quick(text) : segmentMatches(units, text, wild);

function matches(pattern: readonly Segment[], names: readonly Name[]): boolean {
  let reachable = names.map(() => false).concat(false);
  reachable[0] = true;
  for (const segment of pattern) {
    const next = reachable.map(() => false);
    for (let i = 0; i <= names.length; i++) {
      if (!reachable[i]) continue;
      if (segment === 'cross') {
        for (let j = i; j <= names.length; j++) next[j] = true;
        break;
      }
      const name = names[i];
      if (name !== undefined && nameMatches(segment, name)) next[i + 1] = true;
    }
    reachable = next;
  }
  return reachable[names.length] === true;
}

/** Does the pattern match this normalised absolute path? */
export const matchesGlob = (glob: Glob, path: string): boolean => firstGlobOf([glob], path) !== undefined;

/** The first pattern that matches it. */
export function firstGlobOf(globs: readonly Glob[], path: string): Glob | undefined {
  let names: readonly Name[] | undefined;
  return globs.find((glob) => {
    if (glob.quick !== null) return glob.quick(path);
    names ??= namesOf(path);
    return matchesSome(glob, names);
  });
}

/** The first pattern that a path could match which `*` and `?` of `path` stand for. */
export function firstGlobThatMayMatch(globs: readonly Glob[], path: string): Glob | undefined {
  const names = unknownNamesOf(path);
  return globs.find((glob) => matchesSome(glob, names));
}

function matchesSome(glob: Glob, names: readonly Name[]): boolean {
  for (const pattern of glob.alternatives) if (matches(pattern, names)) return true;
  return false;
}

/** Does every path that `*` and `?` of `path` stand for match? Each wild segment becomes a name that only a real wildcard matches. */
export const alwaysMatchesGlob = (glob: Glob, path: string): boolean =>
  matchesGlob(
    glob,
    path
      .split('/')
      .map((segment) => (/[*?[]/.test(segment) ? '\u0001' : segment))
      .join('/'),
  );

/** A normalised path that the pattern matches, or null when there is none. */
export function exampleOfGlob(glob: Glob): string | null {
  for (const alternative of glob.alternatives) {
    // A path begins with a slash, so a leading `**` stands for at least the empty name in front of it.
    const names = alternative.map((segment) => (segment === 'cross' ? null : exampleOfSegment(segment.units)));
    const kept = names.filter((name, i) => name !== null || alternative[i] !== 'cross');
    if (kept.some((name) => name === null)) continue;
    const path = (alternative[0] === 'cross' ? `/${kept.join('/')}` : kept.join('/')) || '/';
    const isNormal =
      path === '/' ||
      (path.startsWith('/') &&
        path
          .slice(1)
          .split('/')
          .every((name) => name !== '' && name !== '.' && name !== '..'));
    if (isNormal && matchesGlob(glob, path)) return path;
  }
  return null;
}

function exampleOfSegment(units: readonly Unit[]): string | null {
  let name = '';
  for (const unit of units) {
    const char = 'any' in unit ? 'x' : (unit.hints.find((hint) => hint !== '.' && unit.set(hint)) ?? unit.hints.find(unit.set));
    if (char === undefined || char === '/') return null;
    name += char;
  }
  return name;
}
