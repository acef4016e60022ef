import fc from 'fast-check';
import picomatch from 'picomatch';
import { evaluate } from './evaluate';
import { compileGlob, matchesGlob } from './glob';
import { normalizePath } from './paths';
import { bash, bashPolicy, policyOf } from './policy.fixture';
import { parseShell } from './shell/parse';
import { strictest } from './verdict';

const word = fc.constantFrom(
  'git',
  'push',
  'rm',
  '-rf',
  'ls',
  'cat',
  'curl',
  'env',
  'A=1',
  'timeout',
  '5',
  '"a b"',
  "'x'",
  '$X',
  '*.ts',
  '--force',
  '-f',
  'a',
  '/etc/x',
  '../y',
  'bash',
  '-c',
  '"rm x"',
  'sudo',
  'find',
  '-exec',
  '{}',
  'cd',
  '-C',
  'status',
  'xargs',
);
const simple = fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' '));
const joined = fc.tuple(simple, fc.constantFrom(' && ', ' || ', '; ', ' | ', ' & ', '\n'), simple).map((parts) => parts.join(''));
const line = fc.oneof(
  simple,
  joined,
  simple.map((text) => `echo $(${text})`),
  simple.map((text) => `( ${text} )`),
  simple.map((text) => `if ${text}; then ls; fi`),
  fc.string({ maxLength: 60 }),
  fc.string({ unit: fc.constantFrom(...'ls $(){}`"\'\\|&;<>\n[]!*?=~#'), maxLength: 40 }),
);
const entry = fc.constantFrom(
  'git',
  'git push',
  'rm',
  'rm -rf',
  'ls',
  'cat',
  'curl',
  'env',
  'timeout',
  'bash',
  'git push --force',
  'find',
  'cd',
  'git status',
  'xargs',
  'sudo',
  'echo',
);
const entries = fc.array(entry, { maxLength: 6 });
const action = fc.constantFrom('allow' as const, 'ask' as const, 'deny' as const);
const rank = { allow: 0, ask: 1, deny: 2 };
const runs = { numRuns: 400 };

describe('for every policy and every line', () => {
  it('[POLICY-2] adding a deny entry never widens', () => {
    fc.assert(
      fc.property(line, entries, entries, entries, entry, action, (command, allow, ask, deny, more, on_no_match) => {
        const before = bash(bashPolicy({ allow, ask, deny, on_no_match }), command).verdict;
        const after = bash(bashPolicy({ allow, ask, deny: [...deny, more], on_no_match }), command).verdict;
        expect(rank[after]).toBeGreaterThanOrEqual(rank[before]);
      }),
      runs,
    );
  });

  it('adding a deny path, a deny pattern or an ask entry never widens', () => {
    fc.assert(
      fc.property(line, entries, entry, fc.constantFrom('**/x', '/etc/**', '**/a', '**'), (command, allow, ask, glob) => {
        const paths = { allow: ['/workspace/**'], deny: [] as string[] };
        const before = bash(bashPolicy({ allow }, { paths }), command).verdict;
        for (const policy of [
          bashPolicy({ allow, ask: [ask] }, { paths }),
          bashPolicy({ allow }, { paths: { ...paths, deny: [glob] } }),
          bashPolicy({ allow, deny_regex: ['r.*m'] }, { paths }),
        ])
          expect(rank[bash(policy, command).verdict]).toBeGreaterThanOrEqual(rank[before]);
      }),
      runs,
    );
  });

  it('a command that cannot be parsed is never allowed, whatever the policy says', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          line,
          line.map((text) => `${text} $(`),
          line.map((text) => `if ${text}`),
          line.map((text) => `${text} "`),
        ),
        entries,
        (command, allow) => {
          if (parseShell(command, '/workspace').unknown === null) return;
          expect(bash(bashPolicy({ allow, on_no_match: 'allow' }), command).verdict).not.toBe('allow');
          expect(bash(policyOf({ defaults: { tool_action: 'allow' } }), command).verdict).not.toBe('allow');
        },
      ),
      runs,
    );
  });

  it('a list is as strict as its strictest part', () => {
    fc.assert(
      fc.property(line, entries, entries, action, (command, allow, deny, on_no_match) => {
        const decided = bash(bashPolicy({ allow, deny, on_no_match }), command);
        expect(decided.verdict).toBe(strictest(...decided.parts.map((part) => part.verdict)));
      }),
      runs,
    );
    fc.assert(
      fc.property(simple, simple, entries, entries, (left, right, allow, deny) => {
        // Without directories in play the parts do not influence each other.
        if (/\bcd\b/.test(left + right)) return;
        const policy = bashPolicy({ allow, deny });
        expect(bash(policy, `${left} ; ${right}`).verdict).toBe(strictest(bash(policy, left).verdict, bash(policy, right).verdict));
      }),
      runs,
    );
  });

  it('evaluating is total and repeatable', () => {
    fc.assert(
      fc.property(fc.string(), fc.dictionary(fc.string(), fc.jsonValue()), (tool, input) => {
        const policy = policyOf({ tools: [{ match: ['*'], action: 'allow', paths: { allow: ['/workspace/**'], deny: ['**/.env'] } }] });
        expect(evaluate(policy, { tool, input })).toEqual(evaluate(policy, { tool, input }));
      }),
      runs,
    );
  });
});

describe('paths', () => {
  const path = fc.array(fc.constantFrom('a', '..', '.', '', 'b.c', '.env', '...'), { maxLength: 8 }).map((parts) => parts.join('/'));
  it('normalising twice changes nothing, and the answer has no dots left', () => {
    fc.assert(
      fc.property(path, path, (text, base) => {
        const once = normalizePath(text, normalizePath(base));
        expect(normalizePath(once)).toBe(once);
        expect(once.split('/').some((segment) => segment === '..' || segment === '.')).toBe(false);
        expect(once.startsWith('/')).toBe(true);
      }),
    );
  });

  // Not where picomatch contradicts itself: it takes `/a/**` for `/a`, but not `/*/**` for `/a` nor `/**/x` for `/x`. Ours takes all three.
  it('globs mean what picomatch means by them', () => {
    const segment = fc.constantFrom(
      'a',
      'b',
      '*',
      '**',
      '*.env',
      '.env',
      'a?',
      '.git',
      '[ab]',
      '{a,b.c}',
      'b*c',
      'ab*ba',
      'a*b*',
      '[!a]',
      '[^b]',
      '[a-c]',
      '[!a-b]',
      '[b-cx]*',
      'a[-b]',
    );
    const name = fc.constantFrom(
      'a',
      'b',
      '.env',
      'prod.env',
      'ab',
      '.git',
      'b.c',
      'bxc',
      'aba',
      'abba',
      'c',
      'x',
      'cx',
      '-',
      'a-',
      '!',
      '^',
    );
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 4 }), fc.array(name, { minLength: 1, maxLength: 4 }), (segments, names) => {
        const [pattern, text] = [`/r/${segments.join('/')}`, `/r/${names.join('/')}`];
        if (pattern.includes('*/**')) return;
        expect([pattern, text, matchesGlob(compileGlob(pattern), text)]).toEqual([
          pattern,
          text,
          picomatch.isMatch(text, pattern, { dot: true, posix: true, noextglob: true }),
        ]);
      }),
      { numRuns: 2000 },
    );
  });
});
