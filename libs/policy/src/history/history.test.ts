import type { PolicyHistory } from '@fluidbox/contracts';
import { evaluate } from '../evaluate';
import { explain } from '../explain';
import { policyOf } from '../policy.fixture';
import { gateProjection } from '../projection';
import { withAllowed } from './fold';
import { type HistoryContext, noHistory } from './judge';
import { matchesOf } from './matches';

const now = 10_000_000;
const comment = { tool: 'mcp__github__comment', input: {} };
const run = (command: string) => ({ tool: 'Bash', input: { command } });
const at = (history: PolicyHistory): HistoryContext => ({ history, now });

type Rule = NonNullable<Parameters<typeof policyOf>[0]['tools']>[number];
const withHistory = (history: NonNullable<Rule['history']>, more: Partial<Rule> = {}) =>
  policyOf({
    tools: [
      { match: ['Bash'], action: 'allow' },
      { match: ['mcp__*'], action: 'allow', history, tell_agent: 'run the tests first', ...more },
    ],
  });
const countsFor = (policy: ReturnType<typeof policyOf>, command: string): boolean =>
  matchesOf(policy, gateProjection(run(command))).length > 0;

describe('requires', () => {
  const policy = withHistory({ requires: { tool: 'Bash', command: 'npm test', ok: true, within_secs: 3600 } });
  const seen = (at: number, ok: boolean | null): PolicyHistory => ({ '1.requires': { allowed: [{ at, ok }], total: 1, pending: 0 } });

  it('denies until the call was allowed and reported to have gone well, and says what is missing', () => {
    const before = evaluate(policy, comment, at({}));
    expect(before).toMatchObject({ verdict: 'deny', ruleIndex: 1, tellAgent: 'run the tests first' });
    expect(before.reason).toContain('it needs Bash "npm test" before it, reported by the runner as successful, at most 3600 s ago');
    expect(before.parts).toContainEqual(expect.objectContaining({ rule: 'history.requires', verdict: 'deny' }));
    for (const ok of [null, false]) expect(evaluate(policy, comment, at(seen(now - 1000, ok))).verdict).toBe('deny');
    expect(evaluate(policy, comment, at(seen(now - 1000, true)))).toMatchObject({ verdict: 'allow', history: [{ met: true }] });
  });

  it('counts the last second of the time and not the one before it', () => {
    expect(evaluate(policy, comment, at(seen(now - 3_600_000, true))).verdict).toBe('allow');
    expect(evaluate(policy, comment, at(seen(now - 3_600_001, true))).verdict).toBe('deny');
  });

  it('is not met by a call that only waits for a person', () => {
    expect(evaluate(policy, comment, at({ '1.requires': { allowed: [], total: 0, pending: 3 } })).verdict).toBe('deny');
  });

  it('leaves an ask an ask once it is met, and never makes it more', () => {
    const asks = withHistory({ requires: { tool: 'Read' } }, { action: 'ask' });
    expect(evaluate(asks, comment, at({})).verdict).toBe('deny');
    expect(evaluate(asks, comment, at(seen(0, null))).verdict).toBe('ask');
  });

  it.each([
    'npm test',
    'npm   test -- --ci',
    'cd app && npm test',
    'npm test && echo done',
    'mkdir -p out && npm test && cat out/log',
    'timeout 600 npm test',
    '/usr/bin/npm test',
    'npm test 2>&1',
    'CI=1 npm test',
  ])('counts %j, whose success is its success', (command) => {
    expect(countsFor(policy, command)).toBe(true);
  });

  it.each([
    'npm test; true',
    'npm test || true',
    'npm test | tail -5',
    'npm test &',
    '! npm test',
    'echo npm test',
    'exit 0 && npm test',
    'source x && npm test',
    'alias npm=true && npm test',
    "trap 'exit 0' EXIT && npm test",
    'hash -p /bin/true npm && npm test',
    'PATH=/tmp npm test',
    'PATH=/tmp && npm test',
    'npm --prefix x test',
    'npm test --script-shell=/tmp/x',
    '$X npm test',
    'npm test $(',
    '(npm test)',
    'if npm test; then ls; fi',
    'npm() { :; }\nnpm test',
    'nohup npm test',
    'bash -c "npm test"',
    './npm test',
    'npm "$X" test',
    'npm te?t',
    'npm ci',
    '',
  ])('does not count %j, which proves nothing', (command) => {
    expect(countsFor(policy, command)).toBe(false);
  });

  it('counts no call of another tool and none whose text was mended', () => {
    expect(matchesOf(policy, gateProjection({ tool: 'Monitor', input: { command: 'npm test' } }))).toEqual([]);
    expect(matchesOf(policy, gateProjection({ ...run('npm test'), mended: true }))).toEqual([]);
    expect(matchesOf(policy, gateProjection({ tool: 'Bash', input: {} }))).toEqual([]);
  });

  it('counts a failure only of a command that stands alone, and a mere run only where it starts the line', () => {
    const failed = withHistory({ requires: { tool: 'Bash', command: 'npm test', ok: false } });
    const ran = withHistory({ requires: { tool: 'Bash', command: 'npm test' } });
    expect([countsFor(failed, 'npm test'), countsFor(failed, 'cd x && npm test'), countsFor(failed, 'npm test && ls')]).toEqual([
      true,
      false,
      false,
    ]);
    expect([countsFor(ran, 'npm test'), countsFor(ran, 'npm test && ls'), countsFor(ran, 'cd x && npm test')]).toEqual([true, true, false]);
  });
});

describe('forbid_after', () => {
  const policy = withHistory({ forbid_after: { tool: 'Bash', command: 'curl' } });
  it('denies once a call that may be the one was allowed, or waits', () => {
    expect(evaluate(policy, comment, at({})).verdict).toBe('allow');
    expect(evaluate(policy, comment, at({ '1.forbid_after': { allowed: [], total: 1, pending: 0 } }))).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('it is not allowed after Bash "curl"'),
    });
    expect(evaluate(policy, comment, at({ '1.forbid_after': { allowed: [], total: 0, pending: 1 } }))).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('waits for approval'),
    });
  });
  it.each([
    'curl x',
    'ls && curl x',
    'echo $(curl x)',
    'sudo curl x',
    '/opt/curl x',
    '$X',
    'ls; $(echo curl) x',
    'if true',
    'bash -c "$X"',
  ])('counts %j, which may run it', (command) => expect(countsFor(policy, command)).toBe(true));
  it.each(['ls', 'echo curl', 'git status && npm test'])('does not count %j', (command) => expect(countsFor(policy, command)).toBe(false));
  it('counts a call of the tool that has no readable command', () => {
    expect(matchesOf(policy, gateProjection({ tool: 'Bash', input: { command: 7 } }))).toEqual(['1.forbid_after']);
  });
  it('without a command counts every call of the tool', () => {
    const any = withHistory({ forbid_after: { tool: 'Web*' } });
    expect(matchesOf(any, gateProjection({ tool: 'WebFetch', input: {} }))).toEqual(['1.forbid_after']);
    expect(matchesOf(any, gateProjection({ tool: 'Read', input: {} }))).toEqual([]);
  });
});

describe('rate and count', () => {
  const policy = withHistory({ rate: { max: 2, per_secs: 60 }, count: { max: 3 } });
  const seen = (times: readonly number[], pending = 0): PolicyHistory =>
    Object.fromEntries(
      ['1.rate', '1.count'].map((name) => [name, { allowed: times.map((time) => ({ at: time, ok: null })), total: times.length, pending }]),
    );
  it.each([
    ['nothing', [], 0, 'allow'],
    ['one', [now], 0, 'allow'],
    ['two in the window', [now - 59_999, now], 0, 'deny'],
    ['one of two fell out of the window', [now - 60_000, now], 0, 'allow'],
    ['one that waits takes a place', [now], 1, 'deny'],
    ['three in all', [0, 0, 0], 0, 'deny'],
    ['two in all and one that waits', [0, 0], 1, 'deny'],
  ] as const)('%s: %j and %d pending → %s', (_what, times, pending, verdict) => {
    expect(evaluate(policy, comment, at(seen(times, pending))).verdict).toBe(verdict);
  });
  it('names the numbers', () => {
    expect(evaluate(policy, comment, at(seen([now], 1))).reason).toContain(
      '2 of 2 calls of this rule (1 waiting for approval) are taken in 60 s',
    );
    expect(evaluate(policy, comment, at(seen([0, 0, 0]))).reason).toContain('3 of 3 calls of this rule are taken in this run');
  });
  it('counts the calls that the rule itself decides, and no others', () => {
    expect(matchesOf(policy, gateProjection(comment))).toEqual(['1.rate', '1.count']);
    expect(matchesOf(policy, gateProjection(run('ls')))).toEqual([]);
    const shadowed = policyOf({
      tools: [
        { match: ['Read'], action: 'allow' },
        { match: ['*'], action: 'allow', history: { count: { max: 1 } } },
      ],
    });
    expect(matchesOf(shadowed, gateProjection({ tool: 'Read', input: { file_path: '/workspace/a' } }))).toEqual([]);
    expect(matchesOf(shadowed, gateProjection({ tool: 'LS', input: {} }))).toEqual(['1.count']);
  });
});

it('a rule that asks for the history denies where nobody knows it', () => {
  const policy = withHistory({ count: { max: 5 } });
  expect(evaluate(policy, comment)).toMatchObject({ verdict: 'deny', reason: expect.stringContaining('not known here') });
  expect(evaluate(policy, run('ls')).verdict).toBe('allow');
  expect(evaluate(policy, comment, noHistory).verdict).toBe('allow');
});

it('a fold of allowed calls reaches the limit', () => {
  const policy = withHistory({ count: { max: 2 } });
  let history: PolicyHistory = {};
  const verdicts = [1, 2, 3].map((second) => {
    const { verdict } = evaluate(policy, comment, { history, now: second });
    if (verdict === 'allow') history = withAllowed(history, matchesOf(policy, gateProjection(comment)), { at: second, ok: null });
    return verdict;
  });
  expect(verdicts).toEqual(['allow', 'allow', 'deny']);
  expect(history).toEqual({
    '1.count': {
      allowed: [
        { at: 1, ok: null },
        { at: 2, ok: null },
      ],
      total: 2,
      pending: 0,
    },
  });
});

it('explain shows the history that a rule asks for', () => {
  const policy = withHistory({ requires: { tool: 'Bash', command: 'npm test', ok: true } });
  const said = explain(policy, comment);
  expect(said).toMatchObject({ verdict: 'deny', history: [{ condition: '1.requires', met: false }] });
  expect(said.toAllow).toContain('make a call of Bash "npm test" first');
});
