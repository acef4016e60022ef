import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readScriptFile } from '@fluidbox/testing';
import { countEvents } from './support/count-events';
import { fingerprint, fluidbox, repositoryRoot, type SystemStack, startSystemStack } from './support/stack';

const sample = path.join(repositoryRoot, 'libs/cli/demo/repository');
const script = readScriptFile(path.join(repositoryRoot, 'libs/cli/demo/model.json'));

describe.each(['all-in-one', 'processes'] as const)('the demo, %s', (mode) => {
  let stack: SystemStack;
  let before: Record<string, string>;
  let ran: Awaited<ReturnType<typeof fluidbox>>;

  beforeAll(async () => {
    before = fingerprint(sample);
    stack = await startSystemStack({ mode, script, sources: [sample] });
    ran = await fluidbox(stack.home, ['demo', '--yes', '--json']);
  });
  afterAll(() => stack.stop());

  const summary = () => JSON.parse(ran.stdout.trim().split('\n').at(-1) ?? '');

  it('[DEMO-1] [STACK-1] ends 0 with full coverage: allowed, denied and asked calls', () => {
    expect({ code: ran.code, stderr: ran.code === 0 ? '' : ran.stderr }).toEqual({ code: 0, stderr: '' });
    expect(summary()).toMatchObject({
      outcome: 'completed',
      coverage: 'full',
      uncovered: 0,
      decisions: { allow: 6, deny: 1, ask: 1 },
      modelToolCalls: 7,
      decidedToolCalls: 7,
    });
  });

  it('[DEMO-2] prints the counts that the events give', async () => {
    const { runId, coverage: _, outcome: __, diffSha256, ...counts } = summary();
    const events = await stack.admin.allEvents(runId);
    expect(counts).toEqual(countEvents(events));
    expect(events.map((event) => event.seq)).toEqual(events.map((_event, index) => index + 1));
    expect(events.find((event) => event.type === 'artifact.collected')?.data.sha256).toBe(diffSha256);
  });

  it('[DEMO-3] leaves the original untouched, and the diff mends it', async () => {
    expect(fingerprint(sample)).toEqual(before);
    const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-apply-'));
    fs.cpSync(sample, copy, { recursive: true });
    expect(spawnSync('node', ['--test'], { cwd: copy, encoding: 'utf8' }).status).not.toBe(0);
    const diff = await fluidbox(stack.home, ['diff', summary().runId]);
    execFileSync('git', ['apply', '-'], { cwd: copy, input: diff.stdout });
    expect(spawnSync('node', ['--test'], { cwd: copy, encoding: 'utf8' }).status).toBe(0);
    fs.rmSync(copy, { recursive: true });
  });

  it('[STACK-2] a second `up` says who holds the folder', async () => {
    const second = await fluidbox(stack.home, ['up']);
    expect(second.code).not.toBe(0);
    expect(second.stderr).toContain(String(stack.up.pid));
  });
});
