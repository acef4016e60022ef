import { type EventDraft, type RunId, RunSpec, runStream, streamNameOf } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import { parsePolicy } from '@fluidbox/policy';
import { runFold } from '@fluidbox/run-stream';
import { createdRun } from '@fluidbox/testing';
import type { z } from 'zod';

const digest = `sha256:${'a'.repeat(64)}`;
const draft = (type: string, data: Record<string, unknown>, content?: unknown) =>
  ({ type, actor: 'service:test', data, ...(content === undefined ? {} : { content }) }) as unknown as EventDraft;

export const testPolicy = `name: test
guards: { same_call: 50 }
tools:
  - match: [Bash]
    action: allow
    shell: { allow: [ls, echo], ask: [git push], deny: [curl] }
    tell_agent: there is no network here
  - { match: [Read], action: allow }
`;

export const scriptedHarness: z.input<typeof RunSpec>['harness'] = {
  id: 'scripted',
  image: 'scripted-runner',
  dialect: 'none',
  tool_names: {},
  no_effect_tools: [],
  refusal: { requiresErrorFlag: true, prefixes: [] },
  environment: {},
};

export interface RunningRun {
  readonly runId: RunId;
  readonly now: number;
  readonly maxToolCalls?: number;
  /** Its policy, when the one above does not do. */
  readonly policy?: string;
  /** More of its frozen spec. */
  readonly spec?: Partial<z.input<typeof RunSpec>>;
}

/** A supervised run of `runs`, frozen and running, whose policy allows ls and echo, asks for git push and denies curl. */
export async function startRun(
  ledger: Ledger,
  { runId, now, maxToolCalls = 20, policy = testPolicy, spec: more = {} }: RunningRun,
): Promise<void> {
  const stream = runStream(runId, 'default');
  const parsed = parsePolicy(policy);
  if (!parsed.ok) throw new Error(`the policy of this test does not parse: ${JSON.stringify(parsed)}`);
  const budgets = { max_wall_clock_secs: 600, max_tokens: null, max_cost_micro_usd: null, max_tool_calls: maxToolCalls };
  const spec = RunSpec.parse({
    spec_version: 1,
    run_id: runId,
    org: 'default',
    created_at: new Date(now).toISOString(),
    agent: { id: runId, name: 'fixer', revision: 1 },
    harness: scriptedHarness,
    runner_digest: digest,
    model: 'none',
    task_digest: digest,
    system_prompt_digest: null,
    policy: { name: 'test', version: 1, digest, source: policy, document: parsed.document },
    workspace: { kind: 'scratch' },
    autonomy: 'supervised',
    trust_tier: 'trusted',
    budgets,
    tool_surface: ['Bash', 'Read'],
    price_table: { version: '1', digest, price: null },
    invocation: { kind: 'api', principal: 'ada' },
    ...more,
  });
  const specDigest = await ledger.store.putDocument(Buffer.from(JSON.stringify(spec)));
  await ledger.decide(runFold, stream, () => ({
    createKeys: ledger.keyring.create(streamNameOf(stream)),
    setGeneration: 1,
    result: undefined,
    events: [
      draft('session.created', createdRun(runId, { policy: 'test', spec_digest: specDigest, budgets }), { task: 't', system_prompt: null }),
      draft('lease.granted', { generation: 1, valid_until: new Date(now + 900_000).toISOString() }),
      draft('session.status_changed', {
        from: 'initializing',
        to: 'running',
        reason: 'sandbox_started',
        deadline_at: new Date(now + 600_000).toISOString(),
      }),
    ],
  }));
}
