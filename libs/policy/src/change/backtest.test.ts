import { compilePolicy } from '../compile';
import { policyOf } from '../policy.fixture';
import { gateProjection } from '../projection';
import { seedPolicies } from '../seeds';
import { type BacktestReport, backtest, changeKinds, type RecordedCall } from './backtest';

type Shell = { allow?: string[]; ask?: string[]; deny?: string[]; deny_regex?: string[]; on_no_match?: 'allow' | 'ask' | 'deny' };
const bash = (shell: Shell, more: object = {}) => policyOf({ tools: [{ match: ['Bash'], action: 'allow', shell, ...more }] });
const ran = (command: string, more: Partial<RecordedCall> = {}): RecordedCall => ({
  projection: gateProjection({ tool: 'Bash', input: { command } }),
  ...more,
});
const counts = ({ changes }: BacktestReport) =>
  Object.fromEntries(changeKinds.flatMap((kind) => (changes[kind].count > 0 ? [[kind, changes[kind].count]] : [])));

describe('a backtest', () => {
  const before = bash({ allow: ['ls', 'git'], ask: ['git push'], deny: ['curl', 'rm'] });
  const after = bash({ allow: ['ls', 'curl', 'git push'], ask: ['rm'], deny: ['git log', 'git commit'], on_no_match: 'ask' });

  it('counts and shows every kind of change', async () => {
    const calls = ['ls', 'curl a', 'curl b', 'rm x', 'git log', 'git push', 'git status', 'make'].map((command, i) =>
      ran(command, { run: 'r1', callId: `c${i}` }),
    );
    const report = await backtest(before, after, calls);
    expect(counts(report)).toEqual({ 'deny→allow': 2, 'deny→ask': 1, 'allow→deny': 1, 'ask→allow': 1, 'allow→ask': 1 });
    expect(report).toMatchObject({ calls: 8, unchanged: 2, loosens: true, otherEngine: 0, undetermined: { count: 0 } });
    expect(report.changes['deny→ask'].examples).toEqual([
      {
        run: 'r1',
        callId: 'c3',
        number: 4,
        tool: 'Bash',
        call: 'rm x',
        before: { verdict: 'deny', rule: 0, reason: '"rm x" is denied by "rm"' },
        after: { verdict: 'ask', rule: 0, reason: '"rm x" needs approval by "rm"' },
      },
    ]);
  });

  it('says that a stricter policy does not loosen', async () => {
    const report = await backtest(before, bash({ allow: ['ls'], ask: ['git push'], deny: ['curl', 'rm'] }), [
      ran('git status'),
      ran('ls'),
      ran('curl x'),
    ]);
    expect(counts(report)).toEqual({ 'allow→ask': 1 });
    expect(report.loosens).toBe(false);
  });

  it('sees what an ask becomes where nobody is there', async () => {
    const to = (on_autonomous: 'allow' | 'deny') => bash({ ask: ['ls'] }, { on_autonomous });
    expect(await backtest(to('deny'), to('allow'), [ran('ls')])).toMatchObject({
      loosens: true,
      changes: { 'unattended deny→allow': { count: 1 } },
    });
    expect(await backtest(to('allow'), to('deny'), [ran('ls')])).toMatchObject({
      loosens: false,
      changes: { 'unattended allow→deny': { count: 1 } },
    });
  });

  it('[POLICY-4] of a policy with itself reports nothing, whatever stands in the calls', async () => {
    const marked = [ran('curl -H "x: ‹redacted:abc›" h'), ran('‹redacted:abc› x'), ran('ls')];
    for (const policy of [before, ...seedPolicies().map(({ document }) => compilePolicy(document))]) {
      const report = await backtest(policy, policy, marked);
      expect([counts(report), report.undetermined.count, report.unchanged, report.loosens]).toEqual([{}, 0, 3, false]);
    }
  });

  it('does not count texts for people as a change', async () => {
    const [plain, worded] = [bash({ deny: ['ls'] }), bash({ deny: ['ls'] }, { reason: 'no', tell_agent: 'never' })];
    expect(await backtest(plain, worded, [ran('ls ‹redacted:x›')])).toMatchObject({ unchanged: 1, undetermined: { count: 0 } });
  });

  it('keeps five examples of a kind, and counts all', async () => {
    const report = await backtest(
      before,
      after,
      Array.from({ length: 40 }, () => ran('curl x')),
    );
    expect([report.changes['deny→allow'].count, report.changes['deny→allow'].examples.length]).toEqual([40, 5]);
  });

  it('counts calls that another engine recorded', async () => {
    const call = ran('ls');
    expect((await backtest(before, after, [{ ...call, projection: { ...call.projection, engine: '0' } }])).otherEngine).toBe(1);
  });
});

describe('what a redaction mark hides', () => {
  const mark = '‹redacted:0›';
  const one = async (before: Shell, after: Shell, command: string, more: object = {}) => {
    const report = await backtest(bash(before, more), bash(after, more), [ran(command)]);
    return report.undetermined.count === 1 ? 'undetermined' : (Object.keys(counts(report))[0] ?? 'unchanged');
  };
  it.each([
    ['a program that may be the denied one', { allow: ['ls'] }, { allow: ['ls'], deny: ['rm'] }, `${mark} x`, 'undetermined'],
    ['a subcommand that may be', { allow: ['git'] }, { allow: ['git'], deny: ['git push'] }, `git ${mark}`, 'undetermined'],
    ['a command denied whatever it says', { allow: ['curl'] }, { allow: ['ls'], deny: ['curl'] }, `curl -H ${mark}`, 'allow→deny'],
    [
      'another command of the line denied',
      { allow: ['ls', 'rm', 'echo'] },
      { allow: ['echo'], deny: ['rm'] },
      `echo ${mark}; rm x`,
      'allow→deny',
    ],
    ['a text that a pattern reads', { allow: ['echo'] }, { allow: ['echo'], deny_regex: ['secret'] }, `echo ${mark}`, 'undetermined'],
    ['a command that is allowed whatever it says', { allow: ['echo'] }, { allow: ['echo', 'ls'] }, `echo ${mark}`, 'unchanged'],
    [
      'an unknown command where on_no_match denies',
      { allow: ['ls'], on_no_match: 'ask' as const },
      { allow: ['ls'], on_no_match: 'deny' as const },
      `${mark}`,
      'undetermined',
    ],
  ])('%s', async (_what, before, after, command, expected) => {
    expect(await one(before, after, command)).toBe(expected);
  });

  it('a mark that only the unquoted word has', async () => {
    const call = ran('git "pu"sh');
    const word = { text: '"pu"sh', value: '‹redacted:0›' };
    const commands = call.projection.shell?.commands.map((command) => ({ ...command, words: [...command.words.slice(0, 1), word] })) ?? [];
    const projection = { ...call.projection, shell: { ...(call.projection.shell ?? never()), commands } };
    const report = await backtest(bash({ allow: ['git'] }), bash({ ask: ['git'], deny: ['git push'] }), [{ projection }]);
    expect(report.undetermined.count).toBe(1);
  });

  const paths = (deny: string[]) => policyOf({ tools: [{ match: ['Edit'], action: 'allow', paths: { allow: ['/workspace/**'], deny } }] });
  const edit = (...files: string[]): RecordedCall => ({
    projection: gateProjection({ tool: 'Edit', input: { edits: files.map((file_path) => ({ file_path })), new_string: mark } }),
  });
  it('a path', async () => {
    expect(await backtest(paths([]), paths(['**/.env']), [edit(`/workspace/${mark}`)])).toMatchObject({ undetermined: { count: 1 } });
    expect(await backtest(paths([]), paths(['**/.env']), [edit(`/workspace/${mark}`, '/workspace/.env')])).toMatchObject({
      undetermined: { count: 1 },
    });
    expect(await backtest(paths(['**/a']), paths(['**/.env', '**/a']), [edit(`/workspace/${mark}`, '/workspace/a')])).toMatchObject({
      unchanged: 1,
    });
    // Only the new text of the file is hidden, and no policy looks at that.
    expect(await backtest(paths([]), paths(['**/.env']), [edit('/workspace/.env')])).toMatchObject({
      changes: { 'allow→deny': { count: 1 } },
    });
  });

  it('an argument that a condition reads, and no other', async () => {
    const when = (action: 'allow' | 'deny', glob: string | null) =>
      policyOf({
        defaults: { tool_action: 'allow' },
        tools: [{ match: ['mcp__a'], action, ...(glob === null ? {} : { when: { args: { '/repo': { glob } } } }) }],
      });
    const call: RecordedCall = { projection: gateProjection({ tool: 'mcp__a', input: { repo: mark } }) };
    expect(await backtest(when('deny', 'x'), when('allow', 'x'), [call])).toMatchObject({ undetermined: { count: 1 } });
    expect(await backtest(when('deny', null), when('allow', null), [call])).toMatchObject({ changes: { 'deny→allow': { count: 1 } } });
  });
});

describe('history is replayed', () => {
  const comment = (at: number, run = 'r'): RecordedCall => ({ projection: gateProjection({ tool: 'mcp__c', input: {} }), at, run });
  const policy = (history: object | null) =>
    policyOf({
      tools: [
        { match: ['Bash'], action: 'allow', shell: { allow: ['npm test'], ask: ['ls'] } },
        { match: ['mcp__*'], action: 'allow', ...(history === null ? {} : { history }) },
      ],
    });

  it('per run and in order', async () => {
    const requires = policy({ requires: { tool: 'Bash', command: 'npm test', ok: true, within_secs: 10 } });
    const calls = [
      comment(0),
      ran('npm test', { run: 'r', at: 1000, ok: false }),
      comment(2000),
      ran('npm test', { run: 'r', at: 3000, ok: true }),
      comment(4000),
      comment(4000, 'other run'),
      comment(20_000),
    ];
    const report = await backtest(policy(null), requires, calls);
    expect(counts(report)).toEqual({ 'allow→deny': 4 });
    expect(report.changes['allow→deny'].examples.map(({ number }) => number)).toEqual([1, 3, 6, 7]);
  });

  it('counts a call that was asked for only when it ran', async () => {
    const after = policy({ forbid_after: { tool: 'Bash', command: 'ls' } });
    expect(counts(await backtest(policy(null), after, [ran('ls', { run: 'r', ran: false }), comment(1)]))).toEqual({});
    expect(counts(await backtest(policy(null), after, [ran('ls', { run: 'r', ran: true }), comment(1)]))).toEqual({ 'allow→deny': 1 });
  });

  it('each policy makes its own history', async () => {
    const count = (max: number) => policy({ count: { max } });
    const report = await backtest(count(1), count(3), [comment(0), comment(1), comment(2), comment(3)]);
    expect(counts(report)).toEqual({ 'deny→allow': 2 });
  });
});

it('reads a stream, and decides more than five thousand calls in a second of work', async () => {
  const commands = [
    'git status --short',
    'npm test 2>&1 | tail -5',
    'cat src/a.js && node --test',
    'curl http://h.example',
    'git push origin main',
    'rm -rf build',
  ];
  const recorded = [
    ...commands.map((command) => gateProjection({ tool: 'Bash', input: { command } })),
    gateProjection({ tool: 'Edit', input: { file_path: '/workspace/src/a.ts', old_string: 'a', new_string: 'b'.repeat(500) } }),
    gateProjection({ tool: 'Read', input: { file_path: '/workspace/.env' } }),
  ].map((projection) => JSON.parse(JSON.stringify(projection)));
  async function* stream(length: number): AsyncGenerator<RecordedCall> {
    for (let i = 0; i < length; i++) yield { projection: recorded[i % recorded.length], run: `r${i % 50}` };
  }
  const [first, governed] = seedPolicies();
  const policies = [first, governed].map((seed) => compilePolicy((seed ?? never()).document));
  const [before, after] = [policies[0] ?? never(), policies[1] ?? never()];
  await backtest(before, after, stream(1000));
  // Of the processor, not of the clock: the machine may be busy.
  const started = process.cpuUsage();
  const report = await backtest(before, after, stream(10_000));
  const { user, system } = process.cpuUsage(started);
  expect(report.calls).toBe(10_000);
  expect(report.unchanged).toBeLessThan(10_000);
  // Measured far above.
  expect(10_000 / ((user + system) / 1e6)).toBeGreaterThan(5_000);
});

function never(): never {
  throw new Error('unreachable');
}
