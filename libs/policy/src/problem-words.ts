import { issueWords, type Kinds, PolicyDocument } from '@fluidbox/contracts';

type Issue = NonNullable<ReturnType<typeof PolicyDocument.safeParse>['error']>['issues'][number];

/** How the kinds of value are called by whoever writes YAML. */
const kinds: Kinds = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list, such as [a, b]',
  object: 'a block of `key: value`',
  record: 'a block of `key: value`',
};

/** What is wrong in words of the language; what the schema says in its own words already stays. */
export function wordsOf(issue: Issue): string {
  const isNothing = issue.code === 'invalid_type' && issue.path.length === 0 && issue.message.endsWith('received null');
  return isNothing ? 'is empty: a policy has a name and tools' : issueWords(issue, kinds);
}

/** Of a key that the language does not have at this place: a list of rules with one key misspelt says it where the key stands. */
export function unknownKeyWords(path: readonly (string | number)[], key: string): string {
  const meant = nearest(key, keysAt(path));
  return `is not a key of the policy language${meant === undefined ? '' : `; did you mean ${meant}?`}`;
}

/** The part of a schema that leads to the one below it, whatever its kind. */
interface Definition {
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly element?: Schema;
  readonly valueType?: Schema;
  readonly innerType?: Schema;
  readonly in?: Schema;
}
interface Schema {
  readonly def: Definition;
}

const unwrapped = (schema: Schema | undefined): Definition | undefined => {
  let def = schema?.def;
  for (let inner = def?.innerType ?? def?.in; inner !== undefined; inner = def?.innerType ?? def?.in) def = inner.def;
  return def;
};

/** The keys that the language has at a place; none where it has no block. */
function keysAt(path: readonly (string | number)[]): readonly string[] {
  let def = unwrapped(PolicyDocument as Schema);
  for (const part of path) def = unwrapped(typeof part === 'number' ? def?.element : (def?.shape?.[part] ?? def?.valueType));
  return Object.keys(def?.shape ?? {});
}

/** A slip of the hand, one letter in three and two at most, or a name that was left half. */
function nearest(word: string, known: readonly string[]): string | undefined {
  const near = known
    .map((each) => ({ each, distance: word.length > 2 && each.startsWith(word) ? 1 : editDistance(word, each) }))
    .filter(({ each, distance }) => distance <= 2 && distance * 3 <= each.length);
  return near.sort((a, b) => a.distance - b.distance)[0]?.each;
}

/** Letters to insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [line, letter] of [...a].entries()) {
    const next = [line + 1];
    for (let column = 0; column < b.length; column++)
      next.push(Math.min((next[column] ?? 0) + 1, (row[column + 1] ?? 0) + 1, (row[column] ?? 0) + (letter === b[column] ? 0 : 1)));
    row = next;
  }
  return row[b.length] ?? 0;
}
