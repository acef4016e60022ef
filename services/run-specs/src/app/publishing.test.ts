import { randomBytes } from 'node:crypto';
import { BacktestBody, CreateAgentBody, ImportPolicyBody, Problem, type PublishedPolicy } from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore } from '@fluidbox/event-store';
import { gateProjection, type RecordedCall } from '@fluidbox/policy';
import { seedPolicies as seeds } from '@fluidbox/policy/seeds';
import { kekFromBytes } from '@fluidbox/seal';
import { fakeClock, sequentialIds } from '@fluidbox/testing';
import { nameDirectory } from '../adapters/name-directory';
import { policyParser } from '../adapters/policy-parser';
import { priceTable } from '../adapters/price-table';
import { backtestPolicy } from './backtest-policy';
import { clonePolicy } from './clone-policy';
import { createAgent } from './create-agent';
import { decidePolicyProposal } from './decide-proposal';
import { deletePolicy } from './delete-policy';
import type { HistorySeen, Ports } from './ports';
import { importPolicy, revertPolicy } from './publish-policy';
import { getPolicy, listPolicies, listPolicyVersions } from './read-policy';
import { listPolicyProposals } from './read-proposals';
import { reviseAgent } from './revise-agent';
import { seedPolicies } from './seed-policies';

const org = 'default';
const person = (name: string, made_by: string[] | null = []) => ({ principal: { name, role: 'admin', org } as const, made_by });
const ann = person('ann');
const bob = person('bob');
const bash = (command: string): RecordedCall => ({
  projection: gateProjection({ tool: 'Bash', input: { command } }),
  run: 'r1',
  callId: command,
});

/** The real use cases and language; the recorded calls are the test's. */
function world(
  calls: readonly RecordedCall[] = [],
  seen: Partial<HistorySeen> = {},
  onRead: () => Promise<unknown> = async () => undefined,
) {
  const clock = fakeClock();
  const store = createMemoryStore();
  const keyring = createKekKeyring({ store, kek: kekFromBytes(randomBytes(32)), clock });
  const ports: Ports = {
    ledger: createLedger({ store, keyring, clock, ids: sequentialIds(1), service: 'run-specs' }),
    clock,
    ids: sequentialIds(100_000),
    names: nameDirectory(store),
    policies: policyParser,
    history: {
      async *read(_org, wanted, into) {
        Object.assign(into, { runs: 1 }, seen);
        await onRead();
        yield* calls.slice(0, wanted.calls);
      },
    },
    prices: priceTable(undefined),
    runnerDigest: () => undefined,
    allowsSource: () => true,
  };
  return {
    ports,
    publish: (source: string, by = ann, more: Record<string, unknown> = {}, name = 'mine') =>
      importPolicy(ports, { ...by, name, body: ImportPolicyBody.parse({ source, ...more }) }),
    decide: (proposal_id: string, decision: 'approve' | 'reject', by = bob) =>
      decidePolicyProposal(ports, { ...by, name: 'mine', proposal_id, body: { decision } }),
    newest: () => getPolicy(ports, { org, name: 'mine', version: null }),
  };
}
const problemOf = async (refused: Promise<unknown>): Promise<Problem> => {
  const problem = await refused.then(
    () => 'accepted',
    (error: unknown) => error,
  );
  if (!(problem instanceof Problem)) throw new Error(`not refused: ${JSON.stringify(problem)}`);
  return problem;
};
const proposalOf = (published: PublishedPolicy) => {
  if (!('proposal' in published)) throw new Error('published at once');
  return published.proposal;
};

const policy = (shell: string, more = '') =>
  `name: mine\npublish: { second_person: loosening }\n${more}tools:\n  - match: [Bash]\n    action: allow\n    shell: ${shell}\n`;
const strict = policy('{ allow: [ls], deny: [curl, wget] }');
const loose = policy('{ allow: [ls], deny: [wget] }');

describe('versions', () => {
  it('[PUBLISH-1] a revert appends the old bytes, and a stale base is refused', async () => {
    const { ports, publish } = world();
    await publish('name: mine # one\n');
    await publish('name: mine # two\nmode: observe\n');
    const revert = (body: { version: number; base_version?: number }) => revertPolicy(ports, { ...ann, name: 'mine', body });
    expect((await problemOf(revert({ version: 1, base_version: 1 }))).code).toBe('stale_version');
    expect(await revert({ version: 1, base_version: 2 })).toMatchObject({
      version: 3,
      appended: true,
      source: 'name: mine # one\n',
      summary: 'revert to version 1',
    });
    expect(await revert({ version: 3 })).toMatchObject({ version: 3, appended: false });
    expect((await problemOf(revert({ version: 9 }))).code).toBe('not_found');
    expect((await listPolicyVersions(ports, { org, name: 'mine' })).map(({ version }) => version)).toEqual([3, 2, 1]);
  });

  it('a clone is the text under another name', async () => {
    const { ports, publish } = world();
    await publish('# of ann\nname: mine # it is mine\nmode: observe\n');
    const clone = (name: string) => clonePolicy(ports, { ...bob, name: 'mine', body: { name } });
    expect(await clone('yours')).toMatchObject({
      name: 'yours',
      version: 1,
      source: '# of ann\nname: yours # it is mine\nmode: observe\n',
      by: 'bob',
    });
    expect((await problemOf(clone('yours'))).code).toBe('conflict');
    expect((await problemOf(clone('mine'))).code).toBe('conflict');
    expect((await problemOf(clonePolicy(ports, { ...bob, name: 'mine', body: { name: 'other', from_version: 4 } }))).code).toBe(
      'not_found',
    );
  });

  it('[PUBLISH-2] a policy is deleted when no agent names it, its versions stay, and its numbers go on', async () => {
    const { ports, publish } = world();
    await publish('name: mine\n');
    await createAgent(ports, { principal: ann.principal, body: CreateAgentBody.parse({ name: 'fixer', policy: 'mine' }) });
    const remove = () => deletePolicy(ports, { principal: ann.principal, name: 'mine' });
    expect(await problemOf(remove())).toMatchObject({ code: 'conflict', extra: { agents: ['fixer'] } });
    await publish('name: free\n', ann, {}, 'free');
    await reviseAgent(ports, { principal: ann.principal, name: 'fixer', body: { policy: 'free' } });
    expect(await remove()).toEqual({ name: 'mine', last_version: 1 });
    expect((await problemOf(remove())).code).toBe('not_found');
    expect((await listPolicies(ports, { org })).map(({ name }) => name)).toEqual(['free']);
    expect((await problemOf(getPolicy(ports, { org, name: 'mine', version: null }))).code).toBe('not_found');
    expect((await getPolicy(ports, { org, name: 'mine', version: 1 })).source).toBe('name: mine\n');
    expect(await publish('name: mine\n', ann, { base_version: 0 })).toMatchObject({ version: 2, appended: true });
  });

  it('the default policy stays, and a seed that was deleted does not come back', async () => {
    const { ports } = world();
    await seedPolicies(ports, seeds());
    expect((await problemOf(deletePolicy(ports, { principal: ann.principal, name: 'default' }))).code).toBe('conflict');
    await deletePolicy(ports, { principal: ann.principal, name: 'unrestricted' });
    await seedPolicies(ports, seeds());
    expect((await listPolicies(ports, { org })).map(({ name }) => name)).toEqual(['default', 'governed', 'observe']);
  });

  it.each([
    ['name: mine\ntools: [{ match: [Bash], action: allow, shel: { allow_prefixes: ["pytest"] } }]\n', 'tools[0].shel (line 2'],
    ['name: mine\nmod: enforce\n', 'mod (line 2'],
    ['name: mine\ntools:\n  - match: [Edit]\n    action: allow\n    paths: { alow: ["/**"] }\n', 'tools[0].paths.alow (line 5'],
  ])('[PUBLISH-3] H-PO-01 · a key that nobody knows is refused by its path and line, and nothing is stored: %j', async (source, place) => {
    const { publish, newest } = world();
    await publish('name: mine # before\n');
    const problem = await problemOf(publish(source));
    expect([problem.status, problem.errors[0]?.pointer]).toEqual([422, '/source']);
    expect(problem.errors[0]?.detail).toContain(place);
    expect(await newest()).toMatchObject({ version: 1, source: 'name: mine # before\n' });
  });

  it('[PUBLISH-3] H-PO-02 · a pattern that could stop the gate is published as a linear one', async () => {
    const { ports, publish } = world([bash(`echo ${'x'.repeat(40)}!`)]);
    await publish('name: mine\ntools: [{ match: [Bash], action: allow }]\n');
    await publish('name: mine\ntools: [{ match: [Bash], action: allow, shell: { allow: [echo], deny_regex: ["(x+x+)+y"] } }]\n');
    // Of the processor, not of the clock: the machine may be busy. A pattern that backtracks takes longer than anybody waits.
    const before = process.cpuUsage();
    await backtestPolicy(ports, { org, name: 'mine', body: BacktestBody.parse({ from: { version: 1 }, to: { version: 2 } }) });
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });
});

describe('a backtest over recorded calls', () => {
  it('[PUBLISH-4] says what changes, for which call and by which line', async () => {
    const { ports, publish } = world([bash('curl x'), bash('ls'), bash('wget y')], { erased: 2 });
    await publish(strict);
    const body = BacktestBody.parse({ to: { source: loose } });
    const report = await backtestPolicy(ports, { org, name: 'mine', body });
    expect(report).toMatchObject({ calls: 3, runs: 1, unchanged: 2, erased: 2, complete: true, loosens: true });
    expect(report.changes['deny→ask']).toMatchObject({
      count: 1,
      examples: [
        { run: 'r1', call_id: 'curl x', before: { verdict: 'deny', rule: 0, line: 4 }, after: { verdict: 'ask', rule: 0, line: 4 } },
      ],
    });
    expect(await backtestPolicy(ports, { org, name: 'mine', body: { ...body, calls: 1 } })).toMatchObject({ calls: 1 });
    expect(await backtestPolicy(ports, { org, name: 'mine', body: BacktestBody.parse({ to: { version: 1 } }) })).toMatchObject({
      unchanged: 3,
      loosens: false,
    });
  });

  it('refuses a document that is none, and a policy that is not there', async () => {
    const { ports, publish } = world();
    await publish(strict);
    const to = (name: string, side: object) => backtestPolicy(ports, { org, name, body: BacktestBody.parse({ to: side }) });
    expect((await problemOf(to('mine', { source: 'nme: x' }))).status).toBe(422);
    expect((await problemOf(to('mine', { version: 7 }))).code).toBe('not_found');
    expect((await problemOf(to('nowhere', { source: loose }))).code).toBe('not_found');
  });
});

describe('a second person', () => {
  it('[PUBLISH-5] is needed to loosen, not to narrow, and is not who proposed it', async () => {
    const { ports, publish, decide, newest } = world([bash('curl x')]);
    expect(await publish(strict)).toMatchObject({ version: 1 });
    const proposal = proposalOf(await publish(loose, ann, { summary: 'curl again' }));
    expect(proposal).toMatchObject({ status: 'open', by: 'ann', base_version: 1, source: loose, backtest: { calls: 1, loosened: 1 } });
    expect(proposal.reasons[0]).toBe('1 recorded calls: deny→ask');
    expect((await newest()).version).toBe(1);
    expect(proposalOf(await publish(loose)).id).toBe(proposal.id);
    expect((await problemOf(decide(proposal.id, 'approve', ann))).code).toBe('forbidden');
    expect((await problemOf(decide(proposal.id, 'approve', person('cas', ['ann'])))).code).toBe('forbidden');
    expect((await problemOf(decide(proposal.id, 'approve', person('admin', null)))).code).toBe('forbidden');
    expect((await newest()).version).toBe(1);
    expect(await decide(proposal.id, 'approve')).toMatchObject({ status: 'published', closed_by: 'bob' });
    expect(await newest()).toMatchObject({ version: 2, source: loose, by: 'ann', approved_by: 'bob', summary: 'curl again' });
    expect((await problemOf(decide(proposal.id, 'approve'))).code).toBe('conflict');
    expect(await publish(strict)).toMatchObject({ version: 3, appended: true });
    expect(await listPolicyProposals(ports, { org, name: null, closed: false })).toEqual([]);
    expect(await listPolicyProposals(ports, { org, name: null, closed: true })).toHaveLength(1);
  });

  it('[PUBLISH-5] is needed for every other way to the same end', async () => {
    const { ports, publish } = world([bash('curl x')]);
    await publish(loose);
    await publish(strict);
    proposalOf(await revertPolicy(ports, { ...ann, name: 'mine', body: { version: 1 } }));
    await publish('name: source\n', ann, {}, 'source');
    await deletePolicy(ports, { principal: ann.principal, name: 'mine' });
    proposalOf(await publish(loose));
    proposalOf(await clonePolicy(ports, { ...ann, name: 'source', body: { name: 'mine' } }));
  });

  it('a proposal is stale once another version came in between, and can be rejected or withdrawn before', async () => {
    const { publish, decide, newest } = world([bash('curl x')]);
    await publish(strict);
    const first = proposalOf(await publish(loose));
    await publish(policy('{ allow: [ls], deny: [curl, wget, nc] }'));
    expect((await problemOf(decide(first.id, 'approve'))).code).toBe('stale_version');
    const again = proposalOf(await publish(loose));
    expect(await decide(again.id, 'reject')).toMatchObject({ status: 'rejected', closed_by: 'bob' });
    expect((await problemOf(decide(again.id, 'approve'))).code).toBe('conflict');
    const own = proposalOf(await publish(loose));
    expect(await decide(own.id, 'reject', ann)).toMatchObject({ status: 'withdrawn' });
    expect((await newest()).version).toBe(2);
  });

  it('binds by the word of the version that governs, and the first publication is free', async () => {
    const { publish } = world();
    const always = 'name: mine\npublish: { second_person: always }\n';
    await publish('name: mine\n');
    await publish(always);
    proposalOf(await publish(`${always}mode: enforce # nothing changes\n`));
    proposalOf(await publish('name: mine\n'));
  });

  it('somebody whom nobody can tell proposes nothing, and may narrow', async () => {
    const { publish } = world();
    await publish(strict, person('admin', null));
    expect((await problemOf(publish(loose, person('admin', null)))).code).toBe('forbidden');
    expect(await publish(policy('{ allow: [ls], deny: [curl, wget, nc] }'), person('admin', null))).toMatchObject({ version: 2 });
  });

  it.each([
    ['mode: observe\n', /^mode:/],
    ['coverage: report\n', /^coverage:/],
    ['defaults: { tool_action: allow }\n', /^defaults\.tool_action:/],
    ['budgets: { max_cost_usd: null }\n', /^budgets\.max_cost_usd:/],
    ['budgets: { max_tool_calls: 101 }\n', /^budgets\.max_tool_calls:/],
    ['autonomy: { on_approval_rule: allow }\n', /^autonomy\.on_approval_rule:/],
    ['approvals: { exclude_requester: false, approvers: 2 }\n', /^approvals\.exclude_requester:/],
    ['approvals: { exclude_requester: true, approvers: 1 }\n', /^approvals\.approvers:/],
  ])('sees what no call shows: %j', async (setting, reason) => {
    const base = 'approvals: { exclude_requester: true, approvers: 2 }\n';
    const { publish } = world([bash('ls')]);
    await publish(policy('{ allow: [ls] }', base));
    const more = setting.startsWith('approvals') ? setting : base + setting;
    expect(proposalOf(await publish(policy('{ allow: [ls] }', more))).reasons).toContainEqual(expect.stringMatching(reason));
  });

  it('a lower word about the second person is itself a loosening', async () => {
    const { publish } = world();
    await publish(strict);
    expect(proposalOf(await publish(strict.replace('loosening', 'never'))).reasons).toContainEqual(
      expect.stringMatching(/^publish\.second_person:/),
    );
  });

  it('a change that can work both ways is settled by calls of its own tools only, all of which were read', async () => {
    const two = (first: string, second: string) =>
      `name: mine\npublish: { second_person: loosening }\ntools:\n  - { match: [${first}], action: deny }\n  - { match: [${second}], action: deny }\n`;
    const moved = async (calls: RecordedCall[], seen: Partial<HistorySeen> = {}) => {
      const { publish } = world(calls, seen);
      await publish(two('Bash', '"*"'));
      return 'proposal' in (await publish(two('"*"', 'Bash')));
    };
    const other: RecordedCall = { projection: gateProjection({ tool: 'Read', input: {} }) };
    expect(await moved([bash('ls')])).toBe(false);
    expect(await moved([])).toBe(true);
    expect(await moved([other])).toBe(true);
    expect(await moved([bash('ls')], { erased: 1 })).toBe(true);
    expect(await moved([bash('ls')], { complete: false })).toBe(true);
  });

  it('is asked about the version that is the last when it is stored, not the one that was compared', async () => {
    let between: (() => Promise<unknown>) | null = null;
    const { publish } = world([bash('curl x')], {}, async () => {
      const once = between;
      between = null;
      await once?.();
    });
    await publish(strict);
    between = () => publish(policy('{ allow: [ls], deny: [curl, wget, nc] }'), bob);
    expect(proposalOf(await publish(loose))).toMatchObject({ base_version: 2, status: 'open' });
    between = () => publish(policy('{ allow: [ls], deny: [curl, wget, nc, ssh] }'), bob);
    expect((await problemOf(publish(loose.replace('wget', 'nc'), ann, { base_version: 2 }))).code).toBe('stale_version');
  });

  it('is asked for by the word of a version that came while the change was compared', async () => {
    let between: (() => Promise<unknown>) | null = null;
    const { publish } = world([], {}, async () => {
      const once = between;
      between = null;
      await once?.();
    });
    await publish(strict);
    between = () => publish(strict.replace('loosening', 'always'), bob);
    expect(proposalOf(await publish(policy('{ allow: [], deny: [curl, wget] }')))).toMatchObject({ base_version: 2 });
  });

  it('publishes nothing that the language of this version refuses', async () => {
    const { ports, publish, newest } = world([bash('curl x')]);
    await publish(strict);
    const { id } = proposalOf(await publish(loose));
    const newer = { ...ports, policies: { ...ports.policies, failedTests: () => ['tests[0] expects deny'] } };
    const approve = (with_: Ports) => decidePolicyProposal(with_, { ...bob, name: 'mine', proposal_id: id, body: { decision: 'approve' } });
    expect((await problemOf(approve(newer))).status).toBe(422);
    expect((await newest()).version).toBe(1);
    expect(await approve(ports)).toMatchObject({ status: 'published' });
  });
});
