import type { SessionView } from '@fluidbox/contracts';
import { coverageOf, derivedStatus, isTerminal } from './queries';
import type { RunState } from './state';

const iso = (time: number | null): string | null => (time === null ? null : new Date(time).toISOString());

/** The API's picture of a run, from the fold: the same for one run and in the projector's lists. Task and summary are content: null once erased. */
export function sessionView(run: RunState, content: { task: string | null; summary: string | null; agentRevision: number }): SessionView {
  return {
    id: run.runId ?? '',
    agent: run.agent,
    agent_revision: content.agentRevision,
    harness: run.harness,
    model: run.model,
    policy: run.policy,
    policy_version: run.policyVersion,
    status: derivedStatus(run),
    reason: run.intent?.reason ?? null,
    outcome: run.outcome,
    coverage: isTerminal(run) ? coverageOf(run) : null,
    autonomy: run.autonomy,
    trust_tier: run.trustTier,
    spec_digest: run.specDigest,
    budgets: run.budgets,
    invoked_by: run.invokedBy,
    task: content.task,
    summary: content.summary,
    usage: {
      input_tokens: run.usage.inputTokens,
      output_tokens: run.usage.outputTokens,
      cache_read_tokens: run.usage.cacheReadTokens,
      cache_write_tokens: run.usage.cacheWriteTokens,
      cost_micro_usd: run.usage.costMicroUsd,
      model_requests: run.usage.modelRequests,
    },
    tool_calls: run.calls.size,
    pending_approvals: run.pendingApprovals.size,
    last_seq: run.version,
    created_at: iso(run.createdAt) ?? '',
    started_at: iso(run.startedAt),
    finished_at: iso(run.endedAt),
    deadline_at: iso(run.deadlineAt),
  };
}
