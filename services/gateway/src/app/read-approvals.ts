import { type ApprovalView, approvalIdPattern, type Principal, Problem, runStream } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import { type CallState, exists, type RunState, runFold } from '@fluidbox/run-stream';
import { z } from 'zod';
import { maySeeRun } from '../domain/authority';

/** Every approval of one run, oldest first, with the sealed input as the approver needs to see it. */
export async function approvalsOfRun(ledger: Ledger, org: string, run: RunState): Promise<ApprovalView[]> {
  const asked = [...run.calls.values()].filter((call) => call.approval !== null);
  return Promise.all(asked.map((call) => approvalView(ledger, org, run, call)));
}

/** The run and call an approval id names, if the principal may see them. */
export async function readApproval(
  ledger: Ledger,
  principal: Principal,
  approvalId: string,
): Promise<{ run: RunState; view: ApprovalView }> {
  const [, runId, toolCallId] = approvalIdPattern.exec(approvalId) ?? [];
  const missing = new Problem('not_found', 'there is no approval of this id; an id is taken whole, as the list of approvals shows it');
  if (runId === undefined || toolCallId === undefined || !z.uuid().safeParse(runId).success) throw missing;
  const { state: run } = await ledger.state(runFold, runStream(runId, principal.org), { fresh: true });
  const call = run.calls.get(toolCallId);
  if (!exists(run) || !maySeeRun(principal, { invokedBy: run.invokedBy, org: principal.org }) || call?.approval == null) throw missing;
  return { run, view: await approvalView(ledger, principal.org, run, call) };
}

async function approvalView(ledger: Ledger, org: string, run: RunState, call: CallState): Promise<ApprovalView> {
  const approval = call.approval;
  if (approval === null) throw new Error(`call ${call.toolCallId} has no approval`);
  const stream = runStream(run.runId ?? '', org);
  const [requested, projection, asked] = await Promise.all([
    ledger.content(stream, call.requestedSeq, 'rest'),
    ledger.content(stream, call.requestedSeq, 'projection'),
    ledger.content(stream, approval.requestedSeq, 'rest'),
  ]);
  const [event] = await ledger.store.read(stream, { after: approval.requestedSeq - 1, limit: 1 });
  const [decided] = approval.settled === null ? [] : await ledger.store.read(stream, { after: approval.settled.seq - 1, limit: 1 });
  const why = z.object({ reason: z.string(), scope_key: z.string().optional() }).safeParse(asked);
  const input = z.object({ input: z.unknown() }).safeParse(requested);
  return {
    id: approval.approvalId,
    run_id: run.runId ?? '',
    agent: run.agent,
    tool_call_id: call.toolCallId,
    tool: call.tool,
    status: approval.settled?.decision ?? 'pending',
    scope: approval.scope,
    scope_key: why.data?.scope_key ?? approval.scopeKey,
    input_digest: call.inputDigest,
    input: input.success ? input.data.input : null,
    projection: projection ?? null,
    reason: why.data?.reason ?? null,
    approvers: approval.approvers,
    votes: [...approval.votes.keys()],
    requested_at: event?.occurredAt ?? '',
    expires_at: new Date(approval.expiresAt).toISOString(),
    decided_at: decided?.occurredAt ?? null,
    decided_by: approval.settled?.by ?? null,
  };
}
