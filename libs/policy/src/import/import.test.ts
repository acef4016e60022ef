import { compilePolicy } from '../compile';
import { parsePolicy } from '../document';
import { evaluate } from '../evaluate';
import { noHistory } from '../history/judge';
import { runPolicyTests } from '../run-tests';
import { importClaude } from './claude';
import { importCodex } from './codex';
import type { Imported, ImportNote } from './imported';
import { importOriginal } from './original';

/** The imported policy, ready to be asked; its own tests hold. */
function opened(imported: Imported) {
  if (!imported.ok) throw new Error(imported.problem);
  const { source, notes } = imported.policy;
  const parsed = parsePolicy(source);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const policy = compilePolicy(parsed.document);
  expect(runPolicyTests(policy)).toEqual([]);
  return {
    notes,
    document: parsed.document,
    ask: (tool: string, input: Record<string, unknown>) => evaluate(policy, { tool, input }, noHistory).verdict,
    bash: (command: string) => evaluate(policy, { tool: 'Bash', input: { command } }, noHistory).verdict,
    noted: (entry: string): ImportNote['outcome'][] => notes.filter((note) => note.entry.includes(entry)).map(({ outcome }) => outcome),
  };
}
const claude = (permissions: object) => opened(importClaude({ permissions }, 'imported'));

describe('permissions of Claude Code', () => {
  const policy = claude({
    allow: [
      'Bash(npm run test:*)',
      'Bash(npm run build)',
      'Bash(git log *)',
      'Bash(ls*)',
      'Bash(git * main)',
      'Read(//var/log/**)',
      'Edit(src/**)',
      'WebFetch(domain:docs.example.com)',
      'mcp__github__get_issue',
      'mcp__files',
      'Skill(deploy)',
      'Glob(*.ts',
      'mcp__*__read',
    ],
    ask: ['Bash(git push:*)', 'Read(./notes.txt)', 'Bash(docker*)', 'mcp__github'],
    deny: [
      'Bash(curl:*)',
      'Bash(rm*)',
      'Read(./.env)',
      'Read(secrets)',
      'Read(~/.ssh/**)',
      'Edit(/package-lock.json)',
      'WebSearch',
      'mcp__evil__*',
      'WebFetch(domain:evil.example)',
    ],
    additionalDirectories: ['/data/shared/', '../docs'],
    defaultMode: 'default',
  });

  it.each([
    ['npm run test', 'allow'],
    ['npm run test --ci', 'allow'],
    ['npm run test:destroy', 'ask'],
    ['npm run build', 'allow'],
    ['npm run build --prefix /x', 'ask'],
    ['git log -1', 'allow'],
    ['ls -la', 'allow'],
    ['lsof', 'ask'],
    ['git push origin main', 'ask'],
    ['git checkout main', 'ask'],
    ['curl x', 'deny'],
    ['npm run test && curl x', 'deny'],
    ['rm x', 'deny'],
    ['rmdir x', 'deny'],
    ['docker ps', 'deny'],
    ['dockerd', 'deny'],
    ['cat .env', 'deny'],
  ])('%s → %s', (command, verdict) => expect(policy.bash(command)).toBe(verdict));

  it.each([
    ['Read', '/workspace/a', 'allow'],
    ['Read', '/workspace/.env', 'deny'],
    ['Read', '/workspace/sub/.env', 'allow'],
    ['Read', '/workspace/sub/secrets', 'deny'],
    ['Read', '/workspace/secrets/key', 'deny'],
    ['Read', '/home/agent/.ssh/id', 'deny'],
    ['Read', '/workspace/notes.txt', 'deny'],
    ['Read', '/var/log/a/b', 'allow'],
    ['Read', '/data/shared/x', 'allow'],
    ['Read', '/etc/hosts', 'ask'],
    ['Edit', '/workspace/src/a.ts', 'allow'],
    ['Write', '/workspace/src/a.ts', 'allow'],
    ['Edit', '/workspace/b.ts', 'ask'],
    ['Edit', '/workspace/package-lock.json', 'deny'],
  ])('%s %s → %s', (tool, file_path, verdict) => expect(policy.ask(tool, { file_path })).toBe(verdict));

  it.each([
    ['WebFetch', { url: 'https://docs.example.com/a/b?c' }, 'allow'],
    ['WebFetch', { url: 'https://docs.example.com@evil.example/a' }, 'ask'],
    ['WebFetch', { url: 'https://evil.example/' }, 'ask'],
    ['WebSearch', {}, 'deny'],
    ['mcp__files__read', {}, 'allow'],
    ['mcp__github__get_issue', {}, 'ask'],
    ['mcp__github__delete', {}, 'ask'],
    ['mcp__evil__x', {}, 'deny'],
    ['mcp__other__x', {}, 'ask'],
    ['Skill', {}, 'ask'],
    ['TodoWrite', {}, 'allow'],
  ])('%s %j → %s', (tool, input, verdict) => expect(policy.ask(tool, input)).toBe(verdict));

  it('[POLICY-5] says what it could not carry over, and nothing became wider', () => {
    expect(policy.notes.filter(({ outcome }) => outcome === 'wider')).toEqual([]);
    expect(policy.noted('Bash(git * main)')).toEqual(['dropped']);
    expect(policy.noted('Bash(ls*)')).toEqual(['stricter']);
    expect(policy.noted('Bash(docker*)')).toEqual(['stricter']);
    expect(policy.noted('Read(./notes.txt)')).toEqual(['stricter']);
    expect(policy.noted('Skill(deploy)')).toEqual(['dropped']);
    expect(policy.noted('Glob(*.ts')).toEqual(['dropped']);
    expect(policy.noted('mcp__*__read')).toEqual(['dropped']);
    expect(policy.noted('WebFetch(domain:evil.example)')).toEqual(['stricter']);
    expect(policy.noted('../docs')).toEqual(['dropped']);
    expect(policy.noted('Bash(npm run test:*)')).toEqual([]);
  });

  it('a refusal that cannot be said is called wider', () => {
    expect(claude({ deny: ['Read(!keep)', 'what is this?'] }).notes.map(({ outcome }) => outcome)).toEqual(['wider', 'wider']);
  });

  it('bare names hold for the tool, deny before ask before allow', () => {
    const bare = claude({
      allow: ['Bash', 'Edit', 'WebFetch', 'Read'],
      ask: ['Write'],
      deny: ['Bash(git push:*)', 'Edit(/etc/**)', 'NotebookEdit'],
    });
    expect([bare.bash('anything x'), bare.bash('git push'), bare.bash('x $(')]).toEqual(['allow', 'deny', 'ask']);
    expect(['Edit', 'Write', 'NotebookEdit', 'MultiEdit'].map((tool) => bare.ask(tool, { file_path: '/opt/a' }))).toEqual([
      'allow',
      'ask',
      'deny',
      'ask',
    ]);
    expect([bare.ask('WebFetch', { url: 'http://a' }), bare.ask('Read', { file_path: '/opt/a' })]).toEqual(['allow', 'allow']);
    expect(claude({ allow: ['Bash'], ask: ['Bash'] }).bash('ls')).toBe('ask');
    expect(claude({ allow: ['Bash(ls:*)', 'Bash(ls)'], ask: ['Bash'] }).bash('ls')).toBe('ask');
    expect(claude({ allow: ['Bash'], deny: ['Bash'] }).bash('ls')).toBe('deny');
  });

  it.each([
    ['acceptEdits', 'allow', 'ask'],
    ['dontAsk', 'ask', 'deny'],
    ['plan', 'ask', 'deny'],
    ['bypassPermissions', 'ask', 'ask'],
    ['somethingNew', 'ask', 'ask'],
  ])('mode %s: edits %s, other tools %s', (defaultMode, edits, others) => {
    const found = claude({ defaultMode });
    expect([found.ask('Edit', { file_path: '/workspace/a' }), found.ask('Other', {})]).toEqual([edits, others]);
  });

  it.each([
    [{}, 'no "permissions"'],
    [{ permissions: [] }, 'must be an object'],
    [{ permissions: { allow: 'Bash' } }, 'must be lists of texts'],
    [{ permissions: { defaultMode: 7 } }, '"defaultMode"'],
    [{ permissions: { additionalDirectories: [7] } }, '"additionalDirectories"'],
  ])('refuses %j', (settings, problem) => {
    expect(importClaude(settings, 'x')).toMatchObject({ ok: false, problem: expect.stringContaining(problem) });
  });
  it('refuses a name that is none', () => expect(importClaude({ permissions: {} }, '.x')).toMatchObject({ ok: false }));
});

describe('rules of Codex', () => {
  const rules = `
# what a team may do
prefix_rule(
    pattern = ["git", ["push", "fetch"]],  # either
    decision = "prompt",
    justification = "leaves the machine",
    match = [["git", "push", "origin"], "git fetch --all"],
    not_match = [["git", "status"]],
)
prefix_rule(pattern = ["ls"])
prefix_rule(pattern = ['rm', "-rf"], decision = "forbidden")
prefix_rule(pattern = ["echo", "a b"], decision = "allow",)
prefix_rule(pattern = [["cargo"], ["test", "check"]])
host_executable(name = "git", paths = ["/usr/bin/git"])
for tool in ["a", "b"]:
    prefix_rule(pattern = [tool], decision = "forbidden")
prefix_rule(pattern = ["x"], decision = "maybe")
prefix_rule(pattern = [])
`;
  const policy = opened(
    importCodex(
      {
        rules: [rules],
        config: 'model = "x"\napproval_policy = "never"\nsandbox_mode = "workspace-write"\n[profiles.a]\nsandbox_mode = "read-only"\n',
      },
      'codex',
    ),
  );

  it.each([
    ['git push origin', 'ask'],
    ['git fetch --all', 'ask'],
    ['git status', 'ask'],
    ['ls -la', 'allow'],
    ['rm -rf x', 'deny'],
    ['rm -fr x', 'deny'],
    ["echo 'a b'", 'allow'],
    ['echo a b', 'ask'],
    ['cargo check', 'allow'],
    ['cargo build', 'ask'],
    ['ls && rm -rf x', 'deny'],
  ])('%s → %s', (command, verdict) => expect(policy.bash(command)).toBe(verdict));

  it('says what it could not read', () => {
    expect(policy.noted('for tool in')).toEqual(['wider']);
    expect(policy.noted('host_executable')).toEqual(['dropped']);
    expect(policy.noted('line 17')).toEqual(['wider']);
    expect(policy.noted('line 18')).toEqual(['dropped']);
    expect(policy.noted('never')).toEqual(['stricter']);
    expect(policy.notes.some(({ entry }) => entry.includes('line 16'))).toBe(true);
  });

  it('takes the approval policy and the sandbox', () => {
    expect(policy.ask('Edit', { file_path: '/workspace/a' })).toBe('allow');
    expect(policy.ask('Edit', { file_path: '/etc/a' })).toBe('ask');
    expect(policy.document.autonomy).toEqual({ permitted: true, on_approval_rule: 'deny' });
    const of = (config: string) => opened(importCodex({ rules: [], config }, 'codex'));
    expect(of('sandbox_mode = "read-only"').ask('Edit', { file_path: '/workspace/a' })).toBe('deny');
    expect(of('sandbox_mode = "danger-full-access"').ask('Edit', { file_path: '/workspace/a' })).toBe('ask');
    expect(of('').ask('Edit', { file_path: '/workspace/a' })).toBe('ask');
    expect(of("approval_policy = 'on-request'").noted('on-request')).toEqual(['stricter']);
    expect(of('[approval_policy.granular]\nx = true').noted('approval_policy')).toEqual(['stricter']);
  });

  it('writes out alternatives up to a bound', () => {
    const many = `prefix_rule(pattern = ["a", ${Array.from({ length: 5 }, () => '["1","2","3","4"]').join(', ')}], decision = "forbidden")`;
    expect(opened(importCodex({ rules: [many] }, 'x')).noted('line 1')).toEqual(['wider']);
  });

  it.each([
    'prefix_rule(',
    'prefix_rule(pattern = ["a"',
    '"""',
    '[[[[[[[[[[[[',
    'a(b=[[[[[[[[[["x"]]]]]]]]]])',
    "x = 'a\\'b'",
    '\u0000(',
    '))))',
    'prefix_rule("a")',
  ])('survives %j', (text) => {
    expect(opened(importCodex({ rules: [text] }, 'x')).notes.length).toBeGreaterThan(0);
  });
});

describe('a policy of the public fluidbox', () => {
  const source = `
name: standard
defaults: { tool_action: approve }
egress: { mode: none }
network: { max_mode: approved, require_approval: true }
budgets: { max_cost_usd: 5 }
autonomy: { permitted: true, on_approval_rule: deny }
tools:
  - match: [Read]
    action: allow
    paths: { allow: ["/workspace/*"], deny: ["/workspace/*.key", "*.pem", "**/.env"] }
  - match: [Edit]
    action: allow
    paths: { allow: ["/workspace/../x"], deny: [] }
  - match: [Bash]
    action: allow
    paths: { allow: ["/tmp/**"] }
    shell: { allow_prefixes: [ls, "git status", "a && b"], deny_regex: ["\\\\bcurl\\\\b", "(?=x)"], on_no_match: approve }
`;
  const policy = opened(importOriginal(source));

  it('decides as it did, or more strictly', () => {
    expect(policy.document).toMatchObject({ name: 'standard', budgets: { max_cost_usd: 5 }, network: { max_mode: 'offline' } });
    const read = (file_path: string) => policy.ask('Read', { file_path });
    expect([
      read('/workspace/a'),
      read('/workspace/a/b'),
      read('/workspace/x.key'),
      read('/workspace/a/b/x.key'),
      read('/workspace/a.d/x.key'),
      read('/etc/a.pem'),
      read('/workspace/.env'),
    ]).toEqual(['allow', 'ask', 'deny', 'deny', 'deny', 'deny', 'deny']);
    expect(policy.ask('Edit', { file_path: '/x' })).toBe('ask');
    expect([policy.bash('ls'), policy.bash('curl x'), policy.bash('ls && make'), policy.bash('git status')]).toEqual([
      'allow',
      'deny',
      'ask',
      'allow',
    ]);
  });

  it('says what changed', () => {
    expect(policy.noted('egress')).toEqual(['dropped']);
    expect(policy.noted('network.max_mode: approved')).toEqual(['stricter']);
    expect(policy.noted('tools[0].paths.allow: /workspace/*')).toEqual(['stricter']);
    expect(policy.noted('tools[1].paths.allow')).toEqual(['dropped']);
    expect(policy.noted('a && b')).toEqual(['dropped']);
    expect(policy.noted('(?=x)')).toEqual(['wider']);
    expect(policy.noted('tools[2].paths')).toContain('stricter');
  });

  it('takes another name, and refuses what is none of our language', () => {
    expect(opened(importOriginal(source, 'mine')).document.name).toBe('mine');
    expect(importOriginal('name: x\ntolls: []')).toMatchObject({ ok: false, problem: expect.stringContaining('tolls') });
    expect(importOriginal('- a')).toMatchObject({ ok: false });
    expect(importOriginal('a: [')).toMatchObject({ ok: false });
  });
});
