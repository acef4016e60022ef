import { compileArgumentSchema } from '../arguments/compile-schema';
import { backtest, type RecordedCall } from '../change/backtest';
import { diffPolicies } from '../change/diff';
import { dependsOnMark, isMarked } from '../change/redaction-dependence';
import { type CompiledPolicy, compilePolicy } from '../compile';
import { parsePolicy } from '../document';
import { evaluateProjection } from '../evaluate';
import { entryOfPart, explain } from '../explain';
import { alwaysMatchesGlob, compileGlob, exampleOfGlob, firstGlobThatMayMatch, matchesGlob } from '../glob';
import { noHistory } from '../history/judge';
import { importClaude } from '../import/claude';
import { commandForm, globsOf, readEntry } from '../import/claude-entry';
import { importCodex } from '../import/codex';
import { importOriginal } from '../import/original';
import { readStarlark } from '../import/starlark';
import { lintPolicy } from '../lint/lint';
import { canMatch } from '../pattern-reach';
import { gateProjection } from '../projection';
import { runPolicyTests } from '../run-tests';

/** Each name a question, asked of the package; what it answered when it was recorded stands in `answers.jsonl`. */
export const questions: Record<string, () => unknown> = {};
const attempt = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return `throws ${error instanceof Error ? error.message : String(error)}`;
  }
};
const tried = <T>(list: readonly T[], ask: (item: T) => unknown): unknown[] => list.map((item) => [item, attempt(() => ask(item))]);

// JSON Schema, one keyword after the other.
const values: readonly unknown[] = [
  null,
  true,
  0,
  -0,
  1,
  2,
  3,
  1.5,
  -1,
  1e21,
  0.3,
  '',
  'a',
  'ab',
  'abc',
  'äö',
  '😀',
  'a\nb',
  [],
  [1],
  [1, 1],
  [1, 'a', null],
  [[1], [1]],
  [{ a: 1 }, { a: 1 }],
  {},
  { a: 1 },
  { a: 'x', b: 2 },
  { b: 1, c: [1, 2] },
  { a: { a: { a: 1 } } },
  { 'x/y~z': 1 },
];
const schemas: readonly unknown[] = [
  { type: 'integer' },
  { type: ['string', 'null'] },
  { type: 'number' },
  { type: 'array' },
  { type: 'object' },
  { type: 'boolean' },
  { type: 'x' },
  { type: 7 },
  { enum: [1, 'a', null, { a: 1 }, [1]] },
  { enum: 'a' },
  { const: { a: 1 } },
  { const: 0 },
  { const: [1, 1] },
  { minimum: 1 },
  { maximum: 1 },
  { exclusiveMinimum: 1 },
  { exclusiveMaximum: 1 },
  { minimum: 'x' },
  { multipleOf: 0.1 },
  { multipleOf: 1.5 },
  { multipleOf: 0 },
  { multipleOf: -1 },
  { multipleOf: 1e-7 },
  { minLength: 2 },
  { maxLength: 2 },
  { maxLength: 1 },
  { minLength: 0 },
  { maxLength: 1.5 },
  { pattern: '^a' },
  { pattern: 'b$' },
  { pattern: '^.$' },
  { pattern: 7 },
  { pattern: '(' },
  { properties: { a: { type: 'string' }, b: { minimum: 2 } } },
  { properties: 7 },
  { properties: { a: 7 } },
  { patternProperties: { '^[ab]$': { type: 'integer' } } },
  { patternProperties: { '(': true } },
  { additionalProperties: false },
  { properties: { a: true }, additionalProperties: { type: 'integer' } },
  { patternProperties: { a: true }, additionalProperties: false },
  { unevaluatedProperties: false },
  { properties: { a: true }, unevaluatedProperties: { type: 'string' } },
  { required: ['a', 'b'] },
  { required: 'a' },
  { required: [1] },
  { propertyNames: { maxLength: 1 } },
  { propertyNames: { pattern: '^[ab]' } },
  { minProperties: 2 },
  { maxProperties: 1 },
  { dependentRequired: { a: ['b'] } },
  { dependentRequired: { a: 7 } },
  { dependentSchemas: { a: { required: ['b'] } } },
  { dependencies: { a: ['b'], b: { minProperties: 3 } } },
  { items: { type: 'integer' } },
  { prefixItems: [{ type: 'integer' }, { type: 'string' }] },
  { prefixItems: [true], items: false },
  { prefixItems: 7 },
  { items: [true] },
  { items: [{ type: 'string' }], additionalItems: false, $schema: 'http://json-schema.org/draft-07/schema#' },
  { additionalItems: false },
  { contains: { type: 'integer' } },
  { contains: { const: 1 }, minContains: 2 },
  { contains: { const: 1 }, maxContains: 1 },
  { contains: true, minContains: 0 },
  { uniqueItems: true },
  { uniqueItems: false },
  { minItems: 2 },
  { maxItems: 1 },
  { unevaluatedItems: false },
  { prefixItems: [true], unevaluatedItems: { type: 'string' } },
  { contains: { type: 'integer' }, unevaluatedItems: false },
  { allOf: [{ type: 'object' }, { required: ['a'] }] },
  { allOf: [] },
  { allOf: 7 },
  { anyOf: [{ type: 'string' }, { type: 'null' }] },
  { oneOf: [{ minimum: 1 }, { type: 'integer' }] },
  { not: { type: 'string' } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  { if: { type: 'string' }, then: { minLength: 2 }, else: { type: 'object' } },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  { if: { required: ['a'] }, then: { required: ['b'] } },
  { if: { type: 'integer' }, else: false },
  { anyOf: [{ properties: { a: true } }, { properties: { b: true } }], unevaluatedProperties: false },
  {
    allOf: [{ properties: { a: true } }],
    oneOf: [{ required: ['b'], properties: { b: true } }, { required: ['c'] }],
    unevaluatedProperties: false,
  },
  { $ref: '#/$defs/a', $defs: { a: { type: 'string' } } },
  { $ref: '#/$defs/a', minLength: 2, $defs: { a: { type: 'string' } } },
  { $schema: 'http://json-schema.org/draft-07/schema#', $ref: '#/definitions/a', minLength: 2, definitions: { a: { type: 'string' } } },
  { $ref: '#/$defs/a~1b', $defs: { 'a/b': false } },
  { $ref: '#/$defs/%61', $defs: { a: { type: 'object' } } },
  { $ref: '#/%' },
  { $ref: '#here', $defs: { x: { $anchor: 'here', type: 'string' } } },
  { $ref: '#there', $defs: { x: [{ $id: '#there', type: 'array' }] } },
  { $ref: '#none' },
  { $ref: 7 },
  { $ref: 'x' },
  { properties: { a: { $ref: '#' } }, additionalProperties: false },
  { $recursiveRef: '#' },
  { $dynamicRef: '#' },
  { $id: 'http://root', type: 'object' },
  { properties: { a: { $id: 'x' } } },
  true,
  false,
  7,
  null,
  'x',
  [],
];
for (const [i, schema] of schemas.entries())
  questions[`schema ${i}: ${JSON.stringify(schema).slice(0, 80)}`] = () => {
    const compiled = compileArgumentSchema(schema);
    return compiled.ok ? values.map((value) => compiled.validate(value)) : compiled.problem;
  };
questions['arguments at their bounds'] = () => {
  const any = compileArgumentSchema(true);
  const nested = (depth: number): unknown => Array.from({ length: depth }).reduce<unknown>((inner) => [inner], 0);
  return any.ok
    ? [64, 65]
        .map((depth) => any.validate(nested(depth)))
        .concat([9_998, 9_999, 10_000].map((length) => any.validate(Array.from({ length }, () => 0))))
    : null;
};
questions['many faults at once'] = () => {
  const schema = compileArgumentSchema({
    properties: Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`k${i}`, { type: 'string' }])),
    required: ['z'],
    minProperties: 20,
  });
  return schema.ok
    ? [
        schema.validate({}),
        schema.validate(Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`k${i}`, i]))),
        schema.validate({ [`${'long'.repeat(60)}`]: 1, k0: 1 }),
      ]
    : null;
};

// Globs.
const globs = [
  '/a',
  '/a/',
  '/a/**',
  '/**',
  '**',
  '**/a',
  '**/.env',
  '/a/*',
  '/a/*/c',
  '/a/**/c',
  '/*.ts',
  '/?',
  '/[ab]',
  '/[!ab]',
  '/[^ab]',
  '/[a-c]x',
  '/[]a]',
  '/[a',
  '/{a,b}/c',
  '/{a,{b,c}}',
  '/a{,x}',
  '/a\\*',
  '/\\',
  '/a*b*c',
  '/**a',
  '/a**',
  '//a',
  '/.',
  '/.*',
  '/[.][.]',
  '/[.a]',
  '/a//b',
  '/é',
  '/-[a-]',
  '/[-a]',
];
const places = [
  '/',
  '/a',
  '/b',
  '/c',
  '/a/b',
  '/a/b/c',
  '/a/.env',
  '/.env',
  '/x.ts',
  '/.ts',
  '/ax',
  '/a*',
  '/abc',
  '/axbxc',
  '/é',
  '/a/c',
  '/b/c',
  '/*',
  '/a/*',
  '/?',
  '/a?',
  '/[ab]',
  '/*/c',
  '/.*',
  '/-',
  '/]',
  '/[a',
  '/a-',
];
for (const glob of globs)
  questions[`glob ${glob}`] = () =>
    attempt(() => {
      const compiled = compileGlob(glob);
      const insensitive = compileGlob(glob.toUpperCase(), { ignoreCase: true });
      const bits = (test: (path: string) => boolean): string => places.map((place) => (test(place) ? '1' : '0')).join('');
      return [
        exampleOfGlob(compiled),
        bits((p) => matchesGlob(compiled, p)),
        bits((p) => firstGlobThatMayMatch([compiled], p) !== undefined),
        bits((p) => alwaysMatchesGlob(compiled, p)),
        bits((p) => matchesGlob(insensitive, p)),
      ];
    });
questions['globs with too many alternatives'] = () =>
  tried(['{a,b}'.repeat(6), '{a,b}'.repeat(7)], (glob) => compileGlob(`/${glob}`).alternatives.length);
questions['what patterns can match'] = () =>
  tried(
    [
      'a',
      '',
      '^a$',
      'a^',
      '$a',
      '\\Aa',
      'a\\z',
      '\\ba',
      'a\\b',
      'a\\bb',
      '\\Ba',
      'a\\Bb',
      '1\\b',
      '_\\b',
      '@\\b',
      '\\b@',
      '\\b\\b',
      '\\B\\b',
      '(?m)^a',
      '(?m)a$',
      '(?m)a$b',
      '(?m)a$\\n',
      '(?m)a^b',
      '(?m)\\n^b',
      '[a-z]\\b[0-9]',
      '[^a-z]\\b[0-9]',
      '[@-Z]\\B@',
      '\\n\\b',
      '[^\\n]^',
      '.^',
      '(?-s).^',
      '(?-s).',
      'a|$b',
      '(a|$)b',
      '(a$)*b',
      '(a$)+b',
      '[Z-_]\\b',
      '[:-@]\\b',
      '[`]\\b',
      '[{-~]\\b',
      '[/]\\b',
      '[\\x{7f}-\\x{200}]\\bx',
      '[^\\x00-\\x{10FFFF}]',
      'x{3}',
      '(?i)k\\b',
      '\\x{212A}\\b',
    ],
    canMatch,
  );

// Documents that are wrong, with their places.
const broken = [
  '',
  'name',
  'name: [',
  'name: x\nname: y',
  'name: x\n<<: {}',
  'name: &a x',
  'name: !t x',
  'name: x\ntools: &b []\ntests: *b',
  '- a',
  'name: x\ntools: {}',
  'name: x\nzzz: 1\nyyy: 2',
  'name: x\ntools:\n  - {}',
  'name: x\ntools:\n  - match: []\n    action: allow',
  'name: x\ntools:\n  - match: [a*b]\n    action: allow',
  'name: x\ntools: [{ match: [a], action: maybe }]',
  'name: x\nbudgets: { max_tokens: -1, max_cost_usd: x }',
  'name: x\nguards: { idle_model_calls: 3 }',
  'name: x\npublish: { second_person: sometimes }',
  'name: x\ntools: [{ match: [a], action: deny, on_autonomous: allow }]',
  'name: x\ntools: [{ match: [a], action: ask, paths: { allow: ["a", "/a/../b", "/./a", "!/a", "/{a", "/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"], deny: ["**/x", "x"] } }]',
  'name: x\ntools: [{ match: [a], action: ask, paths: {} }]',
  'name: x\ntools: [{ match: [Bash], action: ask, shell: { allow: ["a; b", "a | b", "a > b", "X=1 a", "$X", "a $X", "a &", "(a)", "\'a", "a=1 b"], deny_regex: ["(", "(?=a)", "(?P<n>a)", "a{2000}"] } }]',
  'name: x\ntools: [{ match: [a], action: ask, when: { args: { /a: {}, /b: { glob: x, equals: 1 }, c: { equals: 1 } } } }]',
  'name: x\ntools: [{ match: [a], action: ask, when: { args: { "/a": { glob: "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}" } } } }]',
  'name: x\ntools: [{ match: [a], action: ask, history: { requires: { tool: "a*b", command: "x;y" }, forbid_after: { tool: Read, command: ls }, rate: { max: 2000, per_secs: 1 }, count: { max: 1000 } } }]',
  'name: x\ntests: [{ tool: a }, { input: 1, expect: allow }]',
  `name: x\n${Array.from({ length: 60 }, (_, i) => `k${i}: 1`).join('\n')}`,
  'a: b: c\n  d',
  'name: "x\\0"',
  `name: ${'x'.repeat(65)}`,
  'name: "a b"',
];
for (const [i, source] of broken.entries())
  questions[`document ${i}: ${source.slice(0, 40)}`] = () => {
    const parsed = parsePolicy(source);
    return parsed.ok ? parsed.document.name : parsed.problems;
  };

const open = (source: string) => {
  const parsed = parsePolicy(source);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed;
};
const compiled = (source: string): CompiledPolicy => {
  const parsed = open(source);
  return compilePolicy(parsed.document, parsed.ruleLines);
};

const badlyOrdered = `name: x
tools:
  - match: [Read, Read, "mcp__a*", mcp__ab]
    action: ask
  - match: [mcp__abc, Read]
    action: allow
  - match: [Edit, Read]
    action: deny
    paths: { allow: ["/x//y", "/a/", "/b/c/**"], deny: ["/b/**", "/[.]"] }
  - match: [Bash]
    action: allow
    shell:
      allow: [git, git push, git -c, npx, npx jest, ls, ls, rm -rf, curl, find, find ., bash, npm exec, npm exec x]
      ask: [rm -r, git push, curl -s]
      deny: [git push --force, curl, rm]
      deny_regex: ["a^", "b", "$c"]
    paths: { allow: ["**", "/q"], deny: ["/q", "**/.env"] }
  - match: [Write]
    action: deny
    shell: { allow: [ls] }
  - match: [WebFecth]
    action: ask
    when: { args: { /a: { equals: 1 }, /b: { glob: x } } }
  - match: [WebFecth]
    action: allow
    when: { args: { /a: { equals: 1 }, /b: { glob: x }, /c: { equals: true } } }
  - match: [Deploy]
    action: ask
    history: { requires: { tool: Bash, command: rm x }, forbid_after: { tool: Read } }
  - match: [Other]
    action: ask
    history: { requires: { tool: Edit } }
  - match: [Third]
    action: ask
    history: { requires: { tool: Bash } }
  - match: ["*"]
    action: allow
  - match: [Never]
    action: allow
  - match: [NeverToo]
    action: deny
`;
for (const tools of [
  undefined,
  ['WebFetch', 'bash', 'Deploy', 'Glbo', 'Glob', 'Sub'],
  ['Raed', 'Edti', 'Bahs', 'Read', 'Webfecth', 'WebFecthx'],
])
  questions[`lint with ${JSON.stringify(tools)}`] = () =>
    lintPolicy(
      open(
        badlyOrdered.replace('  - match: ["*"]\n    action: allow\n', tools === undefined ? '  - match: ["*"]\n    action: allow\n' : ''),
      ),
      tools === undefined ? {} : { tools },
    );

const claude = (permissions: object) => () => importClaude({ permissions }, 'x');
questions['import claude 1'] = claude({
  allow: [
    'Bash(a:*)',
    'Bash(b *)',
    'Bash(c*)',
    'Bash(d)',
    'Bash(e * f)',
    'Bash(*)',
    'Bash( g )',
    'Bash($X)',
    'Read',
    'Read(x)',
    'Read(x/)',
    'Read(./x/y)',
    'Read(/x)',
    'Read(//x/*)',
    'Read(~/x)',
    'Read(../x)',
    'Read(!x)',
    'Read(a\\b)',
    'Edit(src/**)',
    'Write',
    'WebFetch(domain:A.Example)',
    'WebFetch(url:x)',
    'mcp__a',
    'mcp__a__b',
    'mcp__a__*',
    'mcp__*__c',
    'Skill(x)',
    'Agent',
    '???',
    'Tool()',
  ],
  additionalDirectories: ['/a', '/b/', 'c', '../d', '/e/../f'],
  defaultMode: 'acceptEdits',
});
questions['import claude 2'] = claude({
  ask: [
    'Bash(a:*)',
    'Bash(b*)',
    'Bash(c)',
    'Bash(d * e)',
    'Edit',
    'Read(x)',
    'WebFetch',
    'mcp__*__c',
    'Skill(x)',
    '(',
    'Agent',
    'TodoWrite',
  ],
  deny: [
    'Bash(a:*)',
    'Bash(b*)',
    'Bash(c)',
    'Bash(d * e:*)',
    'Bash($(x))',
    'Read(~/x)',
    'Read(!x)',
    'Edit(/x/)',
    'WebFetch(domain:x.y)',
    'Task',
    'mcp__z',
    ')(',
  ],
  defaultMode: 'plan',
});
questions['import claude 3'] = claude({
  allow: ['Bash', 'WebFetch', 'Edit', 'Read(//x)', 'NotebookEdit'],
  deny: ['Edit(a)', 'WebFetch(domain:x)'],
  ask: ['MultiEdit'],
  defaultMode: 'dontAsk',
  additionalDirectories: ['/q'],
});
questions['import claude 4'] = claude({
  allow: ['WebFetch', 'WebFetch(domain:x)', 'Read', 'LS'],
  ask: ['Bash', 'Bash(x:*)'],
  defaultMode: 'auto',
});
questions['import claude modes'] = () =>
  ['default', 'bypassPermissions', 'x'].map((defaultMode) => importClaude({ permissions: { defaultMode } }, 'x'));
questions['import claude, not a file of it'] = () =>
  [
    null,
    7,
    {},
    { permissions: null },
    { permissions: { ask: 7 } },
    { permissions: { deny: [7] } },
    { permissions: { additionalDirectories: 'x' } },
    { permissions: { defaultMode: 1 } },
  ].map((settings) => importClaude(settings, 'x'));
questions['entries of claude'] = () => [
  tried(['A', 'A(b)', 'A(*)', 'A()', ' A(b) ', 'A(b', 'a-b.c*(d)', '1', 'A(b)c', 'A((b))'], readEntry),
  tried(['a', 'a:*', 'a *', 'a*', '* a', 'a * b', 'a*:*', ':*', 'a b:*', '*', 'a **'], commandForm),
  tried(['x', 'x/', './x', '/x', '//x', '~', '~/x', 'x/y', 'x/y/', '../x', 'a/../b', '!x', '*.x', 'x/**', 'x//y'], globsOf),
];
const codexRules = [
  'prefix_rule(pattern=["a"])',
  'prefix_rule(pattern=["a", ["b", "c d"]], decision="prompt", match=["a b", ["a", "c d"]], not_match=["a x"])',
  "prefix_rule(pattern = ['it''s', \"q\\\"\"], decision='forbidden',)",
  'prefix_rule(pattern=["a"], decision="x")\nprefix_rule(pattern=[], decision="allow")\nprefix_rule(pattern=[""], decision="forbidden")\nprefix_rule(pattern=[["a", 1]])\nprefix_rule(pattern="a")\nprefix_rule()',
  'x = 1\nprefix_rule(pattern=["a"])\ndef f():\n    return [1,\n 2]\nprefix_rule(pattern=["b"])',
  'network_rule(host="x")\nprefix_rule(pattern=[True])\nf(a=None, b=False, c=[[["d"]]])',
  '"""doc\nstring"""\nprefix_rule(\n  # comment\n  pattern = ["a\\\nb", "c" "d", \'\\t\\q\'],\n)',
  'prefix_rule(pattern=["a"] "b")',
  'prefix_rule(pattern=["a" "b" ["c"]])',
  'prefix_rule(["a"])',
  'prefix_rule(pattern=[["a","b"],["c","d"],"e"])',
  'f(a=[[[[[[[[[["deep"]]]]]]]]]])',
  'prefix_rule(pattern=["a"]) prefix_rule(pattern=["b"])',
  '#only',
  'f(',
  'f(a',
  'f(a=',
  'f(a="b',
  ']',
  'f(a=b)',
  'f(a=[,])',
  'f(a="x",,)',
];
for (const [i, rules] of codexRules.entries()) questions[`codex ${i}`] = () => [readStarlark(rules), importCodex({ rules: [rules] }, 'x')];
questions['codex configurations'] = () =>
  tried(
    [
      'approval_policy = "never"',
      "approval_policy='untrusted'",
      'approval_policy = "on-failure"\nsandbox_mode = "workspace-write"',
      ' sandbox_mode = "read-only" # x',
      '[a]\nsandbox_mode = "read-only"\napproval_policy="never"',
      'sandbox_mode = "danger-full-access"',
      'sandbox_mode = 7',
      'other = "x"\napproval_policy = "on-request"',
      'approval_policy = { granular = {} }',
    ],
    (config) => importCodex({ rules: [], config }, 'x'),
  );
questions['too many spellings'] = () =>
  [2, 4].map(
    (width) =>
      importCodex(
        {
          rules: [
            `prefix_rule(pattern=[${Array.from({ length: 8 }, () => `[${Array.from({ length: width }, (_, i) => `"w${i}"`).join(',')}]`).join(',')}])`,
          ],
        },
        'x',
      ).ok,
  );
const originals = [
  'name: a\ndefaults: { tool_action: approve }',
  'name: a\negress: { mode: none }\nnetwork: { max_mode: public }',
  'name: a\nnetwork: { max_mode: offline }',
  'name: a\ntools:\n  - { match: [Read, "x*"], action: allow, paths: { allow: ["/w/*", "src/**", "./q", "/a/../b"], deny: ["*.key", "/w/*.pem", "/x/*/y", "sub/z", "**/.env", "/*/*/*/*/*/q", "/a/../b", "**/**/k"] } }',
  'name: a\ntools:\n  - { match: ["*"], action: deny, paths: { allow: ["/a/../b"] } }',
  'name: a\ntools:\n  - { match: [Bash], action: allow, paths: { deny: ["/x"] }, shell: { allow_prefixes: [ls, "a;b"], deny_regex: ["a", "("], ask: [q], on_no_match: deny } }',
  'name: a\ntools: [7]',
  'name: a\ntools: x',
  'x',
  '[',
  'name: a\nb: &c 1\nd: *c',
  'name: a\ntools: [{ match: [Read], action: allow, paths: { deny: ["/a*b"] } }]',
  'defaults: {}',
];
for (const [i, source] of originals.entries())
  questions[`original ${i}`] = () => [importOriginal(source), i === 12 ? importOriginal(source, 'named') : null];

const pairs: readonly (readonly [string, string])[] = [
  ['mode: observe', 'mode: enforce'],
  ['coverage: strict', 'coverage: report'],
  ['guards: { same_call: 3 }', 'guards: { same_call: null, denials: 2 }'],
  ['budgets: { max_tokens: 1, max_cost_usd: 2 }', 'budgets: { max_tokens: 2, max_cost_usd: 1 }'],
  [
    'approvals: { scope: once, exclude_requester: true, default_ttl_secs: 5 }',
    'approvals: { scope: session, exclude_requester: false, default_ttl_secs: 6 }',
  ],
  ['autonomy: { permitted: true, on_approval_rule: allow }', 'autonomy: { permitted: false, on_approval_rule: deny }'],
  [
    'tools: [{ match: [a], action: allow, shell: { allow: [x, y], ask: [p], deny: [q], deny_regex: [r] } }]',
    'tools: [{ match: [a], action: ask, shell: { allow: [y], ask: [p, t], deny: [u], deny_regex: [] } }]',
  ],
  [
    'tools: [{ match: [a], action: allow, shell: { on_no_match: ask, allow: [x, y] } }]',
    'tools: [{ match: [a], action: allow, shell: { on_no_match: deny, allow: [y, x] } }]',
  ],
  [
    'tools: [{ match: [a], action: allow }]',
    'tools: [{ match: [a], action: allow, shell: { allow: [x] }, paths: { allow: ["/a"], deny: ["/b"] }, history: { count: { max: 1 } }, risk: r, tell_agent: t, approval_ttl_secs: 5, approval_scope: once, on_autonomous: deny }]',
  ],
  [
    'tools: [{ match: [a], action: allow, shell: { allow: [x] }, paths: { allow: ["/a"], deny: ["/b"] }, history: { count: { max: 1 } }, risk: r, approval_scope: once, on_autonomous: deny }]',
    'tools: [{ match: [a], action: allow, paths: { deny: ["/b", "/c"] }, history: { count: { max: 2 } }, approval_scope: session }]',
  ],
  [
    'tools: [{ match: [a], action: allow, paths: { allow: ["/a", "/b"], deny: ["/c"] } }]',
    'tools: [{ match: [a], action: allow, paths: { allow: ["/a"], deny: ["/c", "/d"] } }]',
  ],
  [
    'tools: [{ match: [a], action: allow, paths: { allow: ["/a"] } }]',
    'tools: [{ match: [a], action: allow, paths: { allow: ["/a", "/b"] } }]',
  ],
  [
    'tools: [{ match: [a], action: ask }, { match: [b], action: deny }, { match: [c], action: allow }, { match: [a], action: deny }]',
    'tools: [{ match: [c], action: allow }, { match: [a], action: ask }, { match: [d], action: deny }, { match: [e], action: ask }, { match: [a], action: allow }]',
  ],
  [
    'tests: [{ tool: a, expect: ask }, { tool: b, cwd: /x, input: { p: 1 }, expect: ask }]\ndefaults: { tool_action: ask }',
    'tests: [{ tool: a, expect: ask }, { tool: c, expect: allow }]\ndefaults: { tool_action: allow }',
  ],
];
for (const [i, [before, after]] of pairs.entries())
  questions[`diff ${i}`] = () => [
    diffPolicies(open(`name: x\n${before}`).document, open(`name: x\n${after}`).document),
    diffPolicies(open(`name: x\n${after}`).document, open(`name: y\n${before}`).document),
  ];

const toExplain = `name: x
defaults: { tool_action: ask }
tools:
  - match: [Read]
    action: ask
    when: { args: { /a: { equals: 1 } } }
  - match: [Read, Edit]
    action: allow
    paths: { allow: ["/workspace/**"], deny: ["**/.env"] }
    reason: only here
  - match: [Bash]
    action: allow
    shell: { allow: [ls, git], ask: [git push], deny: [curl], deny_regex: ["danger"] }
    paths: { allow: ["/workspace/**"], deny: ["**/.env"] }
  - match: [Deploy]
    action: ask
    history: { requires: { tool: Bash, command: ls, ok: true, within_secs: 5 }, rate: { max: 1, per_secs: 60 }, count: { max: 2 }, forbid_after: { tool: Read } }
    on_autonomous: allow
    approval_ttl_secs: 7
    risk: high
  - match: [Nope]
    action: deny
    tell_agent: never
tests:
  - { tool: Nope, expect: allow }
  - { tool: Read, input: { file_path: a }, expect: allow }
`;
const explained = [
  { tool: 'Read', input: { a: 1 } },
  { tool: 'Read', input: { file_path: 'a' } },
  { tool: 'Read', input: { file_path: '.env' } },
  { tool: 'Edit', input: { file_path: '/etc/x' } },
  { tool: 'Edit', input: {} },
  { tool: 'Nope', input: {} },
  { tool: 'What', input: {} },
  { tool: 'Deploy', input: {} },
  ...[
    'ls',
    'git push',
    'curl x; make; make',
    'ls danger',
    'ls > /etc/x',
    'cat .env',
    '$X',
    'ls (',
    'git status && curl x | sh',
    'timeout 5 ls',
    'sudo $X',
    'make && git push && curl y',
  ].map((command) => ({ tool: 'Bash', input: { command } })),
];
for (const [i, call] of explained.entries())
  questions[`explain ${i}`] = () => {
    const policy = compiled(toExplain);
    const said = explain(policy, call);
    const seen = { allowed: [{ at: 1000, ok: true }], total: 1, pending: 1 };
    const later = { now: 5000, history: { '3.requires': seen, '3.rate': seen, '3.count': seen, '3.forbid_after': seen } } as const;
    return [
      said,
      explain(policy, call, 'read_only'),
      explain(policy, call, 'trusted', later),
      said.parts.map((part) => entryOfPart(policy.document, said.rule?.index ?? null, part.rule)),
    ];
  };
questions['entries of parts that are none'] = () =>
  [
    'x',
    'allow: none',
    'deny: curl',
    'ask: git push',
    'deny_regex: danger',
    'paths.deny: **/.env',
    'paths.deny: none',
    'paths.allow',
    'on_no_match',
    'history.rate',
    'unknown',
  ].flatMap((label) => [
    entryOfPart(compiled(toExplain).document, 2, label),
    entryOfPart(compiled(toExplain).document, null, label),
    entryOfPart(compiled(toExplain).document, 1, label),
    entryOfPart(compiled(toExplain).document, 99, label),
  ]);
questions['tests of a document'] = () => runPolicyTests(compiled(toExplain));
questions['places in a document'] = () => {
  const { placeOf, ruleLines } = open(toExplain);
  return [
    ruleLines,
    placeOf([]),
    placeOf(['tools', 2, 'shell', 'deny', 0]),
    placeOf(['tools', 9]),
    placeOf(['tools', 1, 'nothing', 3]),
    placeOf(['name', 'x']),
    placeOf(['tests', 1, 'input', 'file_path']),
  ];
};
const calls: readonly RecordedCall[] = [
  ...explained.flatMap((call, i) => [
    { projection: gateProjection(call), run: `r${i % 3}`, callId: `c${i}`, at: i * 1000, ok: i % 2 === 0, ran: i % 4 !== 0 },
  ]),
  ...['ls ‹redacted›', '‹redacted› a', 'curl ‹redacted›', 'git ‹redacted›', 'ls > ‹redacted›'].map((command) => ({
    projection: gateProjection({ tool: 'Bash', input: { command } }),
  })),
  { projection: { ...gateProjection({ tool: 'Read', input: { file_path: '/workspace/‹redacted›', a: '‹redacted›' } }), engine: 'old' } },
  { projection: gateProjection({ tool: 'Edit', input: { file_path: '/etc/‹redacted›' } }) },
];
const otherwise = toExplain
  .replace('ask: [git push], deny: [curl], deny_regex: ["danger"]', 'ask: [curl], deny: [git push]')
  .replace('action: deny', 'action: allow')
  .replace('deny: ["**/.env"] }\n    reason', 'deny: ["/workspace/a"] }\n    reason')
  .replace('count: { max: 2 }', 'count: { max: 1 }')
  .replace('on_autonomous: allow', 'on_autonomous: deny');
const plain = (source: string): string => source.replace(/ {4}history: .*\n/, '');
for (const [name, before, after] of [
  ['with history', toExplain, otherwise],
  ['back', otherwise, toExplain],
  ['without history', plain(toExplain), plain(otherwise)],
  ['only texts', toExplain, toExplain.replace('only here', 'only there')],
] as const)
  questions[`backtest ${name}`] = () => backtest(compiled(before), compiled(after), calls);

const nearly = [
  'WebFetch',
  'webfetch',
  'WebFech',
  'WebFetcch',
  'WebFecth',
  'WebFetchh',
  'XebFetch',
  'WebFet',
  'Web*',
  'WebFetch*',
  'WebFecth*',
  'bash',
  'Bahs',
  'Basj',
  'Bsah',
  'ash',
  'Bas',
  'LS',
  'ls',
  'LL',
  'Glbo',
  'lGob',
  'Gob',
  'Gloob',
  'GlobGlob',
  'Blog',
];
questions['names that are nearly tools'] = () =>
  tried(nearly, (written) =>
    lintPolicy(open(`name: x\ntools: [{ match: [${JSON.stringify(written)}], action: ask }]`), {
      tools: ['WebFetch', 'Bash', 'Glob', 'LS'],
    }).map(({ code, fix, message }) => [code, fix, message]),
  );
questions['all tools named'] = () =>
  lintPolicy(open('name: x\ntools: [{ match: [Bash, "Web*"], action: ask }]'), { tools: ['WebFetch', 'Bash'] });
questions['no rules and many tools'] = () => lintPolicy(open('name: x'), { tools: ['WebFetch', 'Bash'] });

const markedCalls = [
  ...[
    'ls ‹redacted›',
    '‹redacted›',
    'ls; ‹redacted› a',
    'curl ‹redacted›',
    'ls | curl ‹redacted›',
    'git ‹redacted› && curl x',
    'git push ‹redacted›',
    'ls > ‹redacted›',
    'cat ‹redacted›/.env',
    'make ‹redacted›',
    'make; ls ‹redacted›',
    'ls (‹redacted›',
    'ls',
  ].map((command) => ({ tool: 'Bash', input: { command } })),
  ...['/workspace/‹redacted›', '/etc/‹redacted›', '/workspace/.env'].map((file_path) => ({ tool: 'Read', input: { file_path, a: 1 } })),
  { tool: 'Read', input: { file_path: '/workspace/a', a: '‹redacted›' } },
  { tool: 'Edit', input: { edits: [{ file_path: '/workspace/‹redacted›' }, { file_path: '/workspace/.env' }] } },
  { tool: 'Edit', input: { file_path: '/workspace/a', text: '‹redacted›' } },
  { tool: 'Nope', input: { a: '‹redacted›' } },
  { tool: 'What', input: { a: '‹redacted›' } },
  { tool: 'What', input: { a: ['b', { c: null, d: '‹redacted›' }] } },
];
const lastOne = `${toExplain.replace(/tests:[\s\S]*/, '')}  - match: [What]\n    action: allow\n    when: { args: { /a: { glob: x } } }\n`;
for (const [name, source] of [
  ['as it is', toExplain],
  ['changed', otherwise],
  ['with a condition at its end', lastOne],
  ['denying the rest', toExplain.replace('ask: [git push]', 'on_no_match: deny, ask: [git push]')],
  ['without patterns', otherwise.replace('allow: [ls, git]', 'allow: [ls]')],
] as const)
  questions[`what marks hide, ${name}`] = () =>
    tried(markedCalls, (call) => {
      const policy = compiled(source);
      const projection = gateProjection(call);
      return [isMarked(projection), dependsOnMark(policy, projection, evaluateProjection(policy, projection, noHistory))];
    });
