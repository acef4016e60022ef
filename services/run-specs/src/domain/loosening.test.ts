import { type BacktestReport, backtest, compilePolicy, diffPolicies, type PolicyChange, parsePolicy } from '@fluidbox/policy';
import { loosenedCalls, looseningReasons } from './loosening';

const compiled = (text: string) => {
  const parsed = parsePolicy(`name: mine\n${text}`);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return compilePolicy(parsed.document);
};
const bash = (shell: string, more = '') => compiled(`${more}tools: [{ match: [Bash], action: allow, shell: ${shell} }]`);
const before = bash('{ allow: [ls], deny: [curl, wget] }');
const quiet = (change: Partial<BacktestReport> = {}): Promise<BacktestReport> =>
  backtest(before, before, []).then((report) => ({ ...report, ...change }));
const evidence = (report: BacktestReport, ...tools: string[]) => ({ report, tools: new Set(tools), complete: true });
const nothing = { changes: [], verdicts: [], loosens: false };

describe('what may let more through', () => {
  it('is nothing where nothing changed or everything narrowed', async () => {
    const after = bash('{ allow: [ls], deny: [curl, wget, nc] }');
    expect(looseningReasons(before, after, diffPolicies(before.document, after.document), evidence(await quiet(), 'Bash'))).toEqual([]);
  });

  it('is a list that lost a refusal, whatever the recorded calls say', async () => {
    const after = bash('{ allow: [ls], deny: [curl] }');
    const reasons = looseningReasons(before, after, diffPolicies(before.document, after.document), evidence(await quiet(), 'Bash'));
    expect(reasons).toEqual([expect.stringMatching(/^tools\[0\]\.shell\.deny:/)]);
  });

  it('is a recorded call that was let through, or that nobody can decide again', async () => {
    const report = await quiet();
    const marked = { ...report, undetermined: { count: 2, examples: [] } };
    const loosened = {
      ...report,
      changes: { ...report.changes, 'ask→allow': { count: 3, examples: [] }, 'allow→deny': { count: 9, examples: [] } },
    };
    expect(looseningReasons(before, before, nothing, evidence(marked, 'Bash'))).toEqual([
      expect.stringContaining('2 recorded calls cannot be decided'),
    ]);
    expect(looseningReasons(before, before, nothing, evidence(loosened, 'Bash'))).toEqual(['3 recorded calls: ask→allow']);
    expect(loosenedCalls(loosened)).toBe(3);
  });

  it('is a stored test that is weaker now, not one that is stricter', async () => {
    const verdicts = [
      { tool: 'Bash', input: {}, before: 'deny', after: 'ask' },
      { tool: 'Edit', input: {}, before: 'allow', after: 'ask' },
    ] as const;
    expect(looseningReasons(before, before, { ...nothing, verdicts }, evidence(await quiet(), 'Bash'))).toEqual([
      'a stored test of Bash: deny → ask',
    ]);
  });

  it('is a setting that can work both ways, which no call can settle', async () => {
    const change: PolicyChange = { path: 'something.new', change: 'changed', effect: 'unclear', text: 'something.new: 1 → 2' };
    expect(looseningReasons(before, before, { ...nothing, changes: [change] }, evidence(await quiet(), 'Bash'))).toHaveLength(1);
    const rule: PolicyChange = { ...change, path: 'tools[0].approval_ttl_secs' };
    expect(looseningReasons(before, before, { ...nothing, changes: [rule] }, evidence(await quiet(), 'Bash'))).toEqual([]);
  });

  it('judges a rule that is gone by the tools of the old document', async () => {
    const gone = compiled('defaults: { tool_action: allow }\ntools: [{ match: [WebFetch], action: deny }]');
    const after = compiled('defaults: { tool_action: allow }\ntools: [{ match: [Bash], action: deny }]');
    const diff = diffPolicies(gone.document, after.document);
    expect(looseningReasons(gone, after, diff, evidence(await quiet(), 'Bash'))).toEqual([
      expect.stringContaining('the rule for WebFetch is gone'),
    ]);
    expect(looseningReasons(gone, after, diff, evidence(await quiet(), 'Bash', 'WebFetch'))).toEqual([]);
  });

  it('is said in few words, however much changed', async () => {
    const many = Array.from(
      { length: 40 },
      (_, i): PolicyChange => ({ path: `tools[${i}].action`, change: 'changed', effect: 'loosens', text: 'x'.repeat(400) }),
    );
    const reasons = looseningReasons(before, before, { ...nothing, changes: many }, evidence(await quiet()));
    expect([reasons.length, reasons.at(-1), Math.max(...reasons.map((reason) => reason.length))]).toEqual([16, 'and 25 more', 300]);
  });
});
