import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { approvalIdOf, type WorkspaceInput } from '@fluidbox/contracts';
import { addedLines } from './support/diff';
import { instruction, plantHostileRepository, runCarelessly } from './support/hostile-repository';
import { type SystemStack, startSystemStack } from './support/stack';
import { typesOf } from './support/wire-run';

const asking = `
name: asking
defaults: { tool_action: deny }
tools:
  - match: [Bash]
    action: ask
`;
const trusting = `
name: trusting
defaults: { tool_action: deny }
tools:
  - match: [Bash]
    action: allow
`;

const bash = (command: string) => ({ name: 'Bash', input: { command, description: 'x' } });

describe('a hostile repository', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-hostile-'));
  const repository = path.join(dir, 'repository');
  const markers = path.join(dir, 'markers');
  const plain = path.join(dir, 'plain');
  const pwned = path.join(markers, 'pwned');
  let stack: SystemStack | undefined;
  const running = (): SystemStack => {
    if (stack === undefined) throw new Error('the stack did not start');
    return stack;
  };

  /** What an agent leaves for whoever runs git in its workspace next. */
  const plantInGit = [
    `printf '#!/bin/sh\\ntouch ${pwned} /workspace/HOOK-ran\\n' > /tmp/hook; chmod +x /tmp/hook`,
    'mkdir -p .githooks .git/hooks',
    'for h in post-checkout pre-commit post-commit post-index-change fsmonitor; do cp /tmp/hook .git/hooks/$h; cp /tmp/hook .githooks/$h; done',
    'git config core.hooksPath .githooks',
    'git config core.fsmonitor .git/hooks/fsmonitor',
    'git config diff.external .git/hooks/pre-commit',
    'git config filter.evil.clean .git/hooks/pre-commit',
    "echo '* filter=evil diff=evil' > .gitattributes",
    "printf 'secret.txt\\n*.log\\n' > .gitignore",
    'echo hidden > secret.txt',
    'echo changed >> file.txt',
    'git -c core.fsmonitor= commit -q --allow-empty -m x',
  ].join('\n');

  beforeAll(async () => {
    for (const folder of [repository, markers, plain]) fs.mkdirSync(folder);
    plantHostileRepository(repository, markers);
    fs.writeFileSync(path.join(plain, 'file.txt'), 'one\n');
    stack = await startSystemStack({
      script: {
        conversations: [
          { match: 'plant something', steps: [{ tools: [bash(plantInGit)] }, { text: 'planted' }] },
          {
            steps: [
              { tools: [bash('git status; git diff; ls')] },
              { tools: [{ name: 'Skill', input: { skill: 'zap' } }] },
              { text: 'done' },
            ],
          },
        ],
      },
      sources: [dir],
    });
    for (const [name, source] of Object.entries({ asking, trusting })) {
      await stack.admin.importPolicy(name, { source });
      await stack.admin.createAgent({ name, policy: name });
    }
  });
  afterAll(async () => {
    await stack?.stop();
    fs.rmSync(dir, { recursive: true, force: true });
  });

  const ranOnHost = (): string[] => fs.readdirSync(markers);

  it.each<[string, WorkspaceInput]>([
    ['as a local copy', { kind: 'local_copy', path: repository }],
    ['as a git repository', { kind: 'git_repository', clone_url: repository }],
  ])('[SANDBOX-3] %s runs nothing before the gate is asked, and nothing by itself afterwards', async (_name, workspace) => {
    const { admin, home, model } = running();
    const asked = model.requests.length;
    const { session } = await admin.createSession({ agent: 'asking', task: '/zip @CLAUDE.md say hello', workspace });
    const inside = path.join(home, 'runs', session.id, 'workspace');
    const ranInside = (): string[] => fs.readdirSync(inside).filter((name) => name.startsWith('RAN-'));
    const before: string[][] = [];
    for await (const event of admin.watch(session.id)) {
      if (event.type === 'approval.requested') {
        // The program has read its settings, started its servers and sent its first request by now.
        before.push(ranInside(), ranOnHost());
        await admin.decide(approvalIdOf(session.id, String(event.data.tool_call_id)), { decision: 'approve' });
      }
      if (event.type === 'run.result') break;
    }
    expect(before).toEqual([[], []]);
    const events = await admin.allEvents(session.id);
    expect(events.at(-1)?.data).toMatchObject({ outcome: 'completed', coverage: 'full' });
    expect(typesOf(events, 'workspace.initialized')).toHaveLength(1);
    expect(typesOf(events, 'tool.decision').map(({ data }) => data.verdict)).toEqual(['allow']);
    expect((await admin.artifact(session.id, 'diff')).toString('utf8')).toBe('');
    expect(ranOnHost()).toEqual([]);
    const sent = JSON.stringify(model.requests.slice(asked).map(({ body }) => body));
    expect(sent).not.toContain(instruction);
    expect(sent).toContain('/zip @CLAUDE.md say hello');
    // The twin of the above: the repository was there, and the approved command saw it.
    expect(sent).toContain('start-up.sh');
  });

  it('[WORKSPACE-2] that the agent makes of its workspace runs nothing on the control plane, and hides nothing', async () => {
    const { admin } = running();
    const { session } = await admin.createSession({
      agent: 'trusting',
      task: 'plant something',
      workspace: { kind: 'local_copy', path: plain },
    });
    for await (const event of admin.watch(session.id)) if (event.type === 'run.result') break;
    const diff = await admin.artifact(session.id, 'diff');
    expect(fs.existsSync(pwned)).toBe(false);
    const files = addedLines(diff.toString('utf8'));
    expect(files.get('file.txt')).toEqual(['changed']);
    expect(files.get('secret.txt')).toEqual(['hidden']);
    // The twin: inside, where the agent ran git itself, its hooks did run.
    expect(diff.toString('utf8')).toContain('HOOK-ran');
    execFileSync('git', ['apply', '--check', '-'], { cwd: plain, input: diff });
  });

  it('is effective where nobody is careful', () => {
    const ran = runCarelessly(repository, markers);
    expect(ran).toEqual(
      expect.arrayContaining(['RAN-SessionStart', 'RAN-fsmonitor', 'RAN-hook-post-checkout', 'RAN-mcp', 'RAN-start-start-up.sh']),
    );
  });
});
