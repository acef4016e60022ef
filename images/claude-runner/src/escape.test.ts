import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { launchInSandbox, newRunFolder, readRunnerImage, startControlPlane } from '@fluidbox/runner-lib/testing';
import { startScriptedModel } from '@fluidbox/testing/model';

jest.setTimeout(120_000);

const packageDir = path.resolve(__dirname, '..');
const script = path.join(__dirname, 'escape-attempts.pl');
const tokenPattern = '(?:tool|control|llm)-[0-9a-f]{8}-[0-9a-f-]{27}';

type Outcomes = ReadonlyMap<string, string>;

/** A line that is no outcome (a warning, a crash) counts as an open attempt of that name. */
function read(report: string): Outcomes {
  return new Map(
    report
      .trim()
      .split('\n')
      .map((line): [string, string] => {
        const [name = '', outcome = 'OPEN not an outcome'] = line.split('\t');
        return [name, outcome];
      }),
  );
}

const isAttempt = ([name]: [string, string]): boolean => !name.startsWith('allowed: ');
const unblocked = (outcomes: Outcomes) => [...outcomes].filter(isAttempt).filter(([, outcome]) => !outcome.startsWith('blocked'));

async function fromAShellCallOfTheAgent(): Promise<Outcomes> {
  const folder = newRunFolder();
  fs.copyFileSync(script, path.join(folder.workspace, 'attempts.pl'));
  const command = `/usr/bin/perl /workspace/attempts.pl '${tokenPattern}' > /workspace/report 2>&1`;
  const model = await startScriptedModel({
    script: { steps: [{ tools: [{ name: 'Bash', input: { command, description: 'x' } }] }, { text: 'done' }] },
  });
  const control = await startControlPlane({
    gatewayDir: folder.gatewayDir,
    ownerUid: folder.uid,
    modelUrl: model.url,
    decide: () => ({ decision: 'allow' }),
  });
  try {
    await launchInSandbox({ folder, image: readRunnerImage(path.join(packageDir, 'dist')), control, task: 'go' });
    expect(control.results).toEqual([{ outcome: 'completed', summary: 'done' }]);
    return read(fs.readFileSync(path.join(folder.workspace, 'report'), 'utf8'));
  } finally {
    await Promise.all([control.close(), model.close()]);
    folder.remove();
  }
}

/** The same attempts in a sandbox as one makes it at first: namespaces, a read-only system and nothing else. */
function fromANaiveSandbox(): Outcomes {
  const folder = newRunFolder();
  try {
    const binds = [
      '--ro-bind',
      '/usr',
      '/usr',
      '--ro-bind',
      '/etc',
      '/etc',
      '--ro-bind',
      '/sys',
      '/sys',
      '--ro-bind',
      script,
      '/opt/attempts.pl',
      '--bind',
      folder.workspace,
      '/workspace',
    ];
    const links = ['bin', 'sbin', 'lib', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]);
    const args = [
      '--die-with-parent',
      '--cap-drop',
      'ALL',
      '--unshare-user',
      '--unshare-pid',
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      '--tmpfs',
      '/tmp',
      '--dir',
      '/home/agent',
      ...links,
      ...binds,
    ];
    const identity = process.getuid?.() === 0 ? [`--reuid=${folder.uid}`, `--regid=${folder.uid}`, '--clear-groups'] : [];
    const { stdout } = spawnSync('setpriv', [...identity, 'bwrap', ...args, '--', '/usr/bin/perl', '/opt/attempts.pl', tokenPattern], {
      encoding: 'utf8',
      timeout: 60_000,
      killSignal: 'SIGKILL',
      env: { PATH: '/usr/bin', SOME_API_KEY: 'tool-00000000-0000-4000-8000-000000000000' },
    });
    return read(stdout);
  } finally {
    folder.remove();
  }
}

const describeHere = process.arch === 'x64' && fs.existsSync('/usr/bin/perl') ? describe : describe.skip;

describeHere('a shell call of the real agent program', () => {
  let outcomes: Outcomes;

  beforeAll(async () => {
    execFileSync(process.execPath, [path.join(packageDir, 'bundle.mjs')]);
    outcomes = await fromAShellCallOfTheAgent();
  });

  it('leaves its sandbox by none of the attempts', () => {
    expect(unblocked(outcomes)).toEqual([]);
    expect([...outcomes].filter(isAttempt).length).toBeGreaterThanOrEqual(83);
  });

  it('still does what an agent must be able to do', () => {
    expect([...outcomes].filter((entry) => !isAttempt(entry))).toEqual([
      ['allowed: write /workspace', 'done'],
      ['allowed: write /tmp', 'done'],
      ['allowed: start a program', 'done'],
    ]);
  });

  it('would leave a naive sandbox by many of them: the attempts are real', () => {
    const open = unblocked(fromANaiveSandbox()).map(([name]) => name);
    expect(open).toEqual(
      expect.arrayContaining([
        'token in an environment',
        'credential named in an environment',
        'user namespace',
        'session keyring',
        'write /opt/x',
      ]),
    );
    expect(open.length).toBeGreaterThanOrEqual(15);
  });
});
