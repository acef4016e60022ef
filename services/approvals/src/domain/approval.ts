import {
  type ApprovalOutcome,
  type ApprovalScope,
  approvalIdPattern,
  type DecideApprovalBody,
  type EventDraft,
  type HistoryCondition,
  type Principal,
  Problem,
  roleAtLeast,
} from '@fluidbox/contracts';
import { type ApprovalState, acceptsWork, type CallState, isTerminal, type RunState } from '@fluidbox/run-stream';

/**
 * One approval, from the stream of its run.
 *
 *   pending ──▶ approved | denied    by people: one denial settles it, approvals once as many different people as the policy asks have voted
 *      ├──────▶ expired              by time; a decision that comes later is refused, whether or not anybody noticed the time before
 *      └──────▶ refused              by the run, which accepts no work any more
 *
 * It is settled once, in one group with the decision on its call. Whoever comes second is told what was settled.
 */
export interface Settled {
  readonly events: readonly EventDraft[];
  readonly result: DecisionAnswer | Problem;
}
/** `pending`: the vote counts, more are needed. */
export interface DecisionAnswer {
  readonly decision: ApprovalOutcome | 'pending';
  readonly votes: number;
  readonly needed: number;
}
export interface DecideContext {
  readonly approvalId: string;
  readonly principal: Principal;
  readonly body: DecideApprovalBody;
  readonly now: number;
  /** What the gate says of the edited input, when the decision is an edit that it let pass. */
  readonly edit?: Edit;
}
export interface Edit {
  readonly digest: string;
  /** The history conditions of the policy that the edited input counts for. */
  readonly matches: readonly HistoryCondition[];
}

interface Found {
  readonly call: CallState;
  readonly approval: ApprovalState;
}

/** An approval's id names its call, so nothing is searched for. */
function findApproval(run: RunState, approvalId: string): Found | null {
  const call = run.calls.get(approvalIdPattern.exec(approvalId)?.[2] ?? '');
  return call?.approval?.approvalId === approvalId ? { call, approval: call.approval } : null;
}

/** The reasons for which this person may not decide this now, before anything is asked of the gate. Settling reasons come with events. */
export function decideApproval(run: RunState, context: DecideContext): Settled {
  const found = findApproval(run, context.approvalId);
  if (found === null) return refuse(new Problem('not_found', 'there is no such approval'));
  const { approval } = found;
  const forbidden = whyForbidden(run, approval, context.principal);
  if (forbidden !== null) return refuse(new Problem('forbidden', forbidden));
  if (approval.settled !== null) return answerSettled(found, context);
  if (!acceptsWork(run)) return refuseForRun(run, found);
  if (context.now >= approval.expiresAt) {
    return {
      events: settle(found, expired),
      result: new Problem('approval_expired', `the approval expired at ${new Date(approval.expiresAt).toISOString()}`),
    };
  }
  return vote(found, context);
}

/** So many approvals are settled in one group; a run that waits for more is asked about again. */
const settledAtOnceMax = 100;

/** What time and the run bring about: events that settle pending approvals that nobody can decide any more, the first `settledAtOnceMax` of them. */
export function settleOverdue(run: RunState, now: number): readonly EventDraft[] {
  if (isTerminal(run)) return [];
  const working = acceptsWork(run);
  const events: EventDraft[] = [];
  for (const approval of run.pendingApprovals.values()) {
    const call = run.calls.get(approval.toolCallId);
    if (call === undefined || (working && now < approval.expiresAt)) continue;
    events.push(...settle({ call, approval }, working ? expired : refused));
    if (events.length >= settledAtOnceMax * 2) break;
  }
  return events;
}

/** When the first pending approval expires; null when nothing is pending. */
export function nextExpiry(run: RunState): number | null {
  if (isTerminal(run)) return null;
  let first: number | null = null;
  for (const { expiresAt } of run.pendingApprovals.values()) if (first === null || expiresAt < first) first = expiresAt;
  return first;
}

/** Approvers and admins decide; so does the member who started the run, unless the policy wants a second person. */
function whyForbidden(run: RunState, approval: ApprovalState, principal: Principal): string | null {
  const requester = principal.name === run.invokedBy;
  if (requester && approval.excludeRequester) return 'the policy asks for somebody other than the one who started the run';
  if (requester || roleAtLeast(principal.role, 'approver')) return null;
  return 'only approvers, admins and the one who started the run may decide';
}

const refuse = (result: Problem): Settled => ({ events: [], result });

/** The winner's own request, sent again, gets its answer again; everybody else learns what was settled and by whom. */
function answerSettled({ call, approval }: Found, { principal, body, edit }: DecideContext): Settled {
  const { settled } = approval;
  if (settled === null) return refuse(new Problem('internal', 'asked for the settlement of a pending approval'));
  const wanted = {
    decision: body.decision === 'deny' ? 'denied' : 'approved',
    scope: body.decision === 'approve_session' ? 'session' : 'once',
  };
  // What ran must be what this request approves: the first input, or the same edit. Before the gate has told its digest an edit may be the same.
  const approvedEdit = call.decision?.editedDigest ?? null;
  const sameInput =
    body.decision === 'edit' ? approvedEdit !== null && approvedEdit === (edit?.digest ?? approvedEdit) : approvedEdit === null;
  const same =
    settled.by === principal.name &&
    settled.decision === wanted.decision &&
    (settled.decision === 'denied' || (settled.scope === wanted.scope && sameInput));
  if (same)
    return {
      events: [],
      result: { decision: settled.decision, votes: approval.approvers > 1 ? approval.votes.size : 1, needed: approval.approvers },
    };
  return refuse(
    new Problem('approval_settled', `the approval was ${settled.decision} before`, {
      extra: { decision: settled.decision, decided_by: settled.by, scope: settled.scope },
    }),
  );
}

function refuseForRun(run: RunState, found: Found): Settled {
  const result = new Problem('approval_settled', 'the run accepts no work any more', {
    extra: { decision: 'refused', decided_by: refused.by, scope: found.approval.scope },
  });
  return { events: isTerminal(run) ? [] : settle(found, refused), result };
}

function vote(found: Found, context: DecideContext): Settled {
  const { approval } = found;
  const { principal, body } = context;
  const { decision } = body;
  const voted: EventDraft = {
    type: 'approval.voted',
    actor: `principal:${principal.name}`,
    data: { approval_id: approval.approvalId, tool_call_id: approval.toolCallId, decision, by: principal.name },
  };
  const needed = approval.approvers;
  const several = needed > 1;
  if (decision === 'edit' && several) {
    return refuse(
      new Problem(
        'unprocessable',
        '/decision: an approval that needs several people cannot be edited, they would approve different inputs',
        { errors: [{ pointer: '/decision', detail: 'must be approve, approve_session or deny' }] },
      ),
    );
  }
  if (decision === 'deny') {
    const events = [...(several ? [voted] : []), ...settle(found, { outcome: 'denied', by: principal.name, body })];
    return { events, result: { decision: 'denied', votes: approval.votes.size + 1, needed } };
  }
  // A vote stands: the same person counts once, whatever they say the second time.
  if (approval.votes.has(principal.name)) return { events: [], result: { decision: 'pending', votes: approval.votes.size, needed } };
  const votes = approval.votes.size + 1;
  if (votes < needed) return { events: [voted], result: { decision: 'pending', votes, needed } };
  // A grant for the rest of the run needs every voter's word for it.
  const session = decision === 'approve_session' && [...approval.votes.values()].every((earlier) => earlier === 'approve_session');
  const approved = settle(found, {
    outcome: 'approved',
    by: principal.name,
    body,
    scope: session ? 'session' : 'once',
    edit: context.edit,
  });
  return { events: [...(several ? [voted] : []), ...approved], result: { decision: 'approved', votes, needed } };
}

interface Settlement {
  readonly outcome: ApprovalOutcome;
  readonly by: string;
  readonly scope?: ApprovalScope;
  readonly body?: DecideApprovalBody;
  readonly edit?: Edit | undefined;
}
const expired: Settlement = { outcome: 'expired', by: 'timeout' };
const refused: Settlement = { outcome: 'refused', by: 'run_ended' };

/** The group that settles: what happened to the approval, and what that means for its call. */
function settle({ call, approval }: Found, settlement: Settlement): readonly EventDraft[] {
  const { outcome, by, body, edit } = settlement;
  const actor = body === undefined ? 'service:approvals' : `principal:${by}`;
  const edited = edit === undefined ? {} : { edited_digest: edit.digest };
  const comment = body?.comment ?? null;
  return [
    {
      type: 'approval.decided',
      actor,
      data: {
        approval_id: approval.approvalId,
        tool_call_id: call.toolCallId,
        decision: outcome,
        scope: settlement.scope ?? 'once',
        decided_by: by,
        ...edited,
      },
      content: { comment, edited_input: body?.decision === 'edit' ? body.input : null },
    },
    {
      type: 'tool.decision',
      actor: 'service:approvals',
      data: {
        tool_call_id: call.toolCallId,
        tool: call.tool,
        verdict: outcome === 'approved' ? 'allow' : 'deny',
        source: outcome === 'refused' ? 'session_terminal' : 'approval',
        input_digest: call.inputDigest,
        code: codes[outcome],
        original_verdict: 'ask',
        approval_id: approval.approvalId,
        ...edited,
        ...(edit === undefined || edit.matches.length === 0 ? {} : { matches: [...edit.matches] }),
      },
      content: { reason: reasonOf(outcome, by), message: messageOf(outcome, comment) },
    },
  ];
}

const codes = { approved: 'approved', denied: 'approval_denied', expired: 'approval_expired', refused: 'session_terminal' } as const;

/** For people. */
function reasonOf(outcome: ApprovalOutcome, by: string): string {
  switch (outcome) {
    case 'approved':
      return `approved by ${by}`;
    case 'denied':
      return `denied by ${by}`;
    case 'expired':
      return 'nobody decided in time';
    case 'refused':
      return 'the run stopped accepting work while a person was asked';
  }
}

/** For the agent. */
function messageOf(outcome: ApprovalOutcome, comment: string | null): string {
  const said = comment === null ? '' : `: ${comment}`;
  switch (outcome) {
    case 'approved':
      return `a person approved this call${said}`;
    case 'denied':
      return `a person denied this call${said}`;
    case 'expired':
      return 'this call needed approval and nobody decided in time';
    case 'refused':
      return 'the run is ending; stop and report a result';
  }
}
