import fc from 'fast-check';
import { compilePolicy } from '../compile';
import { parsePolicy } from '../document';
import { evaluate } from '../evaluate';
import { noHistory } from '../history/judge';
import { diffPolicies } from './diff';

const document = (source: string) => {
  const parsed = parsePolicy(source);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.document;
};
const of = (rest: string) => document(`name: x\n${rest}`);
const diff = (before: string, after: string) => diffPolicies(of(before), of(after));

describe('a diff', () => {
  it('of a document with itself is empty, whatever the layout', () => {
    expect(
      diff(
        'tools: [{ match: [Bash], action: approve, shell: { allow_prefixes: [ls] } }]',
        'tools:\n  - match: [Bash]\n    action: ask\n    shell:\n      allow: ["ls"]\n',
      ),
    ).toEqual({ changes: [], verdicts: [], loosens: false });
  });

  it.each([
    ['a wider default', 'defaults: { tool_action: ask }', 'defaults: { tool_action: allow }', 'defaults.tool_action', 'loosens'],
    ['a stricter default', 'defaults: { tool_action: ask }', 'defaults: { tool_action: deny }', 'defaults.tool_action', 'narrows'],
    ['a higher budget', 'budgets: { max_tool_calls: 5 }', 'budgets: { max_tool_calls: 6 }', 'budgets.max_tool_calls', 'loosens'],
    ['a lifted budget', 'budgets: { max_tool_calls: 5 }', 'budgets: { max_tool_calls: null }', 'budgets.max_tool_calls', 'loosens'],
    ['a new budget', 'budgets: { max_tool_calls: null }', 'budgets: { max_tool_calls: 9 }', 'budgets.max_tool_calls', 'narrows'],
    ['observing', 'mode: enforce', 'mode: observe', 'mode', 'loosens'],
    ['fewer approvers', 'approvals: { approvers: 2 }', 'approvals: { approvers: 1 }', 'approvals.approvers', 'loosens'],
    ['more approvers', 'approvals: { approvers: 1 }', 'approvals: { approvers: 2 }', 'approvals.approvers', 'narrows'],
    [
      'an allow entry',
      'tools: [{ match: [Bash], action: allow, shell: { allow: [ls] } }]',
      'tools: [{ match: [Bash], action: allow, shell: { allow: [ls, rm] } }]',
      'tools[0].shell.allow',
      'loosens',
    ],
    [
      'a deny entry',
      'tools: [{ match: [Bash], action: allow, shell: { allow: [ls] } }]',
      'tools: [{ match: [Bash], action: allow, shell: { allow: [ls], deny: [rm] } }]',
      'tools[0].shell.deny',
      'narrows',
    ],
    [
      'an ask entry where the rest is denied',
      'tools: [{ match: [Bash], action: allow, shell: { allow: [ls], on_no_match: deny } }]',
      'tools: [{ match: [Bash], action: allow, shell: { allow: [ls], ask: [rm], on_no_match: deny } }]',
      'tools[0].shell.ask',
      'unclear',
    ],
    [
      'entries in another order',
      'tools: [{ match: [Bash], action: allow, shell: { allow: [ls, rm] } }]',
      'tools: [{ match: [Bash], action: allow, shell: { allow: [rm, ls] } }]',
      'tools[0].shell.allow',
      'none',
    ],
    ['another action', 'tools: [{ match: [a], action: ask }]', 'tools: [{ match: [a], action: deny }]', 'tools[0].action', 'narrows'],
    ['a rule that denies', 'tools: []', 'tools: [{ match: [a], action: deny }]', 'tools[0]', 'narrows'],
    ['a rule that allows', 'tools: []', 'tools: [{ match: [a], action: allow }]', 'tools[0]', 'unclear'],
    ['a rule less', 'tools: [{ match: [a], action: ask }]', 'tools: []', 'tools[0]', 'unclear'],
    [
      'a path list that opens',
      'tools: [{ match: [a], action: allow, paths: { allow: ["/x/**"], deny: ["/y"] } }]',
      'tools: [{ match: [a], action: allow, paths: { deny: ["/y"] } }]',
      'tools[0].paths.allow',
      'unclear',
    ],
    [
      'a denied path less',
      'tools: [{ match: [a], action: allow, paths: { deny: ["/x", "/y"] } }]',
      'tools: [{ match: [a], action: allow, paths: { deny: ["/y"] } }]',
      'tools[0].paths.deny',
      'loosens',
    ],
    [
      'no history any more',
      'tools: [{ match: [a], action: allow, history: { count: { max: 1 } } }]',
      'tools: [{ match: [a], action: allow }]',
      'tools[0].history',
      'loosens',
    ],
    [
      'no shell block any more',
      'tools: [{ match: [Bash], action: allow, shell: { allow: [ls] } }]',
      'tools: [{ match: [Bash], action: allow }]',
      'tools[0].shell',
      'loosens',
    ],
    [
      'a word for people',
      'tools: [{ match: [a], action: ask }]',
      'tools: [{ match: [a], action: ask, reason: r }]',
      'tools[0].reason',
      'none',
    ],
    [
      'what an ask becomes',
      'tools: [{ match: [a], action: ask }]',
      'tools: [{ match: [a], action: ask, on_autonomous: allow }]',
      'tools[0].on_autonomous',
      'unclear',
    ],
  ])('%s', (_what, before, after, path, effect) => {
    const found = diff(before, after);
    expect(found.changes).toContainEqual(expect.objectContaining({ path, effect, text: expect.stringMatching(/./) }));
    expect(found.loosens).toBe(effect === 'loosens' || effect === 'unclear');
  });

  it('knows a rule that moved', () => {
    const [a, b] = ['{ match: [a], action: ask }', '{ match: ["*"], action: deny }'];
    expect(diff(`tools: [${a}, ${b}]`, `tools: [${b}, ${a}]`).changes).toMatchObject([
      { path: 'tools[1]', change: 'moved', effect: 'unclear' },
    ]);
  });

  it('shows which stored tests of both are decided otherwise now', () => {
    const tools = (action: string) =>
      `tools: [{ match: [a], action: ${action} }]\ntests: [{ tool: a, expect: ${action} }, { tool: b, expect: ask }]`;
    expect(diff(tools('deny'), tools('allow'))).toMatchObject({ verdicts: [{ tool: 'a', before: 'deny', after: 'allow' }], loosens: true });
  });
});

it('what is not called a loosening never lets a call through more easily', () => {
  const entries = fc.uniqueArray(fc.constantFrom('git', 'git push', 'rm', 'ls', 'cat', 'curl'), { maxLength: 3 });
  const globs = fc.uniqueArray(fc.constantFrom('/workspace/**', '/workspace/a', '**/.env', '/tmp/**'), { maxLength: 2 });
  const action = fc.constantFrom('allow', 'ask', 'deny');
  const shell = fc.option(fc.record({ allow: entries, ask: entries, deny: entries, on_no_match: action }), { nil: undefined });
  const paths = fc.option(
    fc.record({ allow: globs, deny: globs }).filter((each) => each.allow.length + each.deny.length > 0),
    { nil: undefined },
  );
  const rule = fc.record({ match: fc.constantFrom(['Bash'], ['Edit'], ['*']), action, shell, paths });
  const policy = fc.record({ defaults: fc.record({ tool_action: action }), tools: fc.array(rule, { maxLength: 2 }) });
  const calls = [
    ...['ls', 'git push -f', 'git log', 'rm -r /tmp/x', 'cat .env', 'curl a > /tmp/b', 'echo x > a', 'cat /etc/x && ls', '$X', 'if'].map(
      (command) => ({ tool: 'Bash', input: { command } }),
    ),
    ...['/workspace/a', '/workspace/.env', '/tmp/x', '/etc/x'].map((file_path) => ({ tool: 'Edit', input: { file_path } })),
    { tool: 'Edit', input: {} },
    { tool: 'Bash', input: {} },
    { tool: 'Other', input: {} },
  ];
  const rank = { allow: 0, ask: 1, deny: 2 };
  /** One small step from the first, so that many pairs only narrow. */
  const changed = fc.tuple(policy, policy, fc.constantFrom('defaults', 'shell', 'paths', 'action', 'rules')).map(([one, other, what]) => {
    if (what === 'defaults') return [one, { ...one, defaults: other.defaults }] as const;
    if (what === 'rules') return [one, { ...one, tools: other.tools }] as const;
    return [
      one,
      { ...one, tools: one.tools.map((each, i) => ({ ...each, [what]: other.tools[i]?.[what as 'shell'] ?? each[what as 'shell'] })) },
    ] as const;
  });
  let narrowing = 0;
  fc.assert(
    fc.property(changed, ([one, other]) => {
      const [before, after] = [one, other].map((each) => document(JSON.stringify({ name: 'x', ...each })));
      if (before === undefined || after === undefined || diffPolicies(before, after).loosens) return;
      narrowing++;
      for (const call of calls) {
        const [old, next] = [before, after].map((each) => evaluate(compilePolicy(each), call, noHistory).verdict);
        expect({ one, other, call, isLooser: rank[next ?? 'allow'] < rank[old ?? 'allow'] }).toEqual({ one, other, call, isLooser: false });
      }
    }),
    { numRuns: 600 },
  );
  expect(narrowing).toBeGreaterThan(60);
});
