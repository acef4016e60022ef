import type { EventData } from '@fluidbox/contracts';

const digest = `sha256:${'a'.repeat(64)}`;

/** Data of the `session.created` that a test's run begins with; a test names what it is about. */
export const createdRun = (runId: string, about: Partial<EventData<'session.created'>> = {}): EventData<'session.created'> => ({
  run_id: runId,
  agent: 'fixer',
  agent_revision: 1,
  harness: 'scripted',
  model: 'none',
  policy: 'default',
  policy_version: 1,
  spec_digest: digest,
  request_digest: digest,
  autonomy: 'supervised',
  trust_tier: 'trusted',
  workspace_kind: 'scratch',
  invoked_by: 'ada',
  budgets: { max_wall_clock_secs: 600, max_tokens: null, max_cost_micro_usd: null, max_tool_calls: null },
  ...about,
});
