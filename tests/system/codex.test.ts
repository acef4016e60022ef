import { execFileSync, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { approvalIdOf, type EventView, type WorkspaceInput } from '@fluidbox/contracts';
import { type ModelScript, type ResponsesFunction, type ResponsesRequest, readScriptFile } from '@fluidbox/testing';
import { escapeResponses, runEscape } from '../proof/escape/run-escape';
import { escapeTable, holesIn } from '../proof/escape/table';
import { countEvents } from './support/count-events';
import { addedLines } from './support/diff';
import { instruction, plantHostileRepository } from './support/hostile-repository';
import { fingerprint, fluidbox, repositoryRoot, type SystemStack, startSystemStack } from './support/stack';
import { typesOf } from './support/wire-run';

const sample = path.join(repositoryRoot, 'libs/cli/demo/repository');
const demo = readScriptFile(path.join(repositoryRoot, 'libs/cli/demo/model.json'));
const canaries = { DATABASE_URL: 'postgres://canary', FUTURE_SECRET_X: 'canary2' };

const policies = {
  everything: 'name: everything\ndefaults: { tool_action: deny }\ntools:\n  - { match: [Bash], action: allow }\n',
  nonce: `
name: nonce
defaults: { tool_action: deny }
tools:
  - match: [Bash]
    action: allow
    shell: { allow: ["printf", "sha256sum", "sleep", "echo", "apply_patch", "cd"], deny: ["env"], on_no_match: deny }
    paths: { allow: ["/workspace/**"], deny: ["**/.env"] }
  - match: [Edit]
    action: allow
    paths: { allow: ["/workspace/**"], deny: ["**/.env"] }
`,
  asking: `
name: asking
defaults: { tool_action: deny }
tools:
  - match: [Bash]
    action: ask
`,
};

/** A command whose effect proves that it ran: the hash of a secret that only the command line knows. */
function nonce(): { command: string; hash: string } {
  const secret = randomBytes(12).toString('hex');
  return { command: `printf %s ${secret} | sha256sum`, hash: createHash('sha256').update(secret).digest('hex') };
}

const exec = (cmd: string, more: object = {}) => ({ name: 'exec_command', input: { cmd, ...more } });
const patch = (...hunks: string[]) => ({ name: 'apply_patch', input: ['*** Begin Patch', ...hunks, '*** End Patch'].join('\n') });
const added = (file: string) => `*** Add File: ${file}\n+x`;
const heredoc = (file: string) => exec(`apply_patch <<'EOF'\n${patch(added(file)).input}\nEOF`);

/** The names that the README of the runner promises, and no others. */
function documentedVariables(): string[] {
  const readme = fs.readFileSync(path.join(repositoryRoot, 'images/codex-runner/README.md'), 'utf8');
  const section = readme.split('## What a command finds in its environment')[1]?.split('\n## ')[0] ?? '';
  const lists = section.split('\n').filter((line) => line.startsWith('- '));
  return lists.flatMap((line) => /`([^`]+)`/.exec(line)?.[1]?.split(' ') ?? []).sort();
}

/** Reads what a command in the background has said, which needs the number that the program gave it. */
const pollOnce: ResponsesFunction = ({ input }) => {
  const last = String(input.findLast(({ type }) => type === 'function_call_output')?.output ?? '');
  const session = /running with session ID (\d+)/.exec(last)?.[1];
  return session === undefined
    ? undefined
    : { tools: [{ name: 'write_stdin', input: { session_id: Number(session), chars: '', yield_time_ms: 5_000 } }] };
};

describe('the real Codex', () => {
  const allowed = nonce();
  const denied = nonce();
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-codex-'));
  const [repository, markers, attempts] = ['repository', 'markers', 'attempts'].map((name) => path.join(dir, name)) as [
    string,
    string,
    string,
  ];
  let stack: SystemStack | undefined;
  const running = (): SystemStack => {
    if (stack === undefined) throw new Error('the stack did not start');
    return stack;
  };

  beforeAll(async () => {
    for (const folder of [repository, markers, attempts]) fs.mkdirSync(folder);
    plantHostileRepository(repository, markers);
    const conversations: ModelScript['conversations'] = [
      {
        match: 'try what the policy says',
        wire: 'responses',
        steps: [
          { tools: [exec(allowed.command), exec(`env ${denied.command}`), exec('echo $HOME', { shell: '/bin/sh' })] },
          { tools: [patch(added('good.txt'), added('sub/also.txt')), patch(added('one.txt'), added('sub/.env')), heredoc('conf/.env')] },
          { tools: [patch('*** Update File: good.txt', '*** Move to: .env', '@@', '-x', '+y'), heredoc('heredoc.txt')] },
          { tools: [exec('sleep 3; echo later', { yield_time_ms: 250 })] },
          { text: 'the place of the answer that looks at what runs' },
          { tools: [{ name: 'apply_patch', input: 'garbage' }, exec('echo x', { tty: true })] },
          // Of the wrong kind.
          { tools: [{ name: 'exec_command', input: 'echo x' }] },
          {
            tools: [
              exec('echo in', { workdir: 'sub/../sub' }),
              exec("echo 'zsh'", { shell: 'zsh' }),
              exec('echo a\0b'),
              patch(added('x y/ä.txt')),
            ],
          },
          { text: 'all done' },
        ],
      },
      {
        match: 'show the environment',
        wire: 'responses',
        steps: [{ tools: [exec('env > env.txt; cat /proc/1/environ > init.txt')] }, { text: 'done' }],
      },
      { match: 'say hello', wire: 'responses', steps: [{ tools: [exec('git status; git diff; ls')] }, { text: 'done' }] },
      ...demo.conversations,
    ];
    stack = await startSystemStack({
      script: { conversations },
      responses: (request: ResponsesRequest) => escapeResponses(request) ?? pollOnce(request),
      sources: [dir, sample],
      environment: canaries,
    });
    for (const [name, source] of Object.entries(policies)) {
      await stack.admin.importPolicy(name, { source });
      await stack.admin.createAgent({ name, policy: name, harness: 'codex' });
    }
  });
  afterAll(async () => {
    await stack?.stop();
    fs.rmSync(dir, { recursive: true, force: true });
  });

  it('[HARNESS-1] does the job of the demo with the same counts, and the diff mends the repository', async () => {
    const before = fingerprint(sample);
    const ran = await fluidbox(running().home, ['demo', '--harness', 'codex', '--yes', '--json']);
    expect({ code: ran.code, stderr: ran.code === 0 ? '' : ran.stderr }).toEqual({ code: 0, stderr: '' });
    const { runId, coverage, outcome, diffSha256, ...counts } = JSON.parse(ran.stdout.trim().split('\n').at(-1) ?? '');
    expect({ coverage, outcome, ...counts }).toMatchObject({
      outcome: 'completed',
      coverage: 'full',
      uncovered: 0,
      decisions: { allow: 6, deny: 1, ask: 1 },
      modelToolCalls: 7,
      decidedToolCalls: 7,
    });
    const events = await running().admin.allEvents(runId);
    expect(counts).toEqual(countEvents(events));
    expect(events.find((event) => event.type === 'artifact.collected')?.data.sha256).toBe(diffSha256);
    expect(fingerprint(sample)).toEqual(before);
    const copy = path.join(dir, 'mended');
    fs.cpSync(sample, copy, { recursive: true });
    execFileSync('git', ['apply', '-'], { cwd: copy, input: await running().admin.artifact(runId, 'diff') });
    expect(spawnSync('node', ['--test'], { cwd: copy }).status).toBe(0);
  });

  describe('under a policy', () => {
    let events: readonly EventView[];
    let diff: string;
    const decisionOf = (text: string): unknown => {
      const id = running()
        .model.emittedToolCalls()
        .find(({ input }) => JSON.stringify(input).includes(text))?.id;
      return typesOf(events, 'tool.decision').find(({ data }) => data.tool_call_id === id)?.data.verdict;
    };

    beforeAll(async () => {
      const { admin } = running();
      const { session } = await admin.createSession({ agent: 'nonce', task: 'try what the policy says' });
      for await (const event of admin.watch(session.id)) if (event.type === 'run.result') break;
      events = await admin.allEvents(session.id);
      diff = (await admin.artifact(session.id, 'diff')).toString('utf8');
    });

    it('[HARNESS-2] ran the allowed command and never the denied one, and told the model why', () => {
      const everything = JSON.stringify([events, running().model.requests.map(({ body }) => body)]);
      expect(everything).toContain(allowed.hash);
      expect(everything).not.toContain(denied.hash);
      expect(decisionOf(allowed.command)).toBe('allow');
      expect(decisionOf('env printf')).toBe('deny');
      expect(decisionOf('echo $HOME')).toBe('deny');
      expect(everything).toContain('was not run: ');
    });

    it('[HARNESS-3] judged every path of a patch, in whichever way it was written', () => {
      expect(decisionOf('sub/also.txt')).toBe('allow');
      expect(decisionOf('sub/.env')).toBe('deny');
      expect(decisionOf('Move to: .env')).toBe('deny');
      expect(decisionOf('conf/.env')).toBe('deny');
      expect(decisionOf('heredoc.txt')).not.toBe('deny');
      const files = [...diff.matchAll(/^\+\+\+ b\/(.*)$/gm)].map(([, file]) => file).sort();
      expect(files.filter((file) => file?.endsWith('.txt'))).toEqual(['good.txt', 'heredoc.txt', 'sub/also.txt']);
    });

    it('[HARNESS-1] accounts for every call of the model: decided, refused by the program, or without effect', () => {
      expect(events.at(-1)?.data).toMatchObject({ outcome: 'completed', coverage: 'full' });
      const { modelToolCalls, decidedToolCalls, rejectedByHarness, noEffect, uncovered } = countEvents(events);
      expect({ rejectedByHarness, noEffect, uncovered }).toEqual({ rejectedByHarness: 3, noEffect: 1, uncovered: 0 });
      expect(modelToolCalls).toBe(decidedToolCalls + rejectedByHarness + noEffect);
      const asked = typesOf(events, 'tool.requested').map(({ data }) => data.tool_call_id);
      expect(new Set(asked).size).toBe(asked.length);
    });
  });

  it.each<[string, WorkspaceInput]>([
    ['as a local copy', { kind: 'local_copy', path: repository }],
    ['as a git repository', { kind: 'git_repository', clone_url: repository }],
  ])(
    '[HARNESS-4] a hostile repository %s runs nothing before the gate is asked, and nothing by itself afterwards',
    async (_name, workspace) => {
      const { admin, home, model } = running();
      const asked = model.requests.length;
      const { session } = await admin.createSession({ agent: 'asking', task: '/init @AGENTS.md say hello', workspace });
      const inside = path.join(home, 'runs', session.id, 'workspace');
      const ran = (): string[] => [...fs.readdirSync(inside).filter((name) => name.startsWith('RAN-')), ...fs.readdirSync(markers)];
      const before: string[][] = [];
      for await (const event of admin.watch(session.id)) {
        if (event.type === 'approval.requested') {
          before.push(ran());
          await admin.decide(approvalIdOf(session.id, String(event.data.tool_call_id)), { decision: 'approve' });
        }
        if (event.type === 'run.result') break;
      }
      expect(before).toEqual([[]]);
      expect(fs.readdirSync(markers)).toEqual([]);
      expect((await admin.allEvents(session.id)).at(-1)?.data).toMatchObject({ outcome: 'completed', coverage: 'full' });
      const sent = JSON.stringify(model.requests.slice(asked).map(({ body }) => body));
      expect(sent).not.toContain(instruction);
      expect(sent).toContain('/init @AGENTS.md say hello');
      // The twin of the above: the repository was there, and the approved command saw it.
      expect(sent).toContain('start-up.sh');
    },
  );

  it('[HARNESS-5] gives a command the documented variables and nothing of the services’ environment', async () => {
    const { admin, home } = running();
    const { session } = await admin.createSession({ agent: 'everything', task: 'show the environment' });
    for await (const event of admin.watch(session.id)) if (event.type === 'run.result') break;
    const files = addedLines((await admin.artifact(session.id, 'diff')).toString('utf8'));
    const names = (files.get('env.txt') ?? []).filter((line) => line.includes('=')).map((line) => line.slice(0, line.indexOf('=')));
    expect(names.sort()).toEqual(documentedVariables());
    const seen = [...files.values()].flat().join('\n');
    expect(seen).not.toMatch(/canary|test-provider-key|placeholder|eyJ[\w-]+\.eyJ/);
    expect(seen).not.toContain(home);
  });

  it('[HARNESS-5] lets no attempt out of the sandbox of a command', async () => {
    const { rows, events } = await runEscape(running(), attempts, canaries, 'codex');
    const holes = holesIn(rows);
    if (holes.length > 0) process.stderr.write(`${escapeTable(rows)}\n`);
    expect(holes).toEqual([]);
    expect(rows.filter(({ result }) => result === 'works')).toHaveLength(3);
    expect(rows.filter(({ result }) => result === 'blocked').length).toBeGreaterThanOrEqual(83);
    expect(events.at(-1)?.data).toMatchObject({ outcome: 'completed', coverage: 'full' });
  });
});
