import path from 'node:path';
import { harnesses } from '@fluidbox/contracts';

export type ToolInput = Record<string, unknown>;

export interface CanonicalCall {
  readonly tool: string;
  readonly input: ToolInput;
}

/** Which field of which tool names a file. */
const pathFields: Readonly<Record<string, string>> = {
  Read: 'file_path',
  Edit: 'file_path',
  Write: 'file_path',
  NotebookEdit: 'notebook_path',
  Glob: 'path',
  Grep: 'path',
  LS: 'path',
};

const { toolNames } = harnesses['claude-agent-sdk'];
const canonicalNames: ReadonlyMap<string, string> = new Map(Object.entries(toolNames));

export const canonicalTool = (tool: string): string => canonicalNames.get(tool) ?? tool;

/**
 * The program's own name and input in the canonical vocabulary. Paths become absolute the way the program itself would read
 * them (trimmed, NFC, `~` = its home), and the result is also what is handed back to run: the file that was judged is the
 * file that is touched, wherever a `cd` has moved the program meanwhile.
 */
export function toCanonical(tool: string, input: ToolInput, workspace: string, home: string): CanonicalCall {
  const name = canonicalTool(tool);
  const field = pathFields[name];
  const value = field === undefined ? undefined : input[field];
  if (field === undefined || typeof value !== 'string') return { tool: name, input };
  return { tool: name, input: { ...input, [field]: absolutePath(value, workspace, home) } };
}

function absolutePath(value: string, workspace: string, home: string): string {
  const text = value.trim().normalize('NFC');
  if (text === '') return text;
  if (text === '~' || text.startsWith('~/')) return path.posix.join(home, text.slice(1));
  return path.posix.resolve(workspace, text);
}
