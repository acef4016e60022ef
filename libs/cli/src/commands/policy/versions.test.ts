import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { PolicyProposalView, PolicyView } from '@fluidbox/contracts';
import type { ApiClient } from '../../api/client';
import type { Output } from '../../output';
import { paintFor } from '../../paint';
import { backtestHistory } from './backtest-history';
import { proposalCommand } from './proposals';
import { importAndPublish, publishPolicyFile, showPublished } from './versions';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-versions-'));
afterAll(() => fs.rmSync(dir, { recursive: true }));
const file = (name: string, text: string): string => {
  fs.writeFileSync(path.join(dir, name), text);
  return path.join(dir, name);
};
const source = 'name: mine\ntools: [{ match: [Bash], action: ask }]\n';
const version: PolicyView = {
  name: 'mine',
  version: 2,
  digest: `sha256:${'a'.repeat(64)}`,
  source,
  summary: 's',
  by: 'ann',
  created_at: '2026-01-01T00:00:00.000Z',
};
const proposal: PolicyProposalView = {
  id: '0198b3a0-0000-7000-8000-000000000001',
  policy: 'mine',
  status: 'open',
  base_version: 1,
  digest: version.digest,
  source: source.replace('ask', 'allow'),
  summary: 'more',
  by: 'ann',
  created_at: version.created_at,
  reasons: ['1 recorded calls: ask→allow', 'hostile\u001b[2J'],
  backtest: { calls: 3, loosened: 1, undetermined: 0, erased: 0, complete: false },
  closed_by: null,
};
function capturing(json = false): { output: Output; out: string[]; err: string[] } {
  const out: string[] = [];
  const err: string[] = [];
  return { out, err, output: { json, paint: paintFor({}, {}), out: (text) => void out.push(text), err: (text) => void err.push(text) } };
}

/** An API that remembers what it was asked to publish. */
function publisher() {
  const asked: unknown[] = [];
  const publishPolicy = async (...args: unknown[]) => {
    asked.push(args);
    return version;
  };
  return { asked, api: { publishPolicy } as unknown as ApiClient };
}

describe('a publication', () => {
  it('says which version governs, and ends with 5 when the old one still does', () => {
    const done = capturing();
    expect([showPublished({ ...version, appended: true }, done.output), done.out]).toEqual([0, [`mine version 2 ${version.digest}`]]);
    const waits = capturing();
    expect(showPublished({ proposal }, waits.output)).toBe(5);
    expect(waits.out[0]).toContain('version 1, which still governs');
    expect(waits.err.join('\n')).toContain(`policy approve mine ${proposal.id}`);
    expect(waits.err.join('\n')).not.toContain('\u001b[2J');
    const machine = capturing(true);
    expect([showPublished({ proposal }, machine.output), JSON.parse(machine.out[0] ?? '')]).toEqual([5, { proposal }]);
  });

  it('of a file goes under the name in it, shows what is written without effect, and never starts with a file that is no policy', async () => {
    const { asked, api } = publisher();
    const odd = file('odd.yaml', `${source}# twice\n`.replace('}]', '}, { match: [Bash], action: deny }]'));
    const { output, err } = capturing();
    expect(await publishPolicyFile(odd)(api, { baseVersion: 1 }, output)).toBe(0);
    expect(asked).toEqual([['mine', { source: fs.readFileSync(odd, 'utf8'), base_version: 1, summary: 'published from odd.yaml' }]]);
    expect(err[0]).toMatch(/odd\.yaml:2:\d+ .*tools\[1\]/);
    expect(() => publishPolicyFile(file('bad.yaml', 'name: mine\ntols: []\n'))).toThrow(/bad\.yaml:2:1 tols/);
  });

  it('of other rules in one step is refused where a refusal of theirs was lost, and done where none was', async () => {
    const { asked, api } = publisher();
    const rules = (permissions: object) =>
      ({ format: 'claude', name: 'mine', file: file('settings.json', JSON.stringify({ permissions })) }) as const;
    await importAndPublish(rules({ allow: ['Read'], deny: ['Bash(curl:*)'] }))(api, {}, capturing().output);
    expect(asked).toEqual([['mine', { source: expect.stringContaining('curl'), summary: 'imported from claude' }]]);
    expect(() => importAndPublish(rules({ deny: ['what is this?'] }))).toThrow(/not published, 1 refusals/);
  });
});

it('a proposal is shown with its reasons, its changes and its text', async () => {
  const api = { policyProposal: async () => proposal, policy: async () => version } as unknown as ApiClient;
  const { output, out } = capturing();
  await proposalCommand(api, 'mine', proposal.id, output);
  const shown = out.join('\n');
  expect(shown).toContain('because 1 recorded calls: ask→allow');
  expect(shown).toContain('not all were read');
  expect(shown).toMatch(/loosens tools\[0\]\.action: "ask" → "allow"/);
  expect(shown).toContain(proposal.source.trimEnd());
});

it('a backtest over recorded calls takes versions and files, and refuses a file before it asks', async () => {
  const asked: unknown[] = [];
  const none = { count: 0, examples: [] };
  const report = {
    policy: 'mine',
    calls: 1,
    runs: 1,
    unchanged: 1,
    changes: {},
    undetermined: none,
    erased: 1,
    unreadable: 0,
    other_engine: 0,
  };
  const backtestPolicy = async (...args: unknown[]) => {
    asked.push(args);
    return { ...report, complete: true, loosens: asked.length > 1, duration_ms: 1 };
  };
  const api = { backtestPolicy } as unknown as ApiClient;
  const text = file('mine.yaml', source);
  const { output, out } = capturing();
  expect(await backtestHistory('mine', { to: text, from: '1', calls: 5, since: '2026-11-01', ownRuns: true })(api, output)).toBe(0);
  expect(await backtestHistory('mine', { to: '3' })(api, output)).toBe(1);
  expect(asked).toEqual([
    ['mine', { to: { source }, from: { version: 1 }, calls: 5, since: '2026-11-01T00:00:00.000Z', runs: 'of_policy' }],
    ['mine', { to: { version: 3 } }],
  ]);
  expect(out).toContain('1 calls were erased, so nobody can say');
  expect(() => backtestHistory('mine', { to: file('none.yaml', 'nme: x') })).toThrow(/none\.yaml:1:1/);
});
