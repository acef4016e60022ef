import { type HarnessId, harnesses } from '@fluidbox/contracts';
import { lintPolicy, parsePolicy, runPolicyTests } from '@fluidbox/policy';
import { exitCodes } from '../../exit-codes';
import type { Output } from '../../output';
import { findings, openPolicyFile, readPolicyFile, showMarked } from './policy-file';

/** Strict parse; each problem with its place, and for people the offending line marked. */
export function validatePolicyFile(file: string, output: Output): number {
  const source = readPolicyFile(file);
  const parsed = parsePolicy(source);
  const problems = parsed.ok ? [] : parsed.problems;
  if (output.json) output.out(JSON.stringify({ ok: parsed.ok, problems }));
  else if (parsed.ok) output.out(`${file}: valid, ${parsed.document.tools.length} rules, ${parsed.document.tests.length} tests`);
  if (!output.json) {
    for (const problem of problems) {
      output.out(`${file}:${problem.line}:${problem.column} ${output.paint.bold(problem.path)} ${problem.message}`);
      showMarked(source, problem, output);
    }
  }
  return parsed.ok ? exitCodes.ok : findings;
}

/** The names of the tools that this harness offers, or any of this version. */
const offeredTools = (harness?: HarnessId): readonly string[] => [
  ...new Set((harness === undefined ? Object.values(harnesses) : [harnesses[harness]]).flatMap(({ tools }): readonly string[] => tools)),
];

/** What the document says without effect. Notes alone are no finding. */
export function lintPolicyFile(file: string, output: Output, harness?: HarnessId): number {
  const { source, parsed } = openPolicyFile(file);
  const found = lintPolicy(parsed, { tools: offeredTools(harness) });
  const isClean = found.every(({ severity }) => severity === 'note');
  if (output.json) {
    output.out(JSON.stringify({ ok: isClean, findings: found }));
    return isClean ? exitCodes.ok : findings;
  }
  const colour = { error: output.paint.red, warning: output.paint.yellow, note: output.paint.dim };
  for (const finding of found) {
    output.out(
      `${file}:${finding.line}:${finding.column} ${colour[finding.severity](`${finding.severity} ${finding.code}`)} ${output.paint.bold(finding.path)} ${finding.message}`,
    );
    showMarked(source, finding, output);
    output.out(`  fix: ${finding.fix}`);
  }
  const count = (severity: string): number => found.filter((finding) => finding.severity === severity).length;
  output.out(`${count('error')} errors, ${count('warning')} warnings, ${count('note')} notes`);
  return isClean ? exitCodes.ok : findings;
}

/** Runs the tests that stand in the document. */
export function testPolicyFile(file: string, output: Output): number {
  const { source, parsed, policy } = openPolicyFile(file);
  const failed = runPolicyTests(policy);
  const total = policy.document.tests.length;
  if (output.json) output.out(JSON.stringify({ tests: total, failed }));
  else {
    for (const { index, expected, got, reason } of failed) {
      const place = parsed.placeOf(['tests', index]);
      output.out(`${file}:${place.line}:${place.column} tests[${index}]: expected ${expected}, got ${output.paint.red(got)}: ${reason}`);
      showMarked(source, place, output);
    }
    output.out(`${total - failed.length} passed, ${failed.length} failed`);
  }
  return failed.length === 0 ? exitCodes.ok : findings;
}
