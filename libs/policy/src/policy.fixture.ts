import { PolicyDocument, type PolicyDocumentInput } from '@fluidbox/contracts';
import { type CompiledPolicy, compilePolicy } from './compile';
import { evaluate, type PolicyVerdict } from './evaluate';

type Rule = NonNullable<PolicyDocumentInput['tools']>[number];

export const policyOf = (document: Omit<PolicyDocumentInput, 'name'>): CompiledPolicy =>
  compilePolicy(PolicyDocument.parse({ name: 'test', ...document }));

/** A policy of one rule for Bash. */
export const bashPolicy = (shell: NonNullable<Rule['shell']>, more: Partial<Rule> = {}): CompiledPolicy =>
  policyOf({ tools: [{ match: ['Bash'], action: 'allow', shell, ...more }] });

export const bash = (policy: CompiledPolicy, command: string, cwd?: string): PolicyVerdict =>
  evaluate(policy, { tool: 'Bash', input: { command }, ...(cwd === undefined ? {} : { cwd }) });

/** Milliseconds of processor time that the work took: unlike those on the clock, they are the same on a busy machine. */
export function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
