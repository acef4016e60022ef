import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { until } from '@fluidbox/testing';
import { liveSandboxes, processesOfRun } from './processes-of-run';

describe('counting the sandboxes of a run', () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-count-'));
  const started: ChildProcess[] = [];
  const startTree = (runId: string): void => {
    const tree = spawn('sh', ['-c', 'sleep 60 & wait'], {
      stdio: 'ignore',
      detached: true,
      env: { FLUIDBOX_SESSION_ID: runId, PATH: '/usr/bin:/bin' },
    });
    started.push(tree);
  };
  afterAll(() => {
    for (const { pid } of started) if (pid !== undefined) process.kill(-pid, 'SIGKILL');
    fs.rmSync(home, { recursive: true });
  });

  it('counts trees, not processes, and only those of the run', async () => {
    startTree('run-one');
    await until(() => processesOfRun(home, 'run-one').length === 2);
    expect(liveSandboxes(home, 'run-one')).toBe(1);
    startTree('run-one');
    startTree('run-other');
    await until(() => processesOfRun(home, 'run-one').length === 4);
    expect(liveSandboxes(home, 'run-one')).toBe(2);
    expect(liveSandboxes(home, 'run-none')).toBe(0);
  });
});
