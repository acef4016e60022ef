import { type CompiledPolicy, compilePolicy, type ParsedPolicy, parsePolicy } from '@fluidbox/policy';
import { CommandFailure } from '../../failure';
import { readNamedText } from '../../named-file';
import type { Output } from '../../output';
import { plain } from '../../paint';

/** Findings of a policy file end a command with this code, so that it can stand in a pull-request check. */
export const findings = 1;

/** Commands on files know nothing of stored policies: whoever names one is told how it becomes a file. */
export function readPolicyFile(file: string): string {
  try {
    return readNamedText(file, 'policy file');
  } catch (cause) {
    if (!(cause instanceof CommandFailure) || /[./]/.test(file)) throw cause;
    throw new CommandFailure(`${cause.message}; a stored policy becomes one with: policy get ${file} > ${file}.yaml`, cause.exitCode);
  }
}

export interface PolicyFile {
  readonly source: string;
  readonly parsed: Extract<ParsedPolicy, { ok: true }>;
  readonly policy: CompiledPolicy;
}

/** A file that has to be valid for what is asked of it; the first problem ends the command, and says how many there are. */
export function openPolicyFile(file: string): PolicyFile {
  const source = readPolicyFile(file);
  const parsed = parsePolicy(source);
  if (parsed.ok) return { source, parsed, policy: compilePolicy(parsed.document, parsed.ruleLines) };
  const [first, ...others] = parsed.problems;
  const more = others.length === 0 ? '' : ` (and ${others.length} more: policy validate ${file})`;
  throw new CommandFailure(
    `${file}:${first?.line ?? 1}:${first?.column ?? 1} ${first?.path ?? ''} ${first?.message ?? 'is not valid'}${more}`,
    findings,
  );
}

const markedCharsMax = 240;

export interface Mark {
  readonly line: number;
  readonly column: number;
}

/** The line of the source, and below it where the trouble begins. */
export function showMarked(source: string, { line, column }: Mark, output: Output): void {
  const marked = plain(source.split('\n')[line - 1] ?? '').slice(0, markedCharsMax);
  if (marked === '') return;
  output.out(output.paint.dim(`  ${marked}`));
  if (column <= markedCharsMax) output.out(output.paint.red(`  ${' '.repeat(Math.max(0, column - 1))}^`));
}
