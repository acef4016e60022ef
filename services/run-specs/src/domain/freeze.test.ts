import { CreateSessionBody, defaultPriceTable, PolicyDocument, type PriceTable, Problem, type RunSpec } from '@fluidbox/contracts';
import type { KnownAgent } from './agent';
import { type FreezeInput, freezeRunSpec } from './freeze';

const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const runId = '0198b3a0-0000-7000-8000-000000000002';

interface Change extends Partial<Omit<FreezeInput, 'policy' | 'body' | 'prices'>> {
  readonly policy?: Record<string, unknown>;
  readonly body?: Record<string, unknown>;
  readonly revision?: Partial<KnownAgent['revision']>;
  readonly prices?: PriceTable;
}
function input(change: Change = {}): FreezeInput {
  const { policy, body, revision, prices, ...rest } = change;
  return {
    runId,
    org: 'default',
    now: new Date('2026-08-01T00:00:00.000Z'),
    agent: {
      status: 'known',
      id: '0198b3a0-0000-7000-8000-000000000001',
      name: 'fixer',
      createdAt: '',
      updatedAt: '',
      revision: {
        number: 3,
        harness: 'claude-agent-sdk',
        model: 'claude-haiku-4-5',
        policy: 'default',
        budgets: null,
        trustTier: 'trusted',
        workspace: null,
        description: null,
        prompt: null,
        ...revision,
      },
    },
    policy: {
      name: 'default',
      version: 2,
      digest: digest('a'),
      source: 'name: default',
      document: PolicyDocument.parse({ name: 'default', ...policy }),
    },
    body: CreateSessionBody.parse({ agent: 'fixer', task: 'fix it', ...body }),
    principal: 'ada',
    invocation: 'api',
    prices: { table: prices ?? defaultPriceTable, digest: digest('b') },
    runnerDigest: () => digest('c'),
    allowsSource: () => true,
    taskDigest: digest('d'),
    systemPromptDigest: null,
    ...rest,
  };
}
function frozen(change: Change = {}): RunSpec {
  const spec = freezeRunSpec(input(change));
  if (spec instanceof Problem) throw spec;
  return spec;
}
function refused(change: Change): [string, string | undefined] {
  const problem = freezeRunSpec(input(change));
  if (!(problem instanceof Problem)) throw new Error('expected a refusal');
  return [problem.code, problem.errors[0]?.pointer];
}

describe('freezing a spec', () => {
  it('holds everything that governs the run and nothing that a person wrote in words', () => {
    const spec = frozen();
    expect(spec).toMatchObject({
      agent: { name: 'fixer', revision: 3 },
      harness: { id: 'claude-agent-sdk', image: 'claude-runner', dialect: 'anthropic_messages' },
      runner_digest: digest('c'),
      policy: { version: 2, document: { name: 'default', autonomy: { permitted: true } } },
      price_table: { digest: digest('b'), price: { input: 1_000_000 } },
      workspace: { kind: 'scratch' },
      autonomy: 'supervised',
    });
    expect(spec.tool_surface).toContain('Bash');
    expect(JSON.stringify(spec)).not.toContain('fix it');
  });

  it('takes the tightest of policy, revision and request, field by field; nothing widens', () => {
    const { budgets } = frozen({
      policy: { budgets: { max_tool_calls: 50, max_tokens: null } },
      revision: { budgets: { max_wall_clock_secs: 60, max_tokens: 9_000, max_cost_micro_usd: null, max_tool_calls: null } },
      body: { budgets: { max_cost_usd: 1, max_tool_calls: 80, max_tokens: 10_000, max_wall_clock_secs: null } },
    });
    expect(budgets).toEqual({ max_wall_clock_secs: 60, max_tokens: 9_000, max_cost_micro_usd: 1_000_000, max_tool_calls: 50 });
  });

  it('prefers the workspace of the request, then the one of the revision', () => {
    const local = { kind: 'local_copy', path: '/srv/repo' } as const;
    expect(frozen({ revision: { workspace: local } }).workspace).toEqual(local);
    expect(frozen({ revision: { workspace: local }, body: { workspace: { kind: 'scratch' } } }).workspace).toEqual({ kind: 'scratch' });
  });

  it.each([
    ['/workspace/path', { body: { workspace: { kind: 'local_copy', path: '/srv/repo' } } }],
    ['/workspace/clone_url', { body: { workspace: { kind: 'git_repository', clone_url: '/srv/repo' } } }],
    ['/agent', { revision: { workspace: { kind: 'local_copy', path: '/srv/repo' } as const } }],
  ])('refuses a folder that the deployment does not allow at %s, and takes it where it does', (pointer, change) => {
    const asked: string[] = [];
    const allowsSource = (folder: string) => asked.push(folder) === 0;
    expect(refused({ ...change, allowsSource })).toEqual(['unprocessable', pointer]);
    expect(asked).toEqual(['/srv/repo']);
    const problem = freezeRunSpec(input({ ...change, allowsSource })) as Problem;
    expect(problem.errors[0]?.detail).toMatch(
      /put the folder into FLUIDBOX_LOCAL_SOURCES .* in the environment of `up` and start it again/,
    );
    expect(frozen(change).workspace.kind).not.toBe('scratch');
  });

  it('asks nobody about a repository that is not on this machine', () => {
    const workspace = { kind: 'git_repository', clone_url: 'https://h.example/repo' };
    expect(frozen({ body: { workspace }, allowsSource: () => false }).workspace).toEqual(workspace);
  });

  it('refuses a model without a price while a cost budget binds, and takes it once the cap is lifted', () => {
    const prices = { ...defaultPriceTable, models: {} };
    expect(refused({ prices })).toEqual(['unknown_model_price', '/agent']);
    expect(frozen({ prices, policy: { budgets: { max_cost_usd: null } } }).price_table.price).toBeNull();
  });

  it('refuses an autonomous run where the policy does not permit it, and freezes it where it does', () => {
    expect(refused({ policy: { autonomy: { permitted: false } }, body: { autonomous: true } })).toEqual(['unprocessable', '/autonomous']);
    expect(frozen({ body: { autonomous: true } }).autonomy).toBe('autonomous');
  });

  it.each([
    [{ revision: { harness: 'gone' } }, ['unprocessable', '/agent']],
    [{ revision: { model: 'gone' } }, ['unprocessable', '/agent']],
    [{ runnerDigest: () => undefined }, ['unavailable', undefined]],
  ])('refuses what no longer exists', (change, expected) => {
    expect(refused(change)).toEqual(expected);
  });
});
