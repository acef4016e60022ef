import type { RunKeys } from './api';

/**
 * Salted digests of single fields of a tool input, by the digest function of the whole input. The gate computes them of what it judged and the facade
 * of what the model asked for (both after mending the agent's text), so that the two can be compared without either input. A field that is not there has
 * no digest; undefined when there is none at all.
 */
export function fieldDigests(
  keys: Pick<RunKeys, 'digest'>,
  input: Readonly<Record<string, unknown>>,
  fields: readonly string[] | undefined,
): Record<string, string> | undefined {
  const present = (fields ?? []).filter((field) => Object.hasOwn(input, field) && input[field] !== undefined);
  return present.length === 0 ? undefined : Object.fromEntries(present.map((field) => [field, keys.digest(input[field])]));
}
