import type { Verdict } from '@fluidbox/contracts';
import type { CompiledPolicy } from './compile';
import { evaluate } from './evaluate';
import { noHistory } from './history/judge';

export interface FailedTest {
  readonly index: number;
  readonly expected: Verdict;
  readonly got: Verdict;
  readonly reason: string;
}

/** The document's own tests, each as the first call of a run; an empty answer means that all hold. */
export function runPolicyTests(policy: CompiledPolicy): FailedTest[] {
  return policy.document.tests.flatMap((test, index) => {
    const call = { tool: test.tool, input: test.input, ...(test.cwd === undefined ? {} : { cwd: test.cwd }) };
    const verdict = evaluate(policy, call, noHistory);
    return verdict.verdict === test.expect ? [] : [{ index, expected: test.expect, got: verdict.verdict, reason: verdict.reason }];
  });
}
