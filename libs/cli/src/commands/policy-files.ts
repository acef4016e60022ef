import {
  type CompiledPolicy,
  compilePolicy,
  evaluate,
  explain,
  parsePolicy,
  rewriteForAutonomy,
  runPolicyTests,
  type ToolCall,
} from '@fluidbox/policy';
import { z } from 'zod';
import { exitCodes } from '../exit-codes';
import { CommandFailure } from '../failure';
import type { Output } from '../output';
import { oneLine } from '../paint';
import { readTextFile } from '../text-file';

/** Findings of a policy file end a command with this code, so that it can stand in a pull-request check. */
const findings = 1;
const Call = z.strictObject({ tool: z.string().min(1), input: z.record(z.string(), z.unknown()), cwd: z.string().optional() });

const read = (file: string): string => readTextFile(file, 'file');

/** Strict parse; each problem with its place, and for people the offending line marked. */
export function validatePolicyFile(file: string, output: Output): number {
  const source = read(file);
  const parsed = parsePolicy(source);
  const problems = parsed.ok ? [] : parsed.problems;
  if (output.json) output.out(JSON.stringify({ ok: parsed.ok, problems }));
  else if (parsed.ok) output.out(`${file}: valid, ${parsed.document.tools.length} rules, ${parsed.document.tests.length} tests`);
  const lines = source.split('\n');
  if (!output.json) {
    for (const { path, line, column, message } of problems) {
      output.out(`${file}:${line}:${column} ${output.paint.bold(path)} ${message}`);
      output.out(output.paint.dim(`  ${lines[line - 1] ?? ''}`));
      output.out(output.paint.red(`  ${' '.repeat(Math.max(0, column - 1))}^`));
    }
  }
  return parsed.ok ? exitCodes.ok : findings;
}

function compileFile(file: string): CompiledPolicy {
  const parsed = parsePolicy(read(file));
  if (parsed.ok) return compilePolicy(parsed.document, parsed.ruleLines);
  const first = parsed.problems[0];
  throw new CommandFailure(
    `${file}:${first?.line ?? 1}:${first?.column ?? 1} ${first?.path ?? ''} ${first?.message ?? 'is not valid'}`,
    findings,
  );
}

/** Runs the tests that stand in the document. */
export function testPolicyFile(file: string, output: Output): number {
  const policy = compileFile(file);
  const failed = runPolicyTests(policy);
  const total = policy.document.tests.length;
  if (output.json) output.out(JSON.stringify({ tests: total, failed }));
  else {
    for (const { index, expected, got, reason } of failed)
      output.out(`tests[${index}]: expected ${expected}, got ${output.paint.red(got)}: ${reason}`);
    output.out(`${total - failed.length} passed, ${failed.length} failed`);
  }
  return failed.length === 0 ? exitCodes.ok : findings;
}

export interface ExplainOptions {
  readonly policy: string;
  readonly tool?: string;
  readonly input?: Record<string, unknown>;
  readonly cwd?: string;
  readonly calls?: string;
  readonly tier?: 'trusted' | 'read_only';
  readonly autonomous?: boolean;
}

/** What the gate would say to a call under this file, which rule says so, and what would change it. */
export function explainCalls(options: ExplainOptions, output: Output): number {
  const policy = compileFile(options.policy);
  for (const call of callsOf(options)) explainOne(policy, call, options, output);
  return exitCodes.ok;
}

function callsOf({ tool, input, cwd, calls }: ExplainOptions): ToolCall[] {
  if (calls === undefined) {
    if (tool === undefined) throw new CommandFailure('--tool NAME with --input JSON, or --calls FILE', exitCodes.usage);
    return [{ tool, input: input ?? {}, ...(cwd === undefined ? {} : { cwd }) }];
  }
  return read(calls)
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [callOf(line, `${calls}:${index + 1}`)]));
}

function callOf(line: string, place: string): ToolCall {
  try {
    const { tool, input, cwd } = Call.parse(JSON.parse(line));
    return { tool, input, ...(cwd === undefined ? {} : { cwd }) };
  } catch (cause) {
    throw new CommandFailure(`${place}: ${cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause)}`, exitCodes.usage);
  }
}

function explainOne(policy: CompiledPolicy, call: ToolCall, options: ExplainOptions, output: Output): void {
  const said = explain(policy, call, options.tier ?? 'trusted');
  const rewritten = rewriteForAutonomy(evaluate(policy, call), options.autonomous === true ? 'autonomous' : 'supervised');
  const byAutonomy = said.stage === 'policy' && rewritten.originalVerdict !== null;
  const verdict = byAutonomy ? rewritten.verdict : said.verdict;
  const reason = byAutonomy ? rewritten.reason : said.reason;
  const source = byAutonomy ? 'autonomy_rewrite' : said.stage;
  if (output.json) {
    output.out(
      JSON.stringify({ verdict, source, rule: said.rule, reason, parts: said.parts, passedOver: said.passedOver, toAllow: said.toAllow }),
    );
    return;
  }
  const colour = { allow: output.paint.green, ask: output.paint.yellow, deny: output.paint.red };
  output.out(`${colour[verdict](verdict.toUpperCase())} ${output.paint.bold(call.tool)} ${oneLine(JSON.stringify(call.input), 120)}`);
  output.out(`  because  ${reason} ${output.paint.dim(`(${source})`)}`);
  if (said.rule !== null)
    output.out(`  rule     tools[${said.rule.index}]${said.rule.line === null ? '' : `, ${options.policy}:${said.rule.line}`}`);
  for (const { command, verdict: part, rule, reason: why } of said.parts) {
    output.out(`  part     ${colour[part](part.padEnd(5))} ${oneLine(command, 60)} ${output.paint.dim(`${rule}: ${why}`)}`);
  }
  for (const why of new Set(said.passedOver.map((rule) => rule.why))) {
    const rules = said.passedOver.filter((rule) => rule.why === why).map(({ index }) => `tools[${index}]`);
    output.out(output.paint.dim(`  passed   ${rules.join(', ')}: ${why}`));
  }
  if (said.toAllow !== null) output.out(`  to allow ${said.toAllow}`);
}
