import { harnesses, type PolicyCheck } from '@fluidbox/contracts';
import { compilePolicy, type FailedTest, lintPolicy, parsePolicy, runPolicyTests } from '@fluidbox/policy';
import { canonicalJson } from '@fluidbox/redaction';
import { sha256Hex } from '@fluidbox/seal';
import type { PolicyParser } from '../app/ports';

/** The names of all tools that a harness of this version offers. */
const offeredTools = [...new Set(Object.values(harnesses).flatMap((harness): readonly string[] => harness.tools))];

/** The policy language, strict, with the document's own tests: a policy that fails them is not published. */
export const policyParser: PolicyParser = {
  parse(source) {
    const parsed = parsePolicy(source);
    if (!parsed.ok)
      return {
        ok: false,
        problems: parsed.problems.map(({ path, line, column, message }) => `${path} (line ${line}, column ${column}) ${message}`),
      };
    const { document, ruleLines, placeOf } = parsed;
    return { ok: true, document, digest: sha256Hex(canonicalJson(document)), ruleLines, namePlace: placeOf(['name']) };
  },
  failedTests: (document) => runPolicyTests(compilePolicy(document)).map(describeFailure),
  check: checkSource,
};

const describeFailure = ({ index, expected, got, reason }: FailedTest): string =>
  `tests[${index}] expects ${expected} but the policy says ${got}: ${reason}`;

function checkSource(source: string): PolicyCheck {
  const parsed = parsePolicy(source);
  if (!parsed.ok) return { ok: false, problems: [...parsed.problems], findings: [], failed_tests: [] };
  const failed = runPolicyTests(compilePolicy(parsed.document, parsed.ruleLines));
  return {
    ok: failed.length === 0,
    problems: [],
    findings: lintPolicy(parsed, { tools: offeredTools }),
    failed_tests: failed.map((test) => ({ ...test, line: parsed.placeOf(['tests', test.index]).line })),
  };
}
