import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { CreateAgentBody, CreateSessionBody, defaultPriceTable, ImportPolicyBody, Problem, RunSpec } from '@fluidbox/contracts';
import { createKekKeyring, createLedger, createMemoryStore } from '@fluidbox/event-store';
import { seedPolicies as seeds } from '@fluidbox/policy/seeds';
import { kekFromBytes, saltedDigest, sha256Hex } from '@fluidbox/seal';
import { fakeClock, sequentialIds } from '@fluidbox/testing';
import { nameDirectory } from '../adapters/name-directory';
import { policyParser } from '../adapters/policy-parser';
import { priceTable } from '../adapters/price-table';
import { createAgent } from './create-agent';
import { getAgent, listAgents } from './find-agent';
import { freezeRunSpec } from './freeze-run-spec';
import type { CallHistory, Ports } from './ports';
import { importPolicy } from './publish-policy';
import { getPolicy, listPolicies } from './read-policy';
import { reviseAgent } from './revise-agent';
import { seedPolicies } from './seed-policies';

const org = 'default';
const admin = { name: 'root', role: 'admin', org } as const;
const runId = '0198b3a0-0000-7000-8000-000000000002';
const noCalls: CallHistory = {
  read: () => Readable.from([]),
};
const runnerDigest = `sha256:${'c'.repeat(64)}`;

/** The real use cases, language and seeds on a real ledger; only the built images are the test's word. */
async function world() {
  const clock = fakeClock();
  const store = createMemoryStore();
  const keyring = createKekKeyring({ store, kek: kekFromBytes(randomBytes(32)), clock });
  const process = (): Ports => ({
    ledger: createLedger({ store, keyring, clock, ids: sequentialIds(Math.ceil(Math.random() * 1e9)), service: 'run-specs' }),
    clock,
    ids: sequentialIds(7),
    names: nameDirectory(store),
    policies: policyParser,
    history: noCalls,
    prices: priceTable(undefined),
    runnerDigest: () => runnerDigest,
    allowsSource: () => true,
  });
  const ports = process();
  await seedPolicies(ports, seeds());
  return {
    ports,
    process,
    store,
    agent: (fields: Record<string, unknown> = {}) =>
      createAgent(ports, { principal: admin, body: CreateAgentBody.parse({ name: 'fixer', ...fields }) }),
    policy: (source: string, more: Record<string, unknown> = {}, name = 'mine') =>
      importPolicy(ports, { principal: admin, name, body: ImportPolicyBody.parse({ source, ...more }) }),
    freeze: (fields: Record<string, unknown> = {}) =>
      freezeRunSpec(ports, {
        run_id: runId,
        org,
        salt,
        principal: admin,
        invocation: 'cli',
        body: CreateSessionBody.parse({ agent: 'fixer', task: 'fix the test', ...fields }),
      }),
  };
}
const salt = randomBytes(32).toString('base64');
const problemOf = async (refused: Promise<unknown>): Promise<Problem> => {
  const problem = await refused.then(
    () => 'accepted',
    (error: unknown) => error,
  );
  if (!(problem instanceof Problem)) throw problem;
  return problem;
};

describe('policies', () => {
  it('come with the deployment once, and another start adds nothing', async () => {
    const { ports, process } = await world();
    await seedPolicies(process(), seeds());
    const listed = await listPolicies(ports, { org });
    expect(listed.map(({ name, version, by }) => [name, version, by])).toEqual(
      seeds()
        .map(({ name }) => [name, 1, 'fluidbox'])
        .sort(),
    );
  });

  it('are imported with their source, once per change, on the base that was read', async () => {
    const { ports, policy } = await world();
    expect(await policy('name: mine\n')).toMatchObject({ version: 1, appended: true, source: 'name: mine\n' });
    expect(await policy('name: mine\n')).toMatchObject({ version: 1, appended: false });
    expect(await policy('name: mine\nmode: observe\n', { base_version: 1 })).toMatchObject({ version: 2, appended: true });
    expect(await problemOf(policy('name: mine\ncoverage: report\n', { base_version: 1 }))).toMatchObject({
      code: 'stale_version',
      extra: { current_version: 2 },
    });
    expect((await getPolicy(ports, { org, name: 'mine', version: 1 })).source).toBe('name: mine\n');
    expect((await problemOf(getPolicy(ports, { org, name: 'mine', version: 9 }))).code).toBe('not_found');
  });

  it.each([
    ['name: mine\ntools: [{match: [Bash], action: deny, shel: {}}]\n', 'tools[0].shel'],
    ['name: other\n', 'name is other in the document'],
    ['name: mine\ndefaults: {tool_action: deny}\ntests: [{tool: Read, input: {}, expect: allow}]\n', 'tests[0] expects allow'],
  ])('are refused with the place of what is wrong: %j', async (source, detail) => {
    const { policy, ports } = await world();
    const problem = await problemOf(policy(source));
    expect([problem.status, problem.errors[0]?.pointer]).toEqual([422, '/source']);
    expect(problem.message).toContain(detail);
    expect((await problemOf(getPolicy(ports, { org, name: 'mine', version: null }))).code).toBe('not_found');
  });
});

describe('agents', () => {
  it('are created once, found by name in every process, and listed', async () => {
    const { agent, process, ports } = await world();
    const created = await agent({ system_prompt: 'be brief' });
    expect(await getAgent(process(), { org, name: 'fixer' })).toEqual(created);
    expect(await listAgents(ports, { org })).toEqual([created]);
    expect((await problemOf(agent())).code).toBe('conflict');
    expect((await problemOf(getAgent(ports, { org: 'other', name: 'fixer' }))).code).toBe('not_found');
  });

  it('cannot name a policy that does not exist', async () => {
    const { agent } = await world();
    expect((await problemOf(agent({ policy: 'nowhere' }))).errors[0]?.pointer).toBe('/policy');
  });

  it('keep a prompt out of the ledger and give it to the run', async () => {
    const { agent, freeze, ports, store } = await world();
    const { id } = await agent({ system_prompt: 'the secret way' });
    await reviseAgent(ports, { principal: admin, name: 'fixer', body: { description: 'fixes' } });
    expect(JSON.stringify(await store.read({ category: 'agent', id, org }))).not.toContain('secret way');
    expect(await freeze()).toMatchObject({ system_prompt: 'the secret way', spec: { agent: { revision: 2 } } });
  });
});

describe('freezing', () => {
  it('stores the spec under its digest, with salted digests of what was written', async () => {
    const { agent, freeze, store } = await world();
    await agent({ system_prompt: 'be brief' });
    const { spec_digest, spec } = await freeze();
    const bytes = await store.document(spec_digest);
    expect(bytes === null ? null : sha256Hex(bytes)).toBe(spec_digest);
    expect(RunSpec.parse(JSON.parse(bytes?.toString('utf8') ?? ''))).toEqual(spec);
    expect([spec.task_digest, spec.system_prompt_digest]).toEqual(
      ['fix the test', 'be brief'].map((text) => saltedDigest(Buffer.from(salt, 'base64'), text)),
    );
    expect(bytes?.toString('utf8')).not.toContain('fix the test');
    const prices = await store.document(spec.price_table.digest);
    expect(JSON.parse(prices?.toString('utf8') ?? '')).toEqual(defaultPriceTable);
  });

  it('takes the policy of this moment, in full', async () => {
    const { agent, freeze, policy } = await world();
    await policy('name: mine\n');
    await agent({ policy: 'mine' });
    const before = await freeze();
    await policy('name: mine\nmode: observe\n');
    expect([before.spec.policy.version, (await freeze()).spec.policy.version]).toEqual([1, 2]);
    expect(before.spec.policy).toMatchObject({ source: 'name: mine\n', document: { mode: 'enforce' } });
  });

  it('names the field that cannot be frozen', async () => {
    const { agent, freeze, policy } = await world();
    expect(await problemOf(freeze({ agent: 'nobody' }))).toMatchObject({ code: 'unprocessable', errors: [{ pointer: '/agent' }] });
    await policy('name: mine\nautonomy: {permitted: false}\n');
    await agent({ policy: 'mine' });
    expect((await problemOf(freeze({ autonomous: true }))).errors[0]?.pointer).toBe('/autonomous');
    expect((await freeze()).spec.autonomy).toBe('supervised');
  });
});
