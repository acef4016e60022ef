import { normalizePath } from '../paths';
import { programOf } from './options';
import { resolvePath } from './path-arguments';
import type { ShellCommand } from './tree';
import { isLiteral, type Word } from './word';

/** Directories a command may run in; null when only the running shell knows. */
export type Bases = readonly string[] | null;
/** Where the shell may stand after a command, by its exit status: `cd x && y` runs y in x, `cd x || y` does not. */
export interface After {
  readonly ok: Bases;
  readonly fail: Bases;
}

const basesMax = 8;
export const union = (a: Bases, b: Bases): Bases => {
  if (a === null || b === null) return null;
  const all = [...new Set([...a, ...b])];
  return all.length > basesMax ? null : all;
};
export const both = (bases: Bases): After => ({ ok: bases, fail: bases });
export const anyway = (after: After): Bases => union(after.ok, after.fail);

export const directoryMovers: ReadonlySet<string> = new Set(['cd', 'pushd', 'popd']);

export function basesFrom(directory: Word, bases: Bases): Bases {
  const uses = resolvePath(directory, 'read', bases);
  return uses.every((use) => use.certainty === 'exact') ? uses.map((use) => use.path) : null;
}

export function afterMoving(command: ShellCommand | undefined, bases: Bases): After {
  if (command === undefined) return both(bases);
  if (command.unknown !== undefined) return both(null);
  const program = programOf(command.words);
  if (program === 'popd') return both(null);
  if (program === 'eval') return both(null);
  if (program === 'source' || program === '.') return both(null);
  if (program !== 'cd' && program !== 'pushd') return both(bases);
  const target = command.words.slice(1).find((word) => !isLiteral(word) || !/^-[LPe@]+$|^--$/.test(word.value));
  if (target === undefined || !isLiteral(target) || target.value === '-' || target.value.startsWith('~') || /^[+-]\d+$/.test(target.value))
    return { ok: null, fail: bases };
  return {
    ok:
      bases === null && !target.value.startsWith('/')
        ? null
        : [...new Set((bases ?? ['/']).map((base) => normalizePath(target.value, base)))],
    fail: bases,
  };
}
