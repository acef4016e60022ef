import { type ApprovalView, type RecordedEvent, timelineEvent } from '@fluidbox/contracts';

/** An approval as lists show it. Input, projection, reason and scope key are content and stay in the run's stream. */
export function evolveApproval(
  view: ApprovalView | null,
  recorded: RecordedEvent,
  run: { runId: string; agent: string },
): ApprovalView | null {
  const event = timelineEvent(recorded);
  if (event?.type === 'approval.requested') {
    if (view !== null) return view;
    const { data } = event;
    return {
      id: data.approval_id,
      run_id: run.runId,
      agent: run.agent,
      tool_call_id: data.tool_call_id,
      tool: data.tool,
      status: 'pending',
      scope: data.scope,
      scope_key: null,
      input_digest: data.input_digest,
      input: null,
      projection: null,
      reason: null,
      approvers: data.approvers,
      votes: [],
      requested_at: event.occurredAt,
      expires_at: data.expires_at,
      decided_at: null,
      decided_by: null,
    };
  }
  if (view === null) return null;
  if (event?.type === 'approval.voted')
    return view.votes.includes(event.data.by) ? view : { ...view, votes: [...view.votes, event.data.by] };
  if (event?.type === 'approval.decided') {
    // The first decision stays, as in the fold that decides.
    if (view.status !== 'pending') return view;
    return { ...view, status: event.data.decision, decided_at: event.occurredAt, decided_by: event.data.decided_by };
  }
  return view;
}

/** The approval an event speaks of. */
export function approvalIdOf(recorded: RecordedEvent): string | null {
  const event = timelineEvent(recorded);
  if (event?.type !== 'approval.requested' && event?.type !== 'approval.voted' && event?.type !== 'approval.decided') return null;
  return event.data.approval_id;
}
