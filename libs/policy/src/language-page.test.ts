import fs from 'node:fs';
import path from 'node:path';
import { PolicyDocument, PolicyRule } from '@fluidbox/contracts';
import { compilePolicy } from './compile';
import { parsePolicy } from './document';
import { runPolicyTests } from './run-tests';
import { seedPolicies } from './seeds';

const page = fs.readFileSync(path.join(__dirname, '../docs/language.md'), 'utf8');
const firstCells = [...page.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell]) => cell ?? '').join(' ');

describe('the page of the language', () => {
  it('has an example that is valid and passes its own tests', () => {
    const parsed = parsePolicy(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    expect(parsed.document.tests.length).toBeGreaterThan(0);
    expect(runPolicyTests(compilePolicy(parsed.document, parsed.ruleLines))).toEqual([]);
  });

  it('names every key and every seed', () => {
    const keys = [...Object.keys(PolicyRule.shape), ...Object.keys(PolicyDocument.shape)].filter((key) => key !== 'tools');
    const seeds = seedPolicies().map(({ name }) => name);
    const unsaid = [...keys, ...seeds].filter((word) => !new RegExp(`\`${word}[\`.]`).test(firstCells));
    expect(unsaid).toEqual([]);
  });
});
