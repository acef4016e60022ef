import type { CompiledPolicy, CompiledRule } from '../compile';
import type { PolicyVerdict } from '../evaluate';
import type { GateProjection } from '../projection';
import { reaches } from '../shell/prefix';
import type { ShellCommand } from '../shell/tree';
import { hasRedactionMark } from '../shell/word';

/** Is a mark of redaction anywhere in a recorded value? */
function holdsMark(value: unknown): boolean {
  if (typeof value === 'string') return hasRedactionMark(value);
  if (value === null || typeof value !== 'object') return false;
  for (const inner of Object.values(value)) if (holdsMark(inner)) return true;
  return false;
}

/** Asked of every recorded command, so only what a verdict can look at. */
const commandHoldsMark = (command: ShellCommand | undefined): boolean =>
  command !== undefined &&
  (hasRedactionMark(command.text) ||
    command.words.some(({ text, value }) => hasRedactionMark(text) || (value !== null && hasRedactionMark(value))) ||
    command.paths.some((use) => hasRedactionMark(use.path)));

/** Redaction looks at each text by itself: a secret that quotes take apart in the line is marked only in the word that they make. */
export const isMarked = ({ shell, paths, args }: GateProjection): boolean =>
  (shell !== null && (hasRedactionMark(shell.text) || shell.commands.some(commandHoldsMark) || shell.pipelines.some(hasRedactionMark))) ||
  paths.some((use) => hasRedactionMark(use.path)) ||
  holdsMark(args);

/**
 * Could the verdict have been another one for what stood where a mark stands now? Errs on the side of yes. What the policy does not look
 * at (the text of a file, the arguments of a tool without conditions) never counts.
 */
export function dependsOnMark(policy: CompiledPolicy, projection: GateProjection, verdict: PolicyVerdict): boolean {
  const last = verdict.ruleIndex ?? policy.rules.length - 1;
  const asked = policy.rules.slice(0, last + 1).filter((rule) => rule.matchesTool(projection.tool));
  if (asked.some((rule) => Object.keys(rule.rule.when?.args ?? {}).length > 0) && holdsMark(projection.args)) return true;
  const rule = verdict.ruleIndex === null ? null : (policy.rules[verdict.ruleIndex] ?? null);
  if (rule === null || rule.rule.action === 'deny') return false;
  const { shell } = projection;
  // Files may come beside a command, too.
  if (rule.paths !== null && pathsDepend(projection, verdict)) return true;
  if (shell === null) return false;
  if (!hasRedactionMark(shell.text) && !shell.pipelines.some(hasRedactionMark) && !shell.commands.some(commandHoldsMark)) return false;
  return shellDepends(rule, shell.commands, verdict);
}

function pathsDepend({ paths }: GateProjection, { verdict, parts }: PolicyVerdict): boolean {
  if (!paths.some((use) => hasRedactionMark(use.path))) return false;
  return !(verdict === 'deny' && parts.some((part) => part.verdict === 'deny' && !hasRedactionMark(part.command)));
}

function shellDepends(rule: CompiledRule, commands: readonly ShellCommand[], { verdict, parts }: PolicyVerdict): boolean {
  if (verdict === 'deny') return !parts.some((part) => part.verdict === 'deny' && part.node !== null && isSure(rule, commands[part.node]));
  // A pattern reads the text itself.
  if ((rule.shell?.denyPatterns.length ?? 0) > 0) return true;
  return parts.some((part) => part.verdict !== 'allow' && (part.node === null || commandHoldsMark(commands[part.node])));
}

/** Denied whatever stood there: the words that decide are all known. */
const isSure = (rule: CompiledRule, command: ShellCommand | undefined): boolean =>
  command !== undefined &&
  (!commandHoldsMark(command) || [...(rule.shell?.deny.values() ?? [])].flat().some((prefix) => reaches(prefix, command, null) === 'yes'));
