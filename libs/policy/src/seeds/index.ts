import fs from 'node:fs';
import path from 'node:path';
import type { PolicyDocument } from '@fluidbox/contracts';
import { type PolicyProblem, parsePolicy } from '../document';

export interface SeedPolicy {
  readonly name: string;
  readonly source: string;
  readonly document: PolicyDocument;
}

const names = ['default', 'governed', 'unrestricted', 'observe'] as const;

/** The policies a fresh installation starts with, read from the files beside this one (the only I/O of this package). */
export function seedPolicies(): SeedPolicy[] {
  return names.map((name) => {
    const source = fs.readFileSync(path.join(__dirname, `${name}.yaml`), 'utf8');
    const parsed = parsePolicy(source);
    if (!parsed.ok)
      throw new Error(
        `seed policy ${name}.yaml: ${parsed.problems.map((problem: PolicyProblem) => `${problem.path} (line ${problem.line}) ${problem.message}`).join('; ')}`,
      );
    return { name, source, document: parsed.document };
  });
}
