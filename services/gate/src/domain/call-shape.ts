/**
 * What a call must carry to be a call at all, by the canonical names of tools. Without it policy judges nothing (no command, no path) while
 * a runner would still have to act on it. Only required fields stand here: whatever else a tool takes is its harness's matter.
 */
export type RequiredField = 'command' | 'file_path' | 'notebook_path';

interface Shape {
  /** One of these must be there as text that is not empty. */
  readonly oneOf: readonly [RequiredField, ...RequiredField[]];
  /** Or every entry of `edits` names its own file. */
  readonly orInEdits?: true;
}

export const callShapes: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ['Bash', { oneOf: ['command'] }],
  ['Read', { oneOf: ['file_path'] }],
  ['Write', { oneOf: ['file_path'], orInEdits: true }],
  ['Edit', { oneOf: ['file_path'], orInEdits: true }],
  ['MultiEdit', { oneOf: ['file_path'], orInEdits: true }],
  ['NotebookRead', { oneOf: ['file_path', 'notebook_path'] }],
  ['NotebookEdit', { oneOf: ['file_path', 'notebook_path'] }],
]);

/** The field that makes the input no call of this tool, as a pointer and a sentence; null when there is none. */
export function misshapen(tool: string, input: Readonly<Record<string, unknown>>): string | null {
  const shape = callShapes.get(tool);
  if (shape === undefined) return null;
  const given = shape.oneOf.filter((field) => Object.hasOwn(input, field));
  const wrong = given.find((field) => !isText(input[field]));
  if (wrong !== undefined) return `/${wrong}: a ${tool} call needs a ${wrong} that is text and not empty`;
  if (given.length > 0 || (shape.orInEdits === true && everyEditNamesItsFile(input.edits))) return null;
  return `/${shape.oneOf[0]}: a ${tool} call needs a ${shape.oneOf.join(' or ')}`;
}

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';

const everyEditNamesItsFile = (edits: unknown): boolean =>
  Array.isArray(edits) &&
  edits.length > 0 &&
  edits.every((edit: unknown) => edit !== null && typeof edit === 'object' && 'file_path' in edit && isText(edit.file_path));
