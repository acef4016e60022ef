import { evaluateTrustTier, gateProjection } from './index';

const refused = (tool: string, input: Record<string, unknown>): string | null =>
  evaluateTrustTier('read_only', gateProjection({ tool, input }));

describe('the read-only tier', () => {
  it.each([
    'ls -la',
    'cat a | head -3',
    'git status',
    'git log --oneline -5',
    'git diff HEAD~1',
    'git show HEAD',
    'git branch',
    'git branch -a',
    'git blame a',
    'rg x src',
    'grep -rn x .',
    'cat a 2>/dev/null',
    'cd src && ls',
    'wc -l *.js',
    'pwd',
    'timeout 5 cat a',
    'echo "a; b"',
  ])('reads: %j', (command) => {
    expect(refused('Bash', { command })).toBeNull();
  });
  it.each([
    'rg --pre sh x',
    'git diff --output=x',
    'git log --output x',
    'git branch new',
    'git branch -D x',
    'git branch --edit-description',
    'git',
    'git constructor',
    'constructor name',
    'toString',
    'git diff --ext-diff',
    'git diff --no-index /etc/passwd a',
    'git -c core.pager=x log',
    'git commit',
    'cat /etc/passwd',
    'cat /proc/1/environ',
    'cat ../x',
    'cat a > b',
    'ls; rm x',
    'ls $(rm x)',
    'cat "$X"',
    'ls `x`',
    'node x',
    'sed -i s/a/b/ x',
    'find . -delete',
    'PATH=/x ls',
    './ls',
    'cat < /etc/passwd',
    'tee x',
    'if ls',
    '',
    'cd /etc && cat passwd',
    'cat ~/.ssh/id',
    'env ls',
    'git log $X',
    'cat /dev/tcp/a/1',
    'cat < /dev/tcp/a/1',
    'head -c 5 /etc/shadow',
    'grep -f /etc/passwd a',
    'git -C /etc log',
  ])('refused: %j', (command) => {
    expect(refused('Bash', { command })).toEqual(expect.any(String));
  });
  it.each([
    ['Read', { file_path: '/workspace/a' }],
    ['Glob', { pattern: '**/*.ts' }],
    ['Grep', { pattern: 'x' }],
    ['TodoWrite', {}],
  ])('%s inside the workspace', (tool, input) => {
    expect(refused(tool, input)).toBeNull();
  });
  it.each([
    ['Read', { file_path: '/proc/1/environ' }],
    ['Read', { file_path: '/workspace/../etc/x' }],
    ['Read', { file_path: 7 }],
    ['Glob', { pattern: '/etc/*' }],
    ['Write', { file_path: '/workspace/a' }],
    ['Edit', {}],
    ['WebFetch', {}],
    ['mcp__x__read', {}],
    ['Agent', {}],
    ['Bash', {}],
  ])('never %s %j', (tool, input) => {
    expect(refused(tool, input)).toEqual(expect.any(String));
  });
  it('does not bind a trusted run', () => {
    expect(evaluateTrustTier('trusted', gateProjection({ tool: 'Write', input: {} }))).toBeNull();
  });
});
