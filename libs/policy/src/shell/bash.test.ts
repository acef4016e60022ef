import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { bash, bashPolicy } from '../policy.fixture';
import { programOf } from './options';
import { parseShell } from './parse';

/**
 * The tree against bash itself: every program that bash starts for a generated line stands in the tree, or the tree says that it
 * does not know. The programs write their name down and do nothing else.
 */
const lines = Number(process.env.FLUIDBOX_SHELL_RUNS ?? 200);
const hasBash = spawnSync('bash', ['--version']).status === 0;
const real = ['env', 'timeout', 'nice', 'xargs', 'find', 'cat', 'stdbuf'];

const builtins = [
  'command',
  'builtin',
  'eval',
  'exec',
  'bash',
  'sh',
  'true',
  'false',
  'echo',
  'cd',
  'trap',
  'set',
  'read',
  ':',
  'wait',
  'break',
  'f',
  'x',
];
const withoutP3 = bashPolicy({ allow: [...real, ...builtins, 'p1', 'p2'] }, { paths: { allow: ['/workspace/**'], deny: [] } });
const deniesP3 = bashPolicy({ deny: ['p3'], on_no_match: 'allow' });

const piece = fc.constantFrom(
  'p1',
  'p2',
  'p3',
  '"p1"',
  "'p2'",
  'p\\3',
  "$'p\\x31'",
  'p""2',
  '$V',
  '"$V"',
  '$(p1)',
  '`p2`',
  '"$(p3)"',
  "'$(p1)'",
  '<(p1)',
  '$((1+1))',
  '${W:-$(p2)}',
  '{p1,x}',
  '*',
  'x',
  '-a',
  'V=p1',
  'W=x',
  'env',
  'timeout 5',
  'nice -n 1',
  'xargs',
  'command',
  'builtin',
  'eval',
  'exec',
  'bash -c',
  'sh -c',
  "'p1; p2'",
  '"p3 x"',
  'true',
  'false',
  'echo',
  'cat',
  'cd',
  'stdbuf -oL',
  'find . -maxdepth 0 -exec',
  '{} +',
  '\\;',
  '[[ -n x ]]',
  '!',
  'trap',
  'EXIT',
  'set --',
  '"$@"',
  'read V <<<',
  ': ${W:=p2}',
);
const joiner = fc.constantFrom(' ', ' ', ' ', ' ', ' && ', ' || ', '; ', ' | ', ' & ', '\n', ' \\\n', ' |& ', '; wait; ');
const flat = fc
  .array(fc.tuple(piece, joiner), { minLength: 1, maxLength: 8 })
  .map((parts) => parts.map(([a, b], i) => (i === parts.length - 1 ? a : a + b)).join(''));
const line = fc.oneof(
  { weight: 6, arbitrary: flat },
  flat.map((text) => `( ${text} )`),
  flat.map((text) => `{ ${text}; }`),
  flat.map((text) => `if ${text}; then p1; else p2; fi`),
  flat.map((text) => `for i in 1 2; do ${text}; done`),
  flat.map((text) => `case x in x) ${text};; esac`),
  flat.map((text) => `f() { ${text}; }; f p1`),
  flat.map((text) => `echo "$(${text})"`),
  flat.map((text) => `cat <<E\n$(${text})\nE`),
  flat.map((text) => `cat <<'E'\n$(${text})\nE`),
  flat.map((text) => `bash <<'E'\n${text}\nE`),
  flat.map((text) => `x=(a $(${text}))`),
  flat.map((text) => `[[ -n $(${text}) ]] && p2`),
  flat.map((text) => `while p1; do ${text}; break; done`),
  flat.map((text) => `echo $(( 1 + $(${text}) ))`),
  flat.map((text) => `coproc ${text}`),
  flat.map((text) => `${text} > out 2>&1`),
  fc.string({
    unit: fc.constantFrom(
      'p1',
      'p2',
      ' ',
      '$',
      '(',
      ')',
      '{',
      '}',
      '`',
      '"',
      "'",
      '\\',
      '|',
      '&',
      ';',
      '<',
      '>',
      '\n',
      '[',
      ']',
      '!',
      '=',
      '#',
      'x',
    ),
    maxLength: 14,
  }),
);

(hasBash ? describe : describe.skip)('against bash itself', () => {
  let dir = '';
  beforeAll(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-shell-'));
    fs.mkdirSync(path.join(dir, 'bin'));
    fs.mkdirSync(path.join(dir, 'work'));
    for (const name of ['p1', 'p2', 'p3'])
      fs.writeFileSync(path.join(dir, 'bin', name), `#!/bin/sh\necho ${name} >> "$RAN"\n`, { mode: 0o755 });
    for (const name of [...real, 'bash', 'sh']) {
      const at = spawnSync('bash', ['-c', `type -P ${name}`], { encoding: 'utf8' }).stdout.trim();
      if (at !== '') fs.symlinkSync(at, path.join(dir, 'bin', name));
    }
  });
  afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));

  let runs = 0;
  const ranBy = (command: string): string[] => {
    // A file for each line: what an earlier one left in the background must not count for this one.
    const log = path.join(dir, `ran-${runs++}`);
    spawnSync('bash', ['--norc', '--noprofile', '-c', command], {
      cwd: path.join(dir, 'work'),
      env: { PATH: path.join(dir, 'bin'), RAN: log },
      input: 'p3\n',
      timeout: 2000,
      killSignal: 'SIGKILL',
    });
    return fs.existsSync(log) ? [...new Set(fs.readFileSync(log, 'utf8').trim().split('\n'))] : [];
  };

  it('nothing runs that the tree does not show', () => {
    let compared = 0;
    let refused = 0;
    fc.assert(
      fc.property(line, (command) => {
        const tree = parseShell(command, '/workspace');
        const ran = ranBy(command);
        // Whatever the tree says: no line is allowed that starts what is not allowed, or what is denied.
        if (ran.includes('p3')) {
          for (const policy of [withoutP3, deniesP3])
            expect({ command, verdict: bash(policy, command).verdict }).not.toEqual({ command, verdict: 'allow' });
          refused++;
        }
        if (tree.unknown !== null || tree.commands.some((part) => part.unknown !== undefined)) return;
        if (ran.length > 0) compared++;
        const shown = tree.commands.map((part) => programOf(part.words));
        expect({ command, missed: ran.filter((name) => !shown.includes(name)) }).toEqual({ command, missed: [] });
      }),
      { numRuns: lines },
    );
    // The comparison means something only if enough lines are known and run something.
    expect(compared).toBeGreaterThan(lines / 20);
    expect(refused).toBeGreaterThan(0);
  });
});
