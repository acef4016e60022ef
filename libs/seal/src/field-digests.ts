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
  const present = (fields ?? []).flatMap((field) => {
    const value = comparedValue(input, field);
    return value === undefined ? [] : [[field, keys.digest(value)] as const];
  });
  return present.length === 0 ? undefined : Object.fromEntries(present);
}

/** The name under which the files are compared that a call changes. An input has no field of this name that would be looked at. */
const changedFiles = 'changed_files';

const comparedValue = (input: Readonly<Record<string, unknown>>, field: string): unknown =>
  field === changedFiles ? changedFilesOf(input) : Object.hasOwn(input, field) ? input[field] : undefined;

/**
 * Which files a call changes and how, in no order: of its own `file_path` or of each of its `edits`. The whole text of a new file belongs to it; what else
 * a `diff` says comes from the file on disk. What is no list of edits is compared as it is, so that it equals nothing.
 */
function changedFilesOf(input: Readonly<Record<string, unknown>>): unknown {
  const { edits = [], file_path } = input;
  if (!Array.isArray(edits)) return [edits];
  const changes: readonly unknown[] = file_path === undefined ? edits : [input, ...edits];
  const entries = changes.map((change) => {
    if (typeof change !== 'object' || change === null) return JSON.stringify([change]);
    const { file_path: file, change: kind, diff } = change as Record<string, unknown>;
    const text = kind === 'add' && typeof diff === 'string' ? diff.replaceAll('\r\n', '\n') : null;
    return JSON.stringify([file, kind, text]);
  });
  return [...new Set(entries)].sort();
}
