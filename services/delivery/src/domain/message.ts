import type { EventData, RecordedEvent, ResultMessage, WebhookMessage } from '@fluidbox/contracts';

export type ApprovalRequested = RecordedEvent<'approval.requested', EventData<'approval.requested'>>;
export type RunResult = RecordedEvent<'run.result', EventData<'run.result'>>;

interface AboutRun {
  readonly runId: string;
  readonly agent: string;
}

// What a receiver is told: what the ledger may keep for ever, and of that only what it takes to act.

/** Without what version 1 says of the scope key, which may show a part of the input. */
export function approvalMessage(event: ApprovalRequested, { runId, agent }: AboutRun, publicUrl: string): WebhookMessage {
  const { approval_id, tool, scope, approvers, expires_at } = event.data;
  const link = `${publicUrl}/approvals/${approval_id}`;
  const data = { run_id: runId, approval_id, agent, tool, scope, approvers, expires_at, link };
  return { type: 'approval.requested', timestamp: event.occurredAt, data };
}

/** `hash`: of this event in the chain of its run. It closes the stream, so it is the head of the whole record. It is signed by another service, meanwhile. */
export function resultMessage(event: RunResult, { runId, agent }: AboutRun, hash: string): ResultMessage {
  const { outcome, reason, coverage, cost_micro_usd, duration_ms, diff_sha256 } = event.data;
  const head = { stream: event.stream, seq: event.seq, hash, jws: null };
  const data = { run_id: runId, agent, outcome, reason, coverage, cost_micro_usd, duration_ms, diff_sha256, head };
  return { type: 'run.result', timestamp: event.occurredAt, data };
}

/** The same result with its head signed. */
export const withCheckpoint = ({ data, ...message }: ResultMessage, jws: string): ResultMessage => ({
  ...message,
  data: { ...data, head: { ...data.head, jws } },
});
