import { compilePolicy, type FailedTest, parsePolicy, runPolicyTests } from '@fluidbox/policy';
import { canonicalJson } from '@fluidbox/redaction';
import { sha256Hex } from '@fluidbox/seal';
import type { PolicyParser } from '../app/ports';

/** The policy language, strict, with the document's own tests: a policy that fails them is not published. */
export const policyParser: PolicyParser = {
  parse(source) {
    const parsed = parsePolicy(source);
    if (!parsed.ok)
      return {
        ok: false,
        problems: parsed.problems.map(({ path, line, column, message }) => `${path} (line ${line}, column ${column}) ${message}`),
      };
    return { ok: true, document: parsed.document, digest: sha256Hex(canonicalJson(parsed.document)) };
  },
  failedTests: (document) => runPolicyTests(compilePolicy(document)).map(describeFailure),
};

const describeFailure = ({ index, expected, got, reason }: FailedTest): string =>
  `tests[${index}] expects ${expected} but the policy says ${got}: ${reason}`;
