import { harnesses } from '@fluidbox/contracts';
import fc from 'fast-check';
import { compilePolicy } from '../compile';
import { parsePolicy } from '../document';
import { evaluateProjection } from '../evaluate';
import { compileGlob, exampleOfGlob, matchesGlob } from '../glob';
import { noHistory } from '../history/judge';
import { canMatch } from '../pattern-reach';
import { gateProjection } from '../projection';
import { seedPolicies } from '../seeds';
import { lintPolicy } from './lint';

const lint = (source: string, tools?: readonly string[]) => {
  const parsed = parsePolicy(source);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return lintPolicy(parsed, tools === undefined ? {} : { tools });
};
const ofRules = (rules: string): string => `name: x\ntools:\n${rules}`;

describe('lint finds', () => {
  it.each([
    ['a shadowed rule', '  - { match: [Read, "mcp__*"], action: ask }\n  - { match: [mcp__a], action: allow }', 'shadowed', 'tools[1]', 4],
    ['a rule behind every tool', '  - { match: ["*"], action: ask }\n  - { match: [Read], action: allow }', 'unreachable', 'tools[1]', 4],
    [
      'an allow wider than a later deny',
      '  - { match: ["*"], action: allow }\n  - { match: [Read], action: deny }',
      'deny_after_allow',
      'tools[1]',
      4,
    ],
    [
      'a rule behind one with the same condition',
      '  - { match: [a], action: ask, when: { args: { /r: { equals: 1 } } } }\n  - { match: [a], action: allow, when: { args: { /r: { equals: 1 }, /s: { glob: "x*" } } } }',
      'shadowed',
      'tools[1]',
      4,
    ],
    [
      'a matcher that an earlier rule takes',
      '  - { match: [Read], action: ask }\n  - { match: [Edit, Read], action: allow }',
      'dead_matcher',
      'tools[1].match[1]',
      4,
    ],
    ['a matcher that its own rule names wider', '  - { match: [mcp__a, "mcp__*"], action: ask }', 'dead_matcher', 'tools[0].match[0]', 3],
    ['a matcher twice', '  - { match: [Edit, Edit], action: ask }', 'dead_matcher', 'tools[0].match[1]', 3],
    [
      'an allow that a deny covers',
      '  - { match: [Bash], action: allow, shell: { allow: [git push origin], deny: [git push] } }',
      'dead_entry',
      'tools[0].shell.allow[0]',
      3,
    ],
    [
      'an allow that an ask covers',
      '  - { match: [Bash], action: allow, shell: { allow: [ls, rm -rf], ask: [rm -r] } }',
      'dead_entry',
      'tools[0].shell.allow[1]',
      3,
    ],
    [
      'an ask that a deny covers',
      '  - { match: [Bash], action: allow, shell: { ask: [curl -s], deny: [curl] } }',
      'dead_entry',
      'tools[0].shell.ask[0]',
      3,
    ],
    [
      'an entry that a shorter one covers',
      '  - { match: [Bash], action: allow, shell: { allow: [git status, git] } }',
      'redundant_entry',
      'tools[0].shell.allow[0]',
      3,
    ],
    [
      'an entry twice',
      '  - { match: [Bash], action: allow, shell: { allow: [ls -la, ls -la] } }',
      'redundant_entry',
      'tools[0].shell.allow[1]',
      3,
    ],
    [
      'a block of a rule that denies',
      '  - { match: [Edit], action: deny, paths: { allow: ["/workspace/**"] } }',
      'dead_block',
      'tools[0].paths',
      3,
    ],
    [
      'a shell block without a shell',
      '  - { match: [Edit], action: allow, shell: { allow: [ls] } }',
      'shell_without_shell_tool',
      'tools[0].shell',
      3,
    ],
    [
      'a directory written with a slash',
      '  - { match: [Edit], action: allow, paths: { allow: ["/workspace/"] } }',
      'directory_only',
      'tools[0].paths.allow[0]',
      3,
    ],
    [
      'a path with an empty name',
      '  - { match: [Edit], action: allow, paths: { deny: ["/a//b"] } }',
      'dead_path',
      'tools[0].paths.deny[0]',
      3,
    ],
    [
      'a path that is only dots',
      '  - { match: [Edit], action: allow, paths: { deny: ["/a/[.][.]/b"] } }',
      'dead_path',
      'tools[0].paths.deny[0]',
      3,
    ],
    [
      'an allowed path in a denied one',
      '  - { match: [Edit], action: allow, paths: { allow: ["/a/b/**"], deny: ["/a/**"] } }',
      'dead_entry',
      'tools[0].paths.allow[0]',
      3,
    ],
    [
      'a pattern that never matches',
      '  - { match: [Bash], action: allow, shell: { deny_regex: ["rm$ -rf"] } }',
      'regex_never_matches',
      'tools[0].shell.deny_regex[0]',
      3,
    ],
    [
      'a requirement that the policy denies',
      '  - { match: [Bash], action: allow, shell: { allow: [npm test], deny: [npm] } }\n  - { match: [x], action: ask, history: { requires: { tool: Bash, command: npm test } } }',
      'requires_impossible',
      'tools[1].history.requires',
      4,
    ],
  ])('%s', (_what, rules, code, path, line) => {
    const findings = lint(ofRules(rules));
    expect(findings).toContainEqual(
      expect.objectContaining({ code, path, line, column: expect.any(Number), fix: expect.stringMatching(/./) }),
    );
  });

  it('tools that no rule names, and a name that is nearly one of them', () => {
    const findings = lint(ofRules('  - { match: [WebFecth, Read], action: ask }'), ['Read', 'WebFetch', 'Bash']);
    expect(findings).toMatchObject([
      { code: 'unnamed_tool', severity: 'note', message: expect.stringContaining('WebFetch, Bash') },
      { code: 'misspelt_tool', path: 'tools[0].match[0]', fix: 'write WebFetch' },
    ]);
  });
});

describe('lint says nothing', () => {
  it.each([
    ['of a narrow rule before a wide one', '  - { match: [mcp__a], action: allow }\n  - { match: ["mcp__*"], action: ask }'],
    [
      'of a rule behind a conditional one',
      '  - { match: [a], action: ask, when: { args: { /r: { equals: 1 } } } }\n  - { match: [a], action: allow }',
    ],
    [
      'of another condition',
      '  - { match: [a], action: ask, when: { args: { /r: { equals: 1 } } } }\n  - { match: [a], action: allow, when: { args: { /r: { equals: 2 } } } }',
    ],
    [
      'of a deny inside an allow',
      '  - { match: [Bash], action: allow, shell: { allow: [git], ask: [git push], deny: [git push --force] } }',
    ],
    [
      'of an entry that names what a wrapper runs',
      '  - { match: [Bash], action: allow, shell: { allow: [npx, npx jest, sort, sort -o] } }',
    ],
    [
      'of paths that meet',
      '  - { match: [Edit], action: allow, paths: { allow: ["/workspace/**", "**/.[.a]x", "/**"], deny: ["**/.env", "/workspace/a/**"] } }',
    ],
    [
      'of usual patterns',
      '  - { match: [Bash], action: allow, shell: { deny_regex: ["\\\\bcurl\\\\b", "^rm", "x$", "a\\nb", "(?i)sudo", "^$"] } }',
    ],
    [
      'of a requirement that can be met',
      '  - { match: [Bash], action: allow, shell: { allow: [npm test] } }\n  - { match: [x], action: ask, history: { requires: { tool: Bash, command: npm test } } }',
    ],
  ])('%s', (_what, rules) => {
    expect(lint(ofRules(rules))).toEqual([]);
  });

  it.each(seedPolicies().map(({ name, source }) => [name, source] as const))('but notes of the seed %s', (_name, source) => {
    const tools = Object.values(harnesses).flatMap((harness) => [...harness.tools]);
    expect(lint(source, tools).filter(({ severity }) => severity !== 'note')).toEqual([]);
  });
});

describe('what is reported as without effect is without effect', () => {
  const tool = fc.constantFrom('Read', 'Edit', 'mcp__a', 'mcp__ab', 'mcp__b');
  const matcher = fc.oneof(tool, fc.constantFrom('*', 'mcp__*', 'mcp__a*', 'R*'));
  const when = fc.option(
    fc.dictionary(fc.constantFrom('/a', '/b'), fc.constantFrom({ equals: 1 }, { equals: 2 }, { glob: 'x*' }), {
      minKeys: 1,
      maxKeys: 2,
      noNullPrototype: true,
    }),
    { nil: undefined },
  );
  const rule = fc.record({
    match: fc.array(matcher, { minLength: 1, maxLength: 3 }),
    action: fc.constantFrom('allow', 'ask', 'deny'),
    when,
  });
  const inputs = [{}, { a: 1 }, { a: 2 }, { a: 'xy' }, { a: 1, b: 1 }, { a: 1, b: 'x' }, { b: 2 }];
  const tools = ['Read', 'Edit', 'mcp__a', 'mcp__ab', 'mcp__b', 'Other'];
  const verdicts = (rules: readonly object[]) => {
    const parsed = parsePolicy(JSON.stringify({ name: 'x', tools: rules }));
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const policy = compilePolicy(parsed.document);
    return {
      parsed,
      said: tools.flatMap((name) =>
        inputs.map((input) => evaluateProjection(policy, gateProjection({ tool: name, input }), noHistory).verdict),
      ),
    };
  };

  it('[POLICY-7] a rule, or a matcher of one, can be deleted', () => {
    let reported = 0;
    fc.assert(
      fc.property(fc.array(rule, { minLength: 2, maxLength: 6 }), (written) => {
        const rules = written.map(({ when: args, ...rest }) => (args === undefined ? rest : { ...rest, when: { args } }));
        const { parsed, said } = verdicts(rules);
        for (const { code, path } of lintPolicy(parsed)) {
          const [index = -1, at = -1] = [...path.matchAll(/\[(\d+)\]/g)].map(([, number]) => Number(number));
          const less = ['shadowed', 'unreachable', 'deny_after_allow'].includes(code)
            ? rules.filter((_rule, i) => i !== index)
            : code === 'dead_matcher'
              ? rules.map((each, i) => (i === index ? { ...each, match: each.match.filter((_m, j) => j !== at) } : each))
              : rules;
          if (less !== rules) reported++;
          expect({ rules, path, said: verdicts(less).said }).toEqual({ rules, path, said });
        }
      }),
      { numRuns: 300 },
    );
    expect(reported).toBeGreaterThan(100);
  });

  it('a shell entry can be deleted', () => {
    const entry = fc.constantFrom(
      'git',
      'git push',
      'git push --force',
      'git status',
      'rm',
      'rm -r',
      'rm -rf',
      'ls',
      'ls -la',
      'npx',
      'npx jest',
      'sort',
      'sort -o',
      'cd',
    );
    const list = fc.array(entry, { maxLength: 5 });
    const lines = [
      'git push -f',
      'git push',
      'git status -s',
      'rm -rf x',
      'rm x',
      'ls -la',
      'ls',
      'npx jest',
      'npx cowsay',
      'sort -o f',
      'sort f',
      'cd a && rm -r b',
      'sudo rm -rf x',
      'git',
      'git -C x push',
    ];
    let reported = 0;
    const judged = (shell: object) => {
      const parsed = parsePolicy(JSON.stringify({ name: 'x', tools: [{ match: ['Bash'], action: 'allow', shell }] }));
      if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
      const policy = compilePolicy(parsed.document);
      return {
        parsed,
        said: lines.map((command) => evaluateProjection(policy, gateProjection({ tool: 'Bash', input: { command } }), noHistory).verdict),
      };
    };
    fc.assert(
      fc.property(list, list, list, fc.constantFrom('allow', 'ask', 'deny'), (allow, ask, deny, on_no_match) => {
        const shell = { allow, ask, deny, on_no_match };
        const { parsed, said } = judged(shell);
        // A dead entry that an ask or a deny covers may still have covered what it starts; only the redundant ones are free of effect at all.
        for (const { code, path } of lintPolicy(parsed)) {
          const [, list = 'allow', at = '-1'] = /shell\.(\w+)\[(\d+)\]/.exec(path) ?? [];
          if (code !== 'redundant_entry' && code !== 'dead_entry') continue;
          reported++;
          const less = { ...shell, [list]: (shell[list as 'allow'] ?? []).filter((_entry, i) => i !== Number(at)) };
          expect({ shell, path, said: judged(less).said }).toEqual({ shell, path, said });
        }
      }),
      { numRuns: 200 },
    );
    expect(reported).toBeGreaterThan(100);
  });
});

describe('an example of a glob', () => {
  it('is a path that it matches, for every glob that has one', () => {
    const segment = fc.constantFrom('a', '*', '**', '?', '.env', '[ab]', '[!a]', '{a,b}', 'x*y', '\\*', '[a-c]?');
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 4 }), (segments) => {
        const glob = compileGlob(`/${segments.join('/')}`);
        const example = exampleOfGlob(glob);
        expect({ source: glob.source, example, matches: example !== null && matchesGlob(glob, example) }).toEqual({
          source: glob.source,
          example,
          matches: true,
        });
      }),
    );
  });
});

describe('what a pattern can match', () => {
  it.each(['a^b', '$a', '\\b\\B', 'a\\bb', '(?:$)x', 'x\\z.', '[^\\x00-\\x{10FFFF}]', '.^', 'a(?:^|$b)'])('nothing: %s', (source) =>
    expect(canMatch(source)).toBe(false),
  );
  it.each(['', 'a', '^$', '\\bx\\b', 'a\\Bb', '(?m)a$\\nb', '(?m)$\\n^', '[\\s\\S]', '(a|$b)', '\\n\\bx', '(?i)K', 'x*^y', '\\B'])(
    'something: %s',
    (source) => expect(canMatch(source)).toBe(true),
  );
});
