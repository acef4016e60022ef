import { evaluate, parsePolicy } from './index';
import { bash, bashPolicy, cpuMsOf, policyOf } from './policy.fixture';
import { gateProjection } from './projection';
import { evaluateTrustTier } from './trust-tier';

/** Holes that the public engine has by its own account, by their numbers there: each input is one example of its class. */
describe('TRAP 1: a prefix does not carry the rest of the line', () => {
  const policy = bashPolicy({ allow: ['ls', 'pwd'] });
  it.each([
    'ls && make',
    'ls; make',
    'ls & make',
    'ls | make',
    'ls || make',
    'ls\nmake',
    'ls $(make)',
    'ls `make`',
    'pwd && rm -rf x',
    'ls > /tmp/x',
  ])('%j is not allowed', (command) => expect(bash(policy, command).verdict).not.toBe('allow'));
  it.each(['ls && pwd', 'ls; ls -la | ls'])('%j is', (command) => expect(bash(policy, command).verdict).toBe('allow'));
});

describe('TRAP 2: a path is compared after it is resolved', () => {
  const policy = policyOf({ tools: [{ match: ['Edit'], action: 'allow', paths: { allow: ['/workspace/**'], deny: ['**/.env'] } }] });
  const edit = (file_path: string, resolvedPaths?: string[]) =>
    evaluate(policy, { tool: 'Edit', input: { file_path }, ...(resolvedPaths === undefined ? {} : { resolvedPaths }) }).verdict;
  it.each([
    ['/workspace/../etc/x', 'ask'],
    ['../x', 'ask'],
    ['//workspace//a', 'allow'],
    ['/workspace/./a/../b', 'allow'],
    ['/workspace/a/../../workspace2/x', 'ask'],
    ['/workspace/.ENV', 'deny'],
    ['/workspace/sub/../.env', 'deny'],
    ['a', 'allow'],
  ])('%s → %s', (path, verdict) => expect(edit(path)).toBe(verdict));
  it('and so is what the runner found behind a link', () => {
    expect(edit('/workspace/link', ['/etc/passwd'])).toBe('ask');
    expect(edit('/workspace/link', ['/workspace/.env'])).toBe('deny');
    expect(edit('/workspace/link', ['/workspace/a'])).toBe('allow');
  });
});

describe('TRAP 3: a grant for the run covers the action, not the program', () => {
  const policy = bashPolicy({ allow: ['ls'] });
  it.each([
    ['git push', 'git push origin main', true],
    ['git push', 'git status', false],
    ['git push', 'git push && make', false],
    ['git push', 'git push --force', false],
    ['npm install a', 'npm run x', false],
  ])('%s and %s: the same %s', (granted, asked, same) => {
    expect(bash(policy, granted).scopeKey === bash(policy, asked).scopeKey).toBe(same);
  });
});

it('TRAP 4: the key of a grant carries the name of its tool', () => {
  const policy = policyOf({ defaults: { tool_action: 'ask' } });
  const command = evaluate(policy, { tool: 'Bash', input: { command: 'WebFetch' } }).scopeKey;
  const tool = evaluate(policy, { tool: 'WebFetch', input: {} }).scopeKey;
  expect([command, tool]).toEqual(['Bash:WebFetch', 'WebFetch']);
});

describe('TRAP 5: another spelling of a denied command is denied', () => {
  const policy = bashPolicy({ deny: ['curl', 'git push'], deny_regex: ['\\bwget\\b'], on_no_match: 'allow' });
  it.each([
    'A=1 curl x',
    'sudo -u root curl x',
    '"cu"rl x',
    "c'u'rl x",
    'cu\\rl x',
    'curl\\\n x',
    'ls\ncurl x',
    'cat <<E\n$(curl x)\nE',
    '\\curl x',
    '/usr/bin/curl x',
    'git \\\n push',
    'w"get" x',
    'command curl x',
    'env curl x',
  ])('%j', (command) => expect(bash(policy, command).verdict).toBe('deny'));
  it.each(['echo "curl x"', "cat <<'E'\n$(curl x)\nE", 'alias a=curl'])('%j is none', (command) =>
    expect(bash(policy, command).verdict).toBe('allow'),
  );
});

describe('TRAP 6: a call without a path that can be read', () => {
  const rule = (paths: { allow?: string[]; deny?: string[] }) => policyOf({ tools: [{ match: ['Edit'], action: 'allow', paths }] });
  it.each([{ allow: ['/workspace/**'] }, { deny: ['**/.env'] }])('is asked for under %j', (paths) => {
    for (const input of [{}, { file_path: '' }, { file_path: 7 }, { file: '/workspace/a' }, { file_path: 'https://h/x' }])
      expect(evaluate(rule(paths), { tool: 'Edit', input }).verdict).toBe('ask');
    expect(evaluate(rule(paths), { tool: 'Edit', input: { file_path: '/workspace/a' } }).verdict).toBe('allow');
  });
});

describe('[POLICY-3] TRAP 7: no pattern is slow, whatever it meets', () => {
  it.each(['(x+x+)+y', '(a|aa)+$', '^(([a-z])+.)+[A-Z]([a-z])+$', '(.*)*z', '(x?){50}x{50}y'])('%s', (pattern) => {
    const policy = bashPolicy({ allow: ['echo'], deny_regex: [pattern] });
    bash(policy, 'echo warm');
    let decided = bash(policy, 'echo once more');
    const ms = cpuMsOf(() => {
      decided = bash(policy, `echo ${'x'.repeat(15_000)} y${'a'.repeat(500)}!`);
    });
    expect(ms).toBeLessThan(1_500);
    const { verdict, reason } = decided;
    // Where the work would be too much the answer is no, and says why.
    if (verdict === 'deny') expect(reason).toMatch(/denied pattern|too long to be compared/);
  });
  it('and where matching is given up, the answer is no', () => {
    const deny_regex = Array.from({ length: 40 }, (_, i) => `(a|b|c|d){1,60}${i}`);
    const policy = bashPolicy({ allow: ['echo'], deny_regex });
    expect(bash(policy, `echo ${'x'.repeat(15_000)}`)).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('too long to be compared'),
    });
    expect(bash(policy, 'echo x').verdict).toBe('allow');
  });
});

it('TRAP 8: one denied file of many denies the call', () => {
  const policy = policyOf({ tools: [{ match: ['MultiEdit'], action: 'allow', paths: { allow: ['/workspace/**'], deny: ['**/.env'] } }] });
  const edits = ['/workspace/a', '/workspace/.env', '/workspace/b'].map((file_path) => ({ file_path }));
  expect(evaluate(policy, { tool: 'MultiEdit', input: { edits } }).verdict).toBe('deny');
  expect(evaluate(policy, { tool: 'MultiEdit', input: { edits: edits.filter((edit) => !edit.file_path.endsWith('.env')) } }).verdict).toBe(
    'allow',
  );
});

/** Defects of the public one that concern the policy, by their numbers. */
describe('defects', () => {
  const tier = (tool: string, input: Record<string, unknown>) => evaluateTrustTier('read_only', gateProjection({ tool, input }));
  it.each([
    'rg --pre sh x',
    'git diff --output=x',
    'git branch new',
    'git log --output x',
    'git diff --ext-diff',
    'find . -delete',
    'ls > x',
  ])('9, 10: %s is no read', (command) => expect(tier('Bash', { command })).not.toBeNull());
  it.each(['rg x src', 'git diff', 'git branch --list', 'git log -1', 'ls && cat a'])('9, 10: %s is', (command) =>
    expect(tier('Bash', { command })).toBeNull(),
  );
  it.each([
    ['Read', { file_path: '/proc/1/environ' }],
    ['Read', { file_path: '/etc/passwd' }],
    ['Read', { file_path: '/workspace/../etc/x' }],
    ['Bash', { command: 'cat /proc/1/environ' }],
    ['Bash', { command: 'cd / && cat etc/passwd' }],
    ['Glob', { pattern: '/etc/*' }],
  ])('11: %s %j does not stay in the workspace', (tool, input) => expect(tier(tool, input)).not.toBeNull());
  it('11: what does is read', () => expect(tier('Read', { file_path: '/workspace/a' })).toBeNull());
  it.each([
    'require_approvals: true',
    'network: { max_mode: offline, alow: [] }',
    'approvals: { default_ttl: 5 }',
    'tools: [{ match: [a], action: allow, when: { arg: {} } }]',
    'tools: [{ match: [a], action: allow, history: { counts: { max: 1 } } }]',
    'tests: [{ tool: a, expects: allow, expect: allow }]',
  ])('14: a key that nobody knows is refused at every depth: %s', (line) => {
    const parsed = parsePolicy(`name: x\n${line}\n`);
    expect(parsed.ok ? [] : parsed.problems).toContainEqual(
      expect.objectContaining({ line: 2, message: expect.stringMatching(/^is not a key of the policy language/) }),
    );
  });
});
