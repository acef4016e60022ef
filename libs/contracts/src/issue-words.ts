import type { z } from 'zod';

type Issue = z.core.$ZodIssue;
/** What the kinds of value are called. */
export type Kinds = Readonly<Record<string, string>>;

export const jsonKinds: Kinds = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

/** What is wrong in words for whoever wrote the value; what a schema says in its own words already stays. */
export function issueWords(issue: Issue, kinds: Kinds): string {
  const [cause] = issue.code === 'invalid_key' ? issue.issues : [];
  if (cause !== undefined) return issueWords(cause, kinds);
  if ((issue.code === 'too_small' || issue.code === 'too_big') && issue.message.startsWith('Too ')) return boundWords(issue);
  if (issue.code !== 'invalid_type' || !issue.message.startsWith('Invalid input')) return issue.message;
  const kind = kinds[issue.expected] ?? issue.expected;
  return issue.message.endsWith('received undefined') ? `is missing: must be ${kind}` : `must be ${kind}`;
}

function boundWords(issue: Extract<Issue, { code: 'too_small' | 'too_big' }>): string {
  const what = issue.origin === 'array' ? ' entries' : issue.origin === 'string' ? ' characters' : '';
  const bound = issue.code === 'too_small' ? issue.minimum : issue.maximum;
  const edge = issue.code === 'too_small' ? (issue.inclusive === false ? 'more than' : 'at least') : 'at most';
  return `must ${what === '' ? 'be' : 'have'} ${edge} ${bound}${what}`;
}
