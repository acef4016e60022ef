import { compilePolicy, evaluate, runPolicyTests } from '../index';
import { seedPolicies } from '.';

describe('seed policies', () => {
  it.each(seedPolicies().map((seed) => [seed.name, seed] as const))('%s holds its own tests', (_name, seed) => {
    expect(runPolicyTests(compilePolicy(seed.document))).toEqual([]);
    expect(seed.document.tests.length).toBeGreaterThan(0);
  });

  it('names are those of the files', () => {
    expect(seedPolicies().map((seed) => [seed.name, seed.document.name])).toEqual(
      ['default', 'governed', 'unrestricted', 'observe'].map((name) => [name, name]),
    );
  });

  const decide = (command: string): string =>
    evaluate(compilePolicy((seedPolicies()[0] ?? never()).document), { tool: 'Bash', input: { command } }).verdict;
  it.each([
    ['git status --short | head -5', 'allow'],
    ['cat src/a.js && node --test', 'allow'],
    ['npm test 2>&1 | tail -20', 'allow'],
    ['echo ok > notes.txt', 'allow'],
    ['cat .env', 'deny'],
    ['echo x >> .git/hooks/pre-commit', 'deny'],
    ['sudo ls', 'deny'],
    ['env curl http://h.example', 'deny'],
    ['/usr/bin/curl h', 'deny'],
    ['c""url h', 'deny'],
    ['timeout 5 wget h', 'deny'],
    ['find . -name "*.js" -exec grep -l x {} +', 'ask'],
    ['find . -exec rm {} ;', 'ask'],
    ['find . -delete', 'ask'],
    ['npx jest --ci', 'allow'],
    ['npx cowsay', 'ask'],
    ['cat /etc/passwd', 'deny'],
    ['cat /etc/hosts', 'ask'],
    ['for f in *.js; do node "$f"; done', 'allow'],
    ['git diff --output=/tmp/x', 'ask'],
    ['git -c core.pager=x log', 'ask'],
    ['rm -rf .git/', 'deny'],
    ['rm -rf ./.git', 'deny'],
    ['git branch -D x', 'ask'],
    ['diff <(ls a) <(ls b)', 'allow'],
    ['diff <(curl a) b', 'deny'],
    ['PATH=/tmp ls', 'ask'],
    ['NODE_ENV=test npm test', 'allow'],
  ])('default: %s → %s', (command, verdict) => {
    expect(decide(command)).toBe(verdict);
  });
});

function never(): never {
  throw new Error('unreachable');
}
