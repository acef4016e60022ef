import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { gateProjection } from '@fluidbox/policy';
import type { Output } from '../../output';
import { paintFor } from '../../paint';
import { backtestPolicies, diffPolicyFiles } from './backtest-policies';
import { lintPolicyFile, testPolicyFile, validatePolicyFile } from './check-policy';
import { explainCalls } from './explain-calls';
import { convertPolicy } from './import-policy';
import { recordedCalls } from './read-calls';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-policy-'));
afterAll(() => fs.rmSync(dir, { recursive: true }));
const file = (name: string, text: string): string => {
  fs.writeFileSync(path.join(dir, name), text);
  return path.join(dir, name);
};
const good = file(
  'good.yaml',
  `name: good
defaults: { tool_action: deny }
tools:
  - match: [Bash]
    action: allow
    shell: { allow: ["git status"], ask: ["git push"], deny: ["curl"], on_no_match: ask }
tests:
  - { tool: Bash, input: { command: "git status" }, expect: allow }
`,
);
/** Runs a command and answers its exit code and what it wrote. */
function capturing(json: boolean): { output: Output; lines: string[] } {
  const lines: string[] = [];
  const write = (text: string) => void lines.push(text);
  return { output: { json, paint: paintFor({}, {}), out: write, err: write }, lines };
}
function captured(json: boolean, command: (output: Output) => number): { code: number; lines: string[] } {
  const { output, lines } = capturing(json);
  return { code: command(output), lines };
}

describe('policy validate', () => {
  it('accepts a valid file', () => {
    expect(captured(false, (output) => validatePolicyFile(good, output)).code).toBe(0);
  });

  it('marks the offending place and ends with 1', () => {
    const bad = file('bad.yaml', 'name: bad\ntools:\n  - match: [Bash]\n    action: allow\n    shel: {}\n');
    const { code, lines } = captured(false, (output) => validatePolicyFile(bad, output));
    expect(code).toBe(1);
    expect(lines[0]).toContain(`${bad}:5:5 tools[0].shel`);
    expect(lines[2]).toBe('      ^');
    const machine = captured(true, (output) => validatePolicyFile(bad, output)).lines[0] ?? '';
    expect(JSON.parse(machine)).toMatchObject({ ok: false, problems: [{ path: 'tools[0].shel', line: 5, column: 5 }] });
  });
});

it('a file that is not valid ends what needs it with its first problem, and says that there are more', () => {
  const bad = file('worse.yaml', 'name: bad\nmoode: observe\nbudget: {}\nguards: { same_call: x }\n');
  expect(() => captured(false, (output) => testPolicyFile(bad, output))).toThrow(
    `${bad}:2:1 moode is not a key of the policy language; did you mean mode? (and 2 more: policy validate ${bad})`,
  );
});

it('a stored policy that is named in place of a file says how it becomes one', () => {
  expect(() => captured(false, (output) => validatePolicyFile('default', output))).toThrow(
    'policy file default: no such file; a stored policy becomes one with: policy get default > default.yaml',
  );
});

describe('policy test', () => {
  it('runs the tests of the document', () => {
    expect(captured(false, (output) => testPolicyFile(good, output))).toEqual({ code: 0, lines: ['1 passed, 0 failed'] });
    const wrong = file('wrong.yaml', fs.readFileSync(good, 'utf8').replace('expect: allow', 'expect: deny'));
    const { code, lines } = captured(false, (output) => testPolicyFile(wrong, output));
    expect(code).toBe(1);
    expect(lines[0]).toContain('tests[0]: expected deny, got allow');
  });
});

describe('policy explain', () => {
  const explained = (options: Partial<Parameters<typeof explainCalls>[0]>) =>
    captured(true, (output) => explainCalls({ policy: good, ...options }, output)).lines.map((line) => JSON.parse(line));
  const bash = (command: string) => ({ tool: 'Bash', input: { command } });

  it('names verdict, source, rule with its line, and every part', () => {
    expect(explained(bash('git status && curl x'))).toMatchObject([
      {
        verdict: 'deny',
        source: 'policy',
        rule: { index: 0, line: 4 },
        parts: [
          { command: 'git status', verdict: 'allow' },
          { command: 'curl x', verdict: 'deny' },
        ],
      },
    ]);
    expect(explained(bash('git status'))).toMatchObject([{ verdict: 'allow', toAllow: null }]);
  });

  it('judges for the read-only tier and for runs that nobody watches', () => {
    expect(explained({ tool: 'Write', input: { file_path: '/workspace/a' }, tier: 'read_only' })).toMatchObject([
      { verdict: 'deny', source: 'trust_tier' },
    ]);
    expect(explained({ ...bash('git push'), autonomous: true })).toMatchObject([{ verdict: 'deny', source: 'autonomy_rewrite' }]);
    expect(explained(bash('git push'))).toMatchObject([{ verdict: 'ask', source: 'policy' }]);
  });

  it('explains one call per line of a file, and names the line that is none', () => {
    const calls = file('calls.jsonl', `${JSON.stringify(bash('git status'))}\n\n${JSON.stringify(bash('curl x'))}\n`);
    expect(explained({ calls }).map((answer) => answer.verdict)).toEqual(['allow', 'deny']);
    const broken = file('broken.jsonl', '{"tool":"Bash","input":{}}\n{"tool":7}\n');
    expect(() => explained({ calls: broken })).toThrow(`${broken}:2`);
  });
});

it('explain shows the tree, the entry that decided and its line', () => {
  const { lines } = captured(false, (output) =>
    explainCalls({ policy: good, tool: 'Bash', input: { command: 'git status && timeout 5 curl $(make x)' } }, output),
  );
  expect(lines.join('\n')).toMatch(/^DENY Bash /);
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}allow git status allow: git status at .*good\.yaml:6:22/));
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}deny {4}curl/));
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}ask .*make x/));
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}to allow .*remove the entry deny: curl/));
  const marked = lines.findIndex((line) => /^ +\^$/.test(line));
  expect(lines[marked - 1]?.slice((lines[marked]?.length ?? 0) - 1)).toMatch(/^"curl"/);
});

describe('policy lint', () => {
  it('ends with 1 on a finding, names its place and the fix', () => {
    const bad = file('lint.yaml', 'name: lint\ntools:\n  - { match: ["*"], action: allow }\n  - { match: [WebFetch], action: deny }\n');
    const { code, lines } = captured(false, (output) => lintPolicyFile(bad, output));
    expect(code).toBe(1);
    expect(lines[0]).toContain(`${bad}:4:5 error deny_after_allow tools[1] this rule denies nothing`);
    expect(lines[3]).toBe('  fix: move it in front of tools[0]');
    expect(JSON.parse(captured(true, (output) => lintPolicyFile(bad, output)).lines[0] ?? '')).toMatchObject({
      ok: false,
      findings: [{ code: 'deny_after_allow', line: 4, column: 5 }],
    });
  });
  it('looks at the tools of the harness that is named, or of any', () => {
    const unnamedOf = (harness?: 'codex') =>
      captured(false, (output) => lintPolicyFile(good, output, harness)).lines.find((line) => line.includes('unnamed_tool'));
    expect(unnamedOf('codex')).toContain('no rule names Edit, BashOutput;');
    expect(unnamedOf()).toContain('NotebookEdit');
  });
  it('ends with 0 when there are only notes', () => {
    const { code, lines } = captured(false, (output) => lintPolicyFile(good, output));
    expect(code).toBe(0);
    expect(lines.at(-1)).toBe('0 errors, 0 warnings, 1 notes');
  });
  it('of a file that is not valid names the problem', () => {
    const bad = file('typo.yaml', 'name: typo\ntools:\n  - match: [Bash]\n    action: allow\n    shell: { alow: [ls] }\n');
    expect(() => captured(false, (output) => lintPolicyFile(bad, output))).toThrow(`${bad}:5:14 tools[0].shell.alow`);
  });
});

describe('policy backtest and diff', () => {
  const wider = file(
    'wider.yaml',
    fs.readFileSync(good, 'utf8').replace('deny: ["curl"]', 'deny: []').replace('name: good', 'name: wider'),
  );
  const calls = file(
    'recorded.jsonl',
    [
      { tool: 'Bash', input: { command: 'curl x' }, run: 'r1', call_id: 'c1', at: '2026-01-01T00:00:00Z', ok: null },
      { tool: 'Bash', input: { command: 'git status' } },
    ]
      .map((call) => JSON.stringify(call))
      .join('\n'),
  );
  it('counts and shows what changes, and ends with 1 when it loosens', async () => {
    const { output, lines } = capturing(false);
    expect(await backtestPolicies({ from: good, to: wider }, recordedCalls(calls), output)).toBe(1);
    expect(lines.slice(0, 2)).toEqual(['deny→ask 1', '  r1 c1: Bash curl x']);
    expect(lines.at(-1)).toBe('2 calls, 1 unchanged; it lets calls through more easily');
    const machine = capturing(true);
    expect(await backtestPolicies({ from: wider, to: good }, recordedCalls(calls), machine.output)).toBe(0);
    expect(JSON.parse(machine.lines[0] ?? '')).toMatchObject({ calls: 2, loosens: false, changes: { 'ask→deny': { count: 1 } } });
  });
  it('reads recorded projections, and names the line that is none', async () => {
    const projection = JSON.parse(JSON.stringify(gateProjection({ tool: 'Bash', input: { command: 'cd a && curl x > b' } })));
    const recorded = file('projections.jsonl', `${JSON.stringify({ projection, run: 'r' })}\n`);
    const { output, lines } = capturing(true);
    await backtestPolicies({ from: good, to: wider }, recordedCalls(recorded), output);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ calls: 1, changes: { 'deny→ask': { count: 1 } } });
    const broken = file('broken-projection.jsonl', `{"projection":{"tool":"Bash"}}\n`);
    await expect(backtestPolicies({ from: good, to: wider }, recordedCalls(broken), output)).rejects.toThrow(`${broken}:1: projection.`);
    const misspelt = file('misspelt.jsonl', '{"tool":"Bash","inpt":{}}\n');
    await expect(backtestPolicies({ from: good, to: wider }, recordedCalls(misspelt), output)).rejects.toThrow(
      `${misspelt}:1: input: must be an object`,
    );
    await expect(backtestPolicies({ from: good, to: wider }, recordedCalls(path.join(dir, 'none.jsonl')), output)).rejects.toThrow(
      'none.jsonl',
    );
  });
  it('diff says what each change can do', () => {
    const { code, lines } = captured(false, (output) => diffPolicyFiles(good, wider, output));
    expect(code).toBe(1);
    expect(lines).toContainEqual(expect.stringMatching(/^loosens changed tools\[0\]\.shell\.deny: \["curl"\] → \[\]/));
    expect(captured(true, (output) => diffPolicyFiles(good, good, output))).toEqual({
      code: 0,
      lines: ['{"changes":[],"verdicts":[],"loosens":false}'],
    });
  });
});

describe('policy import --format', () => {
  const settings = file(
    'settings.json',
    JSON.stringify({ permissions: { allow: ['Bash(npm test:*)', 'Bash(a * b)'], deny: ['Bash(curl:*)'] } }),
  );
  it('writes a valid policy and says what it left out', () => {
    const out = path.join(dir, 'imported.yaml');
    const { code, lines } = captured(false, (output) => convertPolicy({ format: 'claude', name: 'mine', file: settings, out }, output));
    expect(code).toBe(0);
    expect(lines[0]).toMatch(/^dropped +Bash\(a \* b\)/);
    expect(captured(false, (output) => validatePolicyFile(out, output)).code).toBe(0);
    expect(captured(false, (output) => testPolicyFile(out, output)).code).toBe(0);
  });
  it('ends with 1 when a refusal could not be carried over', () => {
    const rules = file('x.rules', 'for x in ["a"]:\n  prefix_rule(pattern=[x], decision="forbidden")\n');
    expect(captured(true, (output) => convertPolicy({ format: 'codex', name: 'mine', file: rules }, output)).code).toBe(1);
    const original = file('original.yaml', 'name: o\ntools: [{ match: [Bash], action: allow, shell: { allow_prefixes: [ls] } }]');
    const converted = captured(true, (output) => convertPolicy({ format: 'original', name: 'mine', file: original }, output));
    expect([converted.code, JSON.parse(converted.lines[0] ?? '').notes]).toEqual([0, []]);
  });
  it('names what is wrong with the file', () => {
    expect(() => captured(true, (output) => convertPolicy({ format: 'claude', name: 'mine', file: good }, output))).toThrow(good);
  });
});
