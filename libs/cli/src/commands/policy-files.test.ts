import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { paintFor } from '../paint';
import { explainCalls, testPolicyFile, validatePolicyFile } from './policy-files';

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
function captured(json: boolean, command: (output: Parameters<typeof explainCalls>[1]) => number): { code: number; lines: string[] } {
  const lines: string[] = [];
  const write = (text: string) => void lines.push(text);
  const code = command({ json, paint: paintFor({}, {}), out: write, err: write });
  return { code, lines };
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
