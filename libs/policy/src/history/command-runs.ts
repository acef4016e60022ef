import { hazardOf } from '../shell/judge';
import { programOf } from '../shell/options';
import { allowsExactly, type Prefix, reaches } from '../shell/prefix';
import { shellChangers } from '../shell/programs/builtins';
import { isSensitiveName } from '../shell/programs/sensitive-names';
import type { ShellCommand, ShellTree } from '../shell/tree';

/**
 * Did a call of this line run the command for sure, so that the exit status which the runner reported speaks of it? Only in a line
 * of plain commands joined by `&&`: success of the line is success of each, and a failure is the command's own only when it stands
 * alone. `npm test; true`, `npm test | tee log` and `npm test || true` report another command's status and prove nothing.
 */
export function provablyRuns(prefix: Prefix, tree: ShellTree, ok: boolean | null): boolean {
  const { commands, chain = [] } = tree;
  if (tree.unknown !== null || chain.length === 0) return false;
  // A substitution may define nothing and end nothing in the shell around it, but what nobody can read proves nothing.
  if (commands.some((command) => command.unknown !== undefined || command.candidate === true)) return false;
  const certain = ok === true ? chain : ok === false && chain.length > 1 ? [] : chain.slice(0, 1);
  return certain.some(
    (index, position) =>
      chain.slice(0, position).every((before) => leavesShellAlone(commands[before])) &&
      innermost(commands, index).some((command) => isCovered(prefix, command)),
  );
}

/** The command itself and, where wrappers only run what stands behind them, that. */
function innermost(commands: readonly ShellCommand[], index: number): ShellCommand[] {
  const found: ShellCommand[] = [];
  for (let at: number = index; at !== -1; ) {
    const command = commands[at];
    if (command === undefined) break;
    found.push(command);
    const outer = at;
    at = command.transparent === true ? commands.findIndex((inner) => inner.within === outer && inner.role === 'wrapped') : -1;
  }
  return found;
}

/** As an allow would: no assignment that changes what runs, no option that makes it run something else. */
const isCovered = (prefix: Prefix, command: ShellCommand): boolean =>
  allowsExactly(prefix, command) && !command.assignments.some(isSensitiveName) && hazardOf(command, prefix) === null;

/** `exit 0 && npm test` never gets there, `source f && npm test` may have made npm something else. */
function leavesShellAlone(command: ShellCommand | undefined): boolean {
  if (command === undefined || command.assignments.some(isSensitiveName)) return false;
  const program = programOf(command.words);
  return program === null || !shellChangers.has(program);
}

/** Could a call of this line have run the command? What cannot be read could. */
export const mayRun = (prefix: Prefix, tree: ShellTree): boolean =>
  tree.unknown !== null || tree.commands.some((command) => command.unknown !== undefined || reaches(prefix, command, null) !== 'no');
