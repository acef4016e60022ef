import { budgetsOfPolicy, defaultBudgets, PolicyDocument } from '@fluidbox/contracts';
import {
  compilePolicy,
  evaluate,
  evaluateProjection,
  explain,
  gateProjection,
  parsePolicy,
  rewriteForAutonomy,
  runPolicyTests,
} from './index';
import { bash, bashPolicy, policyOf } from './policy.fixture';
import { seedPolicies } from './seeds';

const problems = (source: string) => {
  const parsed = parsePolicy(source);
  return parsed.ok ? [] : parsed.problems;
};
const accepted = (source: string) => {
  const parsed = parsePolicy(source);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed;
};

describe('a document', () => {
  it('may be JSON, and gets every default', () => {
    const { document } = accepted('{"name":"x"}');
    expect(document).toMatchObject({
      mode: 'enforce',
      coverage: 'enforce',
      defaults: { tool_action: 'ask' },
      approvals: { default_ttl_secs: 600, timeout_action: 'deny' },
      autonomy: { permitted: true, on_approval_rule: 'deny' },
    });
    expect(budgetsOfPolicy(document)).toEqual(defaultBudgets);
  });
  it('parses its own frozen form to itself', () => {
    for (const { document } of seedPolicies()) expect(PolicyDocument.parse(JSON.parse(JSON.stringify(document)))).toEqual(document);
  });
  it('a partial budgets block keeps the caps it leaves out; null lifts one', () => {
    expect(budgetsOfPolicy(accepted('name: x\nbudgets: { max_cost_usd: 1, max_tokens: null }').document)).toEqual({
      ...defaultBudgets,
      max_cost_micro_usd: 1_000_000,
      max_tokens: null,
    });
  });
  it('takes the old spellings', () => {
    const { document } = accepted(
      'name: x\ndefaults: { tool_action: approve }\ntools: [{ match: [Bash], action: approve, shell: { allow_prefixes: [ls], on_no_match: approve } }]',
    );
    expect(document.defaults.tool_action).toBe('ask');
    expect(document.tools[0]).toMatchObject({ action: 'ask', shell: { allow: ['ls'], on_no_match: 'ask' } });
  });
  it('remembers the line of each rule', () => {
    const { document, ruleLines } = accepted(
      'name: x\ntools:\n  - match: [Read]\n    action: allow\n  - { match: [Bash], action: deny }\n',
    );
    expect(ruleLines).toEqual([3, 5]);
    expect(evaluate(compilePolicy(document, ruleLines), { tool: 'Bash', input: { command: 'ls' } })).toMatchObject({
      verdict: 'deny',
      ruleIndex: 1,
      ruleLine: 5,
    });
  });

  it('takes each guard alone', () => {
    for (const guard of ['same_call', 'denials', 'idle_model_calls'] as const)
      expect(accepted(`name: x\nguards: { ${guard}: 20 }`).document.guards[guard]).toBe(20);
  });

  it.each([
    ['two names', 'name: x\nname: y', '(document)'],
    ['an alias', 'name: &a x\nmode: *a', '(document)'],
    ['a tag', 'name: !!js x', '(document)'],
    ['two documents', 'name: x\n---\nname: y', '(document)'],
    ['broken YAML', 'name: [', '(document)'],
    ['a list', '- 1', '(document)'],
    ['nothing', '', '(document)'],
    ['a number too large', 'name: x\nbudgets: { max_tokens: 1e400 }', 'budgets.max_tokens'],
    ['NaN', 'name: x\nbudgets: { max_cost_usd: .nan }', 'budgets.max_cost_usd'],
    ['a wrong type', 'name: x\ntools: 3', 'tools'],
    ['no matcher', 'name: x\ntools: [{ match: [], action: allow }]', 'tools[0].match'],
    ['a star in the middle', 'name: x\ntools: [{ match: ["a*b"], action: allow }]', 'tools[0].match[0]'],
    ['an unknown action', 'name: x\ntools: [{ match: [a], action: permit }]', 'tools[0].action'],
    ['a reserved name', 'name: clone', 'name'],
    ['a name with a dot in front', 'name: .x', 'name'],
    [
      'a broken pattern',
      'name: x\ntools: [{ match: [Bash], action: allow, shell: { deny_regex: ["("] } }]',
      'tools[0].shell.deny_regex[0]',
    ],
    [
      'a look-behind',
      'name: x\ntools: [{ match: [Bash], action: allow, shell: { deny_regex: ["(?<=a)b"] } }]',
      'tools[0].shell.deny_regex[0]',
    ],
    [
      'a list of commands as one entry',
      'name: x\ntools: [{ match: [Bash], action: allow, shell: { deny: ["rm; ls"] } }]',
      'tools[0].shell.deny[0]',
    ],
    ['a dynamic entry', 'name: x\ntools: [{ match: [Bash], action: allow, shell: { allow: ["$X"] } }]', 'tools[0].shell.allow[0]'],
    ['a relative glob', 'name: x\ntools: [{ match: [Edit], action: allow, paths: { deny: [".env"] } }]', 'tools[0].paths.deny[0]'],
    [
      'a climbing glob',
      'name: x\ntools: [{ match: [Edit], action: allow, paths: { allow: ["/workspace/../x"] } }]',
      'tools[0].paths.allow[0]',
    ],
    ['an empty paths block', 'name: x\ntools: [{ match: [Edit], action: allow, paths: {} }]', 'tools[0].paths'],
    ['a timeout that approves', 'name: x\napprovals: { timeout_action: allow }', 'approvals.timeout_action'],
    ['a network that does not exist', 'name: x\nnetwork: { max_mode: public }', 'network.max_mode'],
    ['a history without conditions', 'name: x\ntools: [{ match: [Bash], action: allow, history: {} }]', 'tools[0].history'],
    [
      'a history that cannot matter',
      'name: x\ntools: [{ match: [Bash], action: deny, history: { count: { max: 3 } } }]',
      'tools[0].history',
    ],
    [
      'a history of commands of a tool that has none',
      'name: x\ntools: [{ match: [Bash], action: ask, history: { requires: { tool: Read, command: ls } } }]',
      'tools[0].history.requires.command',
    ],
    [
      'a history of a tool with a * inside',
      'name: x\ntools: [{ match: [Bash], action: ask, history: { forbid_after: { tool: "a*b" } } }]',
      'tools[0].history.forbid_after.tool',
    ],
    [
      'a history of a command that is none',
      'name: x\ntools: [{ match: [Bash], action: ask, history: { requires: { tool: Bash, command: "a; b" } } }]',
      'tools[0].history.requires.command',
    ],
    [
      'a longer history than is kept',
      'name: x\ntools: [{ match: [Bash], action: ask, history: { rate: { max: 1001, per_secs: 1 } } }]',
      'tools[0].history.rate.max',
    ],
    [
      'more history conditions than a call can name',
      `name: x\ntools: [${'{ match: [a], action: allow, history: { count: { max: 1 }, rate: { max: 1, per_secs: 1 } } },'.repeat(65)}]`,
      'tools',
    ],
    ['a third person', 'name: x\npublish: { second_person: sometimes }', 'publish.second_person'],
    ['a guard that would stop everything', 'name: x\nguards: { idle_model_calls: 0 }', 'guards.idle_model_calls'],
    ['NUL', 'name: x\ntools: [{ match: ["a\\0"], action: allow }]', 'tools[0].match[0]'],
    ['a long string', `name: x\ntools: [{ match: [${'a'.repeat(1025)}], action: allow }]`, 'tools[0].match[0]'],
    [
      'a bad pointer',
      'name: x\ntools: [{ match: [a], action: allow, when: { args: { repo: { equals: 1 } } } }]',
      'tools[0].when.args.repo',
    ],
    [
      'a brace bomb',
      `name: x\ntools: [{ match: [Edit], action: allow, paths: { deny: ["/${'{a,b}'.repeat(8)}"] } }]`,
      'tools[0].paths.deny[0]',
    ],
    ['too many rules', `name: x\ntools: [${'{ match: [a], action: allow },'.repeat(513)}]`, 'tools'],
    ['too large a text', `name: x\n#${'x'.repeat(300_000)}`, '(document)'],
  ])('is refused for %s', (_what, source, path) => {
    expect(problems(source)[0]).toMatchObject({ path, line: expect.any(Number), message: expect.stringMatching(/./) });
  });
});

describe('rules', () => {
  it('the first rule whose match and condition hold decides', () => {
    const policy = policyOf({
      tools: [
        { match: ['mcp__gh__*'], action: 'allow', when: { args: { '/repo': { glob: 'acme/*' }, '/draft': { equals: true } } } },
        { match: ['mcp__*'], action: 'deny' },
      ],
    });
    expect(evaluate(policy, { tool: 'mcp__gh__pr', input: { repo: 'acme/a', draft: true } })).toMatchObject({
      verdict: 'allow',
      ruleIndex: 0,
    });
    for (const input of [
      { repo: 'acme/a/b', draft: true },
      { repo: 'evil/a', draft: true },
      { repo: 'acme/a' },
      {},
      { repo: ['acme/a'], draft: true },
    ])
      expect(evaluate(policy, { tool: 'mcp__gh__pr', input })).toMatchObject({ verdict: 'deny', ruleIndex: 1 });
  });
  it('a tool that no rule names gets the default', () => {
    expect(evaluate(policyOf({ defaults: { tool_action: 'deny' } }), { tool: 'X', input: {} })).toMatchObject({
      verdict: 'deny',
      ruleIndex: null,
    });
  });
  it('`action` is the most a rule gives', () => {
    expect(bash(bashPolicy({ allow: ['ls'] }, { action: 'ask' }), 'ls').verdict).toBe('ask');
    expect(bash(bashPolicy({ allow: ['ls'] }), 'ls').verdict).toBe('allow');
  });
  it('a rule with a shell block keeps its paths, and one without judges paths of commands, too', () => {
    const paths = { allow: ['/workspace/**'], deny: ['**/.env'] };
    expect(bash(bashPolicy({ allow: ['cat'] }, { paths }), 'cat .env').verdict).toBe('deny');
    expect(bash(policyOf({ tools: [{ match: ['Bash'], action: 'allow', paths }] }), 'cat .env').verdict).toBe('deny');
    expect(bash(policyOf({ tools: [{ match: ['Bash'], action: 'allow', paths }] }), 'cat a').verdict).toBe('allow');
  });
  it('files that come beside a command are judged by the paths of its rule', () => {
    const policy = bashPolicy({ allow: ['apply_patch'] }, { paths: { allow: ['/workspace/**'], deny: ['**/.env'] } });
    const patch = (...files: unknown[]) =>
      evaluate(policy, { tool: 'Bash', input: { command: 'apply_patch', edits: files.map((file_path) => ({ file_path })) } }).verdict;
    expect(patch('/workspace/a', 'b')).toBe('allow');
    expect(patch('/workspace/a', '/workspace/.env')).toBe('deny');
    expect(patch('/etc/x')).toBe('ask');
    expect(patch(7)).toBe('ask');
    expect(patch()).toBe('allow');
  });
  it('a path rule asks when there is no path, or one that cannot be read', () => {
    const edit = policyOf({ tools: [{ match: ['*'], action: 'allow', paths: { deny: ['**/.env'] } }] });
    for (const input of [
      {},
      { file_path: 3 },
      { file_path: '' },
      { file_path: ['a'] },
      { file_path: '~/x' },
      { file_path: 'file:///etc/x' },
    ])
      expect(evaluate(edit, { tool: 'Edit', input }).verdict).toBe('ask');
    expect(evaluate(edit, { tool: 'Edit', input: { file_path: 'a' } }).verdict).toBe('allow');
  });
  it.each([
    ['Read', { file_path: '/workspace//a/../b' }, 'allow'],
    ['Read', { file_path: '../etc/passwd' }, 'ask'],
    ['Glob', { pattern: '**/*.ts' }, 'allow'],
    ['Glob', { pattern: '/etc/**' }, 'ask'],
    ['Glob', { pattern: '*/../../x' }, 'ask'],
    ['Grep', { pattern: 'x' }, 'allow'],
    ['Grep', { pattern: 'x', path: '/etc' }, 'ask'],
  ])('%s %j → %s', (tool, input, verdict) => {
    expect(
      evaluate(policyOf({ tools: [{ match: ['*'], action: 'allow', paths: { allow: ['/workspace/**'] } }] }), { tool, input }).verdict,
    ).toBe(verdict);
  });
  it('what the runner found behind a symlink is judged beside the path as written', () => {
    const policy = policyOf({ tools: [{ match: ['Write'], action: 'allow', paths: { allow: ['/workspace/**'] } }] });
    const call = { tool: 'Write', input: { file_path: '/workspace/link' } };
    expect(evaluate(policy, { ...call, resolvedPaths: ['/etc/passwd'] }).verdict).toBe('ask');
    expect(evaluate(policy, { ...call, resolvedPaths: ['/workspace/real'] }).verdict).toBe('allow');
  });
  it('mended input, a missing command and a redaction mark are never allowed', () => {
    const open = policyOf({ defaults: { tool_action: 'allow' } });
    expect(evaluate(open, { tool: 'Write', input: {}, mended: true }).verdict).toBe('ask');
    expect(evaluate(open, { tool: 'Bash', input: { command: ['ls'] } }).verdict).toBe('ask');
    expect(evaluate(open, { tool: 'Write', input: {} }).verdict).toBe('allow');
    for (const command of ['‹redacted› x', 'deploy ‹redacted›'])
      expect(bash(bashPolicy({ allow: ['deploy now', 'x'] }), command).verdict).toBe('ask');
  });
  it('a recorded projection whose secrets were marked is never allowed by what the mark stands for', () => {
    const paths = { allow: ['/workspace/**'], deny: [] };
    const policy = bashPolicy({ allow: ['deploy now', 'cat'], on_no_match: 'allow' }, { paths });
    const marked = (command: string) =>
      JSON.parse(JSON.stringify(gateProjection({ tool: 'Bash', input: { command } })).replaceAll('SECRET', '‹redacted›'));
    expect(evaluateProjection(policy, marked('cat /workspace/SECRET')).verdict).toBe('ask');
    expect(evaluateProjection(policy, marked('SECRET x')).verdict).toBe('ask');
    expect(evaluateProjection(policy, marked('cat /workspace/a')).verdict).toBe('allow');
  });
  it('grants of one tool never fit another', () => {
    const policy = policyOf({});
    expect(evaluate(policy, { tool: 'Bash', input: { command: 'Write' } }).scopeKey).toBe('Bash:Write');
    expect(evaluate(policy, { tool: 'Write', input: {} }).scopeKey).toBe('Write');
  });
  it('carries what an approval needs', () => {
    const policy = policyOf({
      approvals: { default_ttl_secs: 60, approvers: 2, exclude_requester: true },
      tools: [
        {
          match: ['Write'],
          action: 'ask',
          approval_ttl_secs: 5,
          approval_scope: 'session',
          reason: 'a write',
          risk: 'high',
          tell_agent: 'wait',
        },
      ],
    });
    expect(evaluate(policy, { tool: 'Write', input: {} })).toMatchObject({
      verdict: 'ask',
      approvalTtlSecs: 5,
      approvalScope: 'session',
      approvers: 2,
      excludeRequester: true,
      risk: 'high',
      tellAgent: 'wait',
      reason: expect.stringContaining('a write'),
    });
    expect(evaluate(policy, { tool: 'X', input: {} })).toMatchObject({ approvalTtlSecs: 60, approvalScope: 'once' });
  });
});

describe('autonomy', () => {
  const asked = (on_autonomous?: 'allow' | 'deny') =>
    evaluate(policyOf({ tools: [{ match: ['X'], action: 'ask', ...(on_autonomous === undefined ? {} : { on_autonomous }) }] }), {
      tool: 'X',
      input: {},
    });
  it('an ask becomes the fallback, and both verdicts are kept', () => {
    expect(rewriteForAutonomy(asked(), 'autonomous')).toMatchObject({
      verdict: 'deny',
      originalVerdict: 'ask',
      reason: expect.stringContaining('nobody is there'),
    });
    expect(rewriteForAutonomy(asked('allow'), 'autonomous')).toMatchObject({ verdict: 'allow', originalVerdict: 'ask' });
  });
  it('leaves everything else alone', () => {
    expect(rewriteForAutonomy(asked(), 'supervised')).toMatchObject({ verdict: 'ask', originalVerdict: null });
    expect(
      rewriteForAutonomy(
        evaluate(policyOf({ defaults: { tool_action: 'deny' }, autonomy: { on_approval_rule: 'allow' } }), { tool: 'X', input: {} }),
        'autonomous',
      ),
    ).toMatchObject({ verdict: 'deny', originalVerdict: null });
  });
});

describe('explain', () => {
  it('names the stage, the rule, why no earlier one took the call, and the change that would allow it', () => {
    const policy = policyOf({
      tools: [
        { match: ['Read'], action: 'allow' },
        { match: ['Bash'], action: 'allow', shell: { allow: ['ls'] } },
      ],
    });
    expect(explain(policy, { tool: 'Bash', input: { command: 'ls && node x.js' } })).toMatchObject({
      stage: 'policy',
      verdict: 'ask',
      rule: { index: 1 },
      passedOver: [{ index: 0, why: 'its match does not name Bash' }],
      toAllow: 'add "node x.js" to tools[1].shell.allow',
    });
    expect(explain(policy, { tool: 'Bash', input: { command: 'ls' } }).toAllow).toBeNull();
    expect(explain(policy, { tool: 'Write', input: {} }, 'read_only')).toMatchObject({
      stage: 'trust_tier',
      verdict: 'deny',
      toAllow: null,
    });
  });
});

it('a failing test of a document is named', () => {
  const { document } = accepted(
    'name: x\ntests:\n  - { tool: Bash, input: { command: ls }, expect: allow }\n  - { tool: Bash, input: { command: ls }, expect: ask }',
  );
  expect(runPolicyTests(compilePolicy(document))).toMatchObject([{ index: 0, expected: 'allow', got: 'ask' }]);
});
