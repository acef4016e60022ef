import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { parsePolicy } from '../document';
import { normalizePath } from '../paths';
import { bash, bashPolicy } from '../policy.fixture';
import { gateProjection } from '../projection';
import { parseShell } from './parse';

const runs = Number(process.env.FLUIDBOX_SHELL_RUNS ?? 200);
const hasBash = spawnSync('bash', ['-c', 'exit 0']).status === 0;

/** Ways to write one word that the shell reads alike. */
const quotings: readonly ((text: string) => string)[] = [
  (text) => `'${text.replaceAll("'", `'\\''`)}'`,
  (text) => `"${text.replaceAll(/["\\$`]/g, '\\$&')}"`,
  (text) => [...text].map((char) => (/[A-Za-z0-9]/.test(char) ? char : `\\${char}`)).join(''),
  (text) => `$'${[...text].map((char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')}'`,
  (text) =>
    `${text.slice(0, 1) === '' ? '' : `"${text.slice(0, 1).replaceAll(/["\\$`]/g, '\\$&')}"`}'${text.slice(1).replaceAll("'", `'\\''`)}'`,
];
const literal = fc.string({ unit: fc.constantFrom(...'ab -$*?[]{}~#!&;|<>()\'"\\`=%'), minLength: 1, maxLength: 8 });
const quoted = fc.tuple(literal, fc.nat(quotings.length - 1)).map(([text, how]) => ({ text, written: quotings[how]?.(text) ?? text }));

(hasBash ? describe : describe.skip)('words', () => {
  it('are what bash gives to the program', () => {
    fc.assert(
      fc.property(fc.array(quoted, { minLength: 1, maxLength: 30 }), (words) => {
        const line = `printf '%s\\0' ${words.map(({ written }) => written).join(' ')}`;
        const given = spawnSync('bash', ['--norc', '-c', line], { encoding: 'utf8' }).stdout.split('\u0000').slice(0, -1);
        const [command] = parseShell(line, '/workspace').commands;
        expect(command?.words.slice(2).map((word) => word.value)).toEqual(given);
        expect(given).toEqual(words.map(({ text }) => text));
      }),
      { numRuns: Math.min(runs, 60) },
    );
  });
});

describe('what the shell ignores never changes a verdict', () => {
  const policies = [
    bashPolicy(
      { allow: ['git', 'ls', 'rm'], ask: ['git push'], deny: ['rm -rf', 'git push --force'] },
      { paths: { allow: ['/workspace/**'], deny: ['**/.env'] } },
    ),
    bashPolicy({ deny: ['curl', 'rm'], on_no_match: 'allow' }),
  ];
  const word = fc.constantFrom('git', 'push', 'rm', '-rf', '--force', 'ls', 'curl', 'a', '.env', '/etc/x', 'status', '../b', 'cat');
  const command = fc.array(word, { minLength: 1, maxLength: 5 });
  const line = fc.tuple(fc.array(command, { minLength: 1, maxLength: 3 }), fc.constantFrom('&&', '||', ';', '|', '&'));
  const style = fc.record({
    quote: fc.array(fc.nat(quotings.length), { minLength: 20, maxLength: 20 }),
    blank: fc.constantFrom(' ', '  ', '\t', ' \\\n ', ' \t '),
  });

  it('blanks, continued lines and quotes', () => {
    fc.assert(
      fc.property(line, style, ([commands, operator], { quote, blank }) => {
        let at = 0;
        const spelt = (text: string): string => (quotings[quote[at++ % quote.length] ?? 0] ?? ((same: string) => same))(text);
        const plain = commands.map((words) => words.join(' ')).join(` ${operator} `);
        const other = commands.map((words) => words.map(spelt).join(blank)).join(`${blank}${operator}${blank}`);
        for (const policy of policies) {
          const [one, two] = [plain, other].map((text) => bash(policy, text));
          expect({ plain, other, verdict: two?.verdict, key: two?.scopeKey }).toEqual({
            plain,
            other,
            verdict: one?.verdict,
            key: one?.scopeKey,
          });
        }
      }),
      { numRuns: 300 },
    );
  });

  it('comments, empty lines, a group around it and a semicolon at its end', () => {
    fc.assert(
      fc.property(line, ([commands, operator]) => {
        const plain = commands.map((words) => words.join(' ')).join(` ${operator} `);
        for (const other of [`${plain} # rm -rf /`, `\n\n${plain}\n`, `# curl x\n${plain}`, `{ ${plain}; }`, `${plain};`])
          for (const policy of policies)
            expect({ other, verdict: bash(policy, other).verdict }).toEqual({ other, verdict: bash(policy, plain).verdict });
      }),
      { numRuns: 150 },
    );
  });
});

describe('whatever the text, in a second or so', () => {
  const timeBox = { numRuns: 4_000, interruptAfterTimeLimit: 1_200, markInterruptAsFailure: false } as const;
  const shellText = fc.string({ unit: fc.constantFrom(...'aA1 $(){}[]<>|&;"\'`\\\n#!*?=~@%+-/:,'), maxLength: 80 });

  it('the parser answers, says the same again, and its answer is plain JSON', () => {
    fc.assert(
      fc.property(fc.oneof(shellText, fc.string({ unit: 'binary', maxLength: 60 })), (command) => {
        const projection = gateProjection({ tool: 'Bash', input: { command } });
        expect(JSON.parse(JSON.stringify(projection))).toEqual(projection);
        expect(gateProjection({ tool: 'Bash', input: { command } })).toEqual(projection);
      }),
      timeBox,
    );
  });

  it('[POLICY-1] a line that is unknown, or runs an unknown program, is allowed by no policy', () => {
    const loose = bashPolicy({ allow: ['a', 'A', '1'], on_no_match: 'allow' });
    fc.assert(
      fc.property(shellText, (command) => {
        const tree = parseShell(command, '/workspace');
        if (tree.unknown === null && tree.commands.every((each) => each.unknown === undefined)) return;
        expect({ command, verdict: bash(loose, command).verdict }).not.toEqual({ command, verdict: 'allow' });
      }),
      timeBox,
    );
  });

  it('a path that is normalised stays as it is, and never leaves the root', () => {
    const path = fc.string({ unit: fc.constantFrom('a', '.', '..', '/', '//', '\u0000', 'é', '~', ' '), maxLength: 20 });
    fc.assert(
      fc.property(path, path, (text, base) => {
        const once = normalizePath(text, normalizePath(base));
        expect(normalizePath(once, '/elsewhere')).toBe(once);
        expect(once).toMatch(/^\//);
        expect(once.split('/').slice(1)).not.toContain('..');
      }),
      timeBox,
    );
  });

  it('the reader of documents answers with a document or with places', () => {
    const text = fc.string({
      unit: fc.constantFrom(
        'name',
        'tools',
        'match',
        'action',
        'allow',
        ':',
        ' ',
        '\n',
        '- ',
        '[',
        ']',
        '{',
        '}',
        ',',
        '"',
        '*',
        '&a',
        '!t',
        '  ',
        'x',
        '#',
        '|',
      ),
      maxLength: 40,
    });
    fc.assert(
      fc.property(text, (source) => {
        const parsed = parsePolicy(source);
        if (parsed.ok) return;
        expect(parsed.problems.length).toBeGreaterThan(0);
        for (const { line, column, message } of parsed.problems)
          expect([line >= 1, column >= 1, message.length > 0]).toEqual([true, true, true]);
      }),
      timeBox,
    );
  });
});
