import { type CompiledPolicy, compilePolicy, type ParsedPolicy, parsePolicy } from '@fluidbox/policy';
import { CommandFailure } from '../../failure';
import type { Output } from '../../output';
import { plain } from '../../paint';
import { readTextFile } from '../../text-file';

/** Findings of a policy file end a command with this code, so that it can stand in a pull-request check. */
export const findings = 1;

export const readPolicyFile = (file: string): string => readTextFile(file, 'file');

export interface PolicyFile {
  readonly source: string;
  readonly parsed: Extract<ParsedPolicy, { ok: true }>;
  readonly policy: CompiledPolicy;
}

/** A file that has to be valid for what is asked of it; the first problem ends the command. */
export function openPolicyFile(file: string): PolicyFile {
  const source = readPolicyFile(file);
  const parsed = parsePolicy(source);
  if (parsed.ok) return { source, parsed, policy: compilePolicy(parsed.document, parsed.ruleLines) };
  const first = parsed.problems[0];
  throw new CommandFailure(
    `${file}:${first?.line ?? 1}:${first?.column ?? 1} ${first?.path ?? ''} ${first?.message ?? 'is not valid'}`,
    findings,
  );
}

export interface Mark {
  readonly line: number;
  readonly column: number;
}

/** The line of the source, and below it where the trouble begins. */
export function showMarked(source: string, { line, column }: Mark, output: Output): void {
  output.out(output.paint.dim(`  ${plain(source.split('\n')[line - 1] ?? '').slice(0, 240)}`));
  if (column <= 240) output.out(output.paint.red(`  ${' '.repeat(Math.max(0, column - 1))}^`));
}
