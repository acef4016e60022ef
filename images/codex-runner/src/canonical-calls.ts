import path from 'node:path';
import type { FileChange } from './protocol';
import { quoted } from './shell-words';

export interface CanonicalCall {
  readonly tool: 'Bash' | 'Edit';
  readonly input: Record<string, unknown>;
}

/**
 * A command as it will run. The program can start it in any directory, and policy reads relative paths from the workspace: another directory is said
 * the way a shell would say it, on a line of its own so that it changes nothing else in the script.
 */
export function commandCall(script: string, cwd: string | null, workspace: string): CanonicalCall {
  return { tool: 'Bash', input: { command: inDirectory(script, cwd, workspace) } };
}

function inDirectory(script: string, cwd: string | null, workspace: string): string {
  const directory = path.posix.resolve(workspace, cwd ?? workspace);
  return directory === workspace ? script : `cd ${quoted(directory)}\n${script}`;
}

/** One entry of `edits` per path that is written. A move writes two: what disappears and what appears. */
interface Edit {
  readonly file_path: string;
  readonly change: 'add' | 'delete' | 'update' | 'move_from' | 'move_to';
  readonly diff: string;
}

/** A patch is one call however many files it changes, because the model made one call; policy judges every path of it. */
export function patchCall(changes: readonly FileChange[], workspace: string): CanonicalCall {
  const edits = editsOf(changes, workspace);
  const [only] = edits;
  return { tool: 'Edit', input: only !== undefined && edits.length === 1 ? { ...only } : { edits } };
}

/** A patch that the model wrote as a command (`apply_patch <<EOF`): decided as the command that it emitted, with the paths of the patch beside it. */
export function patchCommandCall(script: string, cwd: string | null, changes: readonly FileChange[], workspace: string): CanonicalCall {
  return { tool: 'Bash', input: { command: inDirectory(script, cwd, workspace), edits: editsOf(changes, workspace) } };
}

function editsOf(changes: readonly FileChange[], workspace: string): Edit[] {
  const absolute = (file: string): string => path.posix.resolve(workspace, file);
  return changes.flatMap(({ path: file, kind, diff }): Edit[] =>
    kind.type === 'update' && typeof kind.move_path === 'string'
      ? [
          { file_path: absolute(file), change: 'move_from', diff },
          { file_path: absolute(kind.move_path), change: 'move_to', diff },
        ]
      : [{ file_path: absolute(file), change: kind.type, diff }],
  );
}
