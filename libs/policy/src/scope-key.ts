import { type GateProjection, isInWorkspace } from './projection';
import type { PartVerdict } from './shell/judge';
import { argumentsOf, grammarOf, programOf } from './shell/options';
import { inlineCode } from './shell/programs/inline-code';
import { isSensitiveName } from './shell/programs/sensitive-names';
import type { ShellCommand } from './shell/tree';
import { couldBeFlag } from './shell/word';

/** Bound of `scope_key` in the timeline. */
const scopeKeyCharsMax = 512;

/**
 * What a "for this run" approval of this call would cover, shown to the approver first: the identity of each command that needs it
 * (program, subcommand, flags; never operands or here-document text), or the tool, always under the tool's name. Null when there
 * is no such identity: then only this one call can be approved.
 */
export function scopeKeyOf(projection: GateProjection, parts: readonly PartVerdict[]): string | null {
  const asked = parts.filter((part) => part.verdict === 'ask');
  if (projection.shell === null) {
    if (asked.some((part) => part.rule === 'unknown')) return null;
    const paths = asked.filter((part) => part.rule.startsWith('paths')).map((part) => part.command);
    return bounded([projection.tool, ...new Set(paths)].join(':'));
  }
  if (projection.shell.unknown !== null || projection.mended) return null;
  const { commands } = projection.shell;
  const judged =
    asked.length > 0
      ? asked.map((part) => (part.node === null ? undefined : commands[part.node]))
      : commands.filter((command) => command.candidate !== true && command.transparent !== true);
  const identities = new Set<string>();
  for (const command of judged) {
    const identity = command === undefined ? null : identityOf(command);
    if (identity === null) return null;
    identities.add(identity);
  }
  return identities.size === 0 ? null : bounded(`${projection.tool}:${[...identities].sort().join(' ; ')}`);
}

const bounded = (key: string): string | null => (key.length > scopeKeyCharsMax ? null : key);

function identityOf(command: ShellCommand): string | null {
  if (command.unknown !== undefined || command.egress.length > 0 || command.assignments.some(isSensitiveName)) return null;
  if (command.writes.some((use) => use.certainty !== 'exact')) return null;
  const writes = command.writes.map((use) => `> ${use.path}`);
  const program = programOf(command.words);
  if (program === null) return writes.length === 0 ? null : writes.join(' ');
  const args = argumentsOf(command.words, program);
  // A quoted word behind an option is that option's value; any other that may turn out to be an option leaves the action open.
  if (args.operands.some(({ word, maybeValue }) => couldBeFlag(word) && (word.splits === true || !maybeValue))) return null;
  const code = Object.hasOwn(inlineCode, program) ? (inlineCode[program] ?? []) : [];
  if (code.some((option) => args.flags.has(option) || args.operands.some(({ word }) => word.value === option))) return null;
  const subcommands: string[] = [];
  for (const { word } of args.operands.slice(0, grammarOf(program).subcommands)) {
    if (word.value === null || word.glob === true) return null;
    subcommands.push(word.value);
  }
  // Files outside of the allowed paths are part of what was agreed to.
  const outside = command.paths
    .filter((use) => use.certainty !== 'maybe' && !command.writes.includes(use) && !isInWorkspace(use.path))
    .map((use) => use.path);
  return [
    command.words[0]?.value?.includes('/') === true ? command.words[0].value : program,
    ...subcommands,
    ...[...args.flags].sort(),
    ...outside,
    ...writes,
  ].join(' ');
}
