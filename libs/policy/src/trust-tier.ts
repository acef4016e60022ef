import { isHarmlessDevice, type PathUse } from './paths';
import { type GateProjection, isInWorkspace } from './projection';
import { hazardOf } from './shell/judge';
import { argumentsOf, programOf } from './shell/options';
import { readOnlyBranchFlags, readOnlyPrograms } from './shell/programs/read-only';
import { isSensitiveName } from './shell/programs/sensitive-names';
import type { ShellCommand } from './shell/tree';
import { isLiteral } from './shell/word';

export type TrustTier = 'trusted' | 'read_only';

const readers: ReadonlySet<string> = new Set(['Read', 'Glob', 'Grep', 'LS', 'NotebookRead']);
/** They change nothing outside of the agent's own head. */
const bookkeeping: ReadonlySet<string> = new Set(['TodoWrite', 'ToolSearch', 'BashOutput', 'TaskGet', 'TaskList', 'TaskOutput']);

/**
 * The floor under policy and approvals: why this call is refused in the tier, or null. `read_only` is a positive list of reads
 * inside the workspace; nothing approves past it.
 */
export function evaluateTrustTier(tier: TrustTier, projection: GateProjection): string | null {
  if (tier === 'trusted') return null;
  if (projection.mended) return 'the input had NUL or broken characters, and this run may only read';
  if (bookkeeping.has(projection.tool)) return null;
  if (readers.has(projection.tool)) {
    if (projection.unreadablePath !== null)
      return `${projection.unreadablePath} is not a path that can be judged, and this run may only read its workspace`;
    return outsideReason(projection.paths);
  }
  if (projection.tool !== 'Bash') return `${projection.tool} is not a read, and this run may only read`;
  if (projection.shell === null) return 'the call has no readable command, and this run may only read';
  if (projection.shell.unknown !== null) return `${projection.shell.unknown}, and this run may only read`;
  for (const command of projection.shell.commands) {
    const reason = refuse(command);
    if (reason !== null) return `"${command.text.slice(0, 120)}" ${reason}, and this run may only read`;
  }
  return projection.shell.commands.length === 0 ? 'the command line is empty' : null;
}

function outsideReason(paths: readonly PathUse[]): string | null {
  const outside = paths.find((use) => use.certainty === 'unknown' || (!isInWorkspace(use.path) && !isHarmlessDevice(use.path)));
  return outside === undefined ? null : `${outside.path} is outside of the workspace, and this run may only read its workspace`;
}

function refuse(command: ShellCommand): string | null {
  if (command.unknown !== undefined) return `cannot be judged (${command.unknown})`;
  if (command.writes.length > 0) return `writes ${command.writes[0]?.path ?? 'a file'}`;
  if (command.egress.length > 0) return 'opens a network connection';
  const sensitive = command.assignments.find(isSensitiveName);
  if (sensitive !== undefined) return `sets $${sensitive}`;
  if (command.transparent === true || command.words.length === 0) return null;
  const dynamic = command.words.find((word) => word.value === null);
  if (dynamic !== undefined) return `has a word that is only known when it runs (${dynamic.text.slice(0, 60)})`;
  const program = programOf(command.words);
  const named = command.words[0]?.value ?? '';
  if (program === null || (named !== program && named !== `/bin/${program}` && named !== `/usr/bin/${program}`))
    return 'is not a program of the read-only list';
  const allowed = Object.hasOwn(readOnlyPrograms, program) ? readOnlyPrograms[program] : undefined;
  if (allowed === undefined) return 'is not a program of the read-only list';
  const hazard = hazardOf(command, null);
  if (hazard !== null) return hazard;
  const outside = command.paths.find((use) => use.certainty === 'unknown' || (!isInWorkspace(use.path) && !isHarmlessDevice(use.path)));
  if (outside !== undefined) return `touches ${outside.path} outside of the workspace`;
  return allowed === true ? null : refuseSubcommand(command, program, allowed);
}

function refuseSubcommand(
  command: ShellCommand,
  program: string,
  allowed: { readonly [subcommand: string]: 'any' | 'plain' },
): string | null {
  const args = argumentsOf(command.words, program);
  const [subcommand, ...operands] = args.operands.map(({ word }) => word.value ?? '');
  const kind = subcommand !== undefined && Object.hasOwn(allowed, subcommand) ? allowed[subcommand] : undefined;
  if (kind === undefined) return `uses ${program} for more than reading`;
  if (kind === 'any') {
    // Without an index `git diff` compares any two files of the machine.
    return args.flags.has('--no-index') ? 'compares files outside of the repository' : null;
  }
  const flags = command.words
    .slice(1)
    .filter((word) => isLiteral(word) && word.value.startsWith('-'))
    .map((word) => word.value ?? '');
  return operands.length > 0 || flags.some((flag) => !readOnlyBranchFlags.has(flag))
    ? `uses ${program} ${subcommand ?? ''} for more than listing`
    : null;
}
