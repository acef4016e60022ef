import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { ApiClient } from '@fluidbox/cli';
import type { BacktestView, PublishedPolicy } from '@fluidbox/contracts';
import { until } from '@fluidbox/testing';
import { fluidbox, type SystemStack } from './support/stack';
import { runWire, startWireStack, typesOf, type WireTask } from './support/wire-run';

const policy = (shell: string) =>
  `name: wires\npublish: { second_person: loosening }\ntools:\n  - match: [Bash]\n    action: allow\n    shell: ${shell}\n`;
const strict = policy('{ allow: [ls, echo], deny: [curl], on_no_match: deny }');
const loose = policy('{ allow: [ls, echo, curl], on_no_match: deny }');

const ask = (name: string, command: string) => ({
  name,
  as: 'tool',
  path: '/internal/sessions/{id}/permission',
  body: { tool_call_id: name, tool: 'Bash', input: { command } },
});
const calls: WireTask = { steps: [ask('first', 'ls'), ask('second', 'curl h.example'), ask('third', 'echo hi && curl h.example')] };

describe('publishing over recorded runs', () => {
  let stack: SystemStack;
  let folder: string;
  let ann: ApiClient;
  let annsToken: string;
  let bob: ApiClient;
  const token = async (by: ApiClient, name: string): Promise<string> => (await by.createToken({ name, role: 'admin' })).token;
  const file = (name: string, text: string): string => {
    fs.writeFileSync(path.join(folder, name), text);
    return path.join(folder, name);
  };
  const cli = (...args: string[]) => fluidbox(stack.home, args, { FLUIDBOX_TOKEN: annsToken });

  beforeAll(async () => {
    stack = await startWireStack();
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-policies-'));
    annsToken = await token(stack.admin, 'ann');
    ann = stack.client(annsToken);
    bob = stack.client(await token(stack.admin, 'bob'));
    await ann.importPolicy('wires', { source: strict });
    await ann.createAgent({ name: 'tried', harness: 'scripted', policy: 'wires' });
  });
  afterAll(async () => {
    await stack.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  it('[PUBLISH-4] tries a version on the calls of past runs, on the command line, and counts what was erased', async () => {
    const kept = await runWire(ann, 'tried', calls);
    const erased = await runWire(ann, 'tried', calls);
    await ann.erase(erased.id);
    const to = file('loose.yaml', loose);
    const looser = await cli('policy', 'backtest', 'wires', '--to', to, '--json');
    const report = JSON.parse(looser.stdout) as BacktestView;
    expect(report).toMatchObject({ calls: 3, runs: 2, unchanged: 1, erased: 3, unreadable: 0, complete: true, loosens: true });
    expect(report.changes['deny→allow']).toMatchObject({
      count: 2,
      examples: [{ run: kept.id, call_id: 'second', before: { line: 4 } }, {}],
    });
    expect(looser.code).toBe(1);
    const same = await cli('policy', 'backtest', 'wires', '--from', to, '--to', '1');
    expect([same.code, same.stdout]).toEqual([0, expect.stringMatching(/allow→deny.* 2\n[\s\S]*3 calls of 2 runs, 1 unchanged/)]);
    const own = await cli('policy', 'backtest', 'wires', '--to', to, '--own-runs', '--since', '2030-01-01', '--json');
    expect([own.code, JSON.parse(own.stdout)]).toEqual([0, expect.objectContaining({ calls: 0, erased: 0 })]);
    // The agent of another policy made no calls under this one.
    await runWire(ann, 'wire', calls);
    const all = JSON.parse((await cli('policy', 'backtest', 'wires', '--to', to, '--json')).stdout) as BacktestView;
    const ofPolicy = JSON.parse((await cli('policy', 'backtest', 'wires', '--to', to, '--own-runs', '--json')).stdout) as BacktestView;
    expect([all.calls, ofPolicy.calls]).toEqual([6, 3]);
  });

  it('[PUBLISH-5] [PUBLISH-6] a loosening waits for another admin; then new runs see it, a live one does not', async () => {
    const live: { id?: string } = {};
    const goesOn = runWire(
      ann,
      'tried',
      { steps: [ask('before', 'curl h.example'), { sleepMs: 20_000 }, ask('after', 'curl h.example')] },
      { onStarted: (id) => (live.id = id) },
    );
    await until(async () => live.id !== undefined && typesOf(await ann.allEvents(live.id), 'tool.decision').length === 1);

    const published = await cli('policy', 'publish', file('loose.yaml', loose), '--summary', 'curl is needed', '--json');
    expect(published.code).toBe(5);
    const answer = JSON.parse(published.stdout) as PublishedPolicy;
    if (!('proposal' in answer)) throw new Error('published at once');
    const { id } = answer.proposal;
    expect(answer.proposal).toMatchObject({ status: 'open', by: 'ann', base_version: 1, backtest: { calls: 7, loosened: 5, erased: 3 } });
    expect((await cli('policy', 'proposals')).stdout).toContain(id);

    const own = await cli('policy', 'approve', 'wires', id);
    expect([own.code, own.stderr]).toEqual([3, expect.stringContaining('ann proposed it')]);
    const made = stack.client(await token(ann, 'puppet'));
    await expect(made.decideProposal('wires', id, { decision: 'approve' })).rejects.toMatchObject({ status: 403 });
    await expect(stack.admin.decideProposal('wires', id, { decision: 'approve' })).rejects.toMatchObject({ status: 403 });
    expect((await ann.policy('wires')).version).toBe(1);

    expect(await bob.decideProposal('wires', id, { decision: 'approve' })).toMatchObject({ status: 'published', closed_by: 'bob' });
    expect(await ann.policy('wires')).toMatchObject({ version: 2, source: loose, by: 'ann', approved_by: 'bob' });
    const verdicts = (events: Awaited<ReturnType<ApiClient['allEvents']>>) =>
      typesOf(events, 'tool.decision').map(({ data }) => data.verdict);
    const after = await runWire(ann, 'tried', calls);
    expect(verdicts(after.events)).toEqual(['allow', 'allow', 'allow']);
    expect(verdicts((await goesOn).events)).toEqual(['deny', 'deny']);
  });

  it('[PUBLISH-1] [PUBLISH-6] a stale base is refused on the command line, and history, export, revert and clone keep the bytes', async () => {
    const source = '# what wires do\nname: demo # of the demo\ntools: []\n';
    expect((await cli('policy', 'publish', file('demo.yaml', source))).code).toBe(0);
    expect((await cli('policy', 'publish', file('demo.yaml', `${source}mode: observe\n`), '--base-version', '1')).code).toBe(0);
    const stale = await cli('policy', 'publish', file('other.yaml', `${source}coverage: report\n`), '--base-version', '1');
    expect([stale.code, stale.stderr]).toEqual([5, expect.stringContaining('at version 2, not 1')]);
    expect((await cli('policy', 'revert', 'demo', '--to', '1')).stdout).toContain('demo version 3');
    expect((await cli('policy', 'export', 'demo')).stdout).toBe(source);
    await cli('policy', 'clone', 'demo', 'copy');
    expect((await cli('policy', 'export', 'copy')).stdout).toBe(source.replace('demo #', 'copy #'));
    const history = JSON.parse((await cli('policy', 'history', 'demo', '--json')).stdout) as { version: number; summary: string }[];
    expect(history.map(({ version, summary }) => [version, summary])).toEqual([
      [3, 'revert to version 1'],
      [2, 'published from demo.yaml'],
      [1, 'published from demo.yaml'],
    ]);
  });

  it('[PUBLISH-2] a policy that an agent names is not deleted, a free one is', async () => {
    const used = await cli('policy', 'delete', 'wires');
    expect([used.code, used.stderr]).toEqual([5, expect.stringContaining('tried')]);
    expect((await cli('policy', 'delete', 'copy')).code).toBe(0);
    expect((await cli('policy', 'get', 'copy')).code).toBe(4);
    expect((await cli('policy', 'export', 'copy', '--version', '1')).code).toBe(0);
  });

  it.each([
    ['tools: [{ match: [Bash], action: allow, shel: { allow_prefixes: ["pytest"] } }]', 'tools[0].shel (line 2'],
    ['tols: []', 'tols (line 2'],
    ['tools:\n  - match: [Edit]\n    action: allow\n    paths: { alow: [] }', 'tools[0].paths.alow (line 5'],
  ])('[PUBLISH-3] H-PO-01 · %j is a 422 with its path and line, and no version', async (text, place) => {
    const { version } = await ann.policy('demo');
    await expect(ann.publishPolicy('demo', { source: `name: demo\n${text}\n` })).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining(place),
    });
    expect((await ann.policy('demo')).version).toBe(version);
    expect(await ann.checkPolicy(`name: demo\n${text}\n`)).toMatchObject({ ok: false, problems: [{ line: expect.any(Number) }] });
  });

  it('[PUBLISH-7] a policy that only observes lets pass, records what it would have decided, and says so; the tool-call budget binds', async () => {
    await ann.createAgent({ name: 'watched', harness: 'scripted', policy: 'observe' });
    const { id, events, answers } = await runWire(ann, 'watched', calls, { budgets: { max_tool_calls: 2 } });
    const decided = typesOf(events, 'tool.decision').map(({ data }) => [data.verdict, data.source, data.original_verdict ?? null]);
    expect(decided.slice(0, 2)).toEqual([
      ['allow', 'policy', null],
      ['allow', 'observe', 'deny'],
    ]);
    expect(decided.some(([verdict, source]) => verdict === 'deny' && source === 'budget') || /deny/.test(answers.third?.text ?? '')).toBe(
      true,
    );
    const shown = await cli('get', id);
    expect(shown.stdout).toContain('OBSERVED ONLY');
    const watched = await cli('watch', id);
    expect([watched.stderr, watched.stdout]).toEqual([
      expect.stringContaining('OBSERVED ONLY'),
      expect.stringContaining('WOULD DENY Bash'),
    ]);
    const enforced = await cli('get', (await runWire(ann, 'tried', { steps: [] })).id);
    expect(enforced.stdout).not.toContain('OBSERVED');
  });
});
