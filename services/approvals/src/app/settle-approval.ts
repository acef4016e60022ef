import {
  approvalIdPattern,
  type DecideApproval,
  mendAgentValue,
  type ParsedRequestOf,
  Problem,
  type ReplyOf,
  runStream,
  type StreamRef,
} from '@fluidbox/contracts';
import type { Decision } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { type DecideContext, type DecisionAnswer, decideApproval, type Edit } from '../domain/approval';
import type { Ports } from './ports';

/** Settled by the version of the run's stream: of two people who decide at once, one wins and the other is told how it was settled. */
export async function settleApproval(
  ports: Ports,
  request: ParsedRequestOf<typeof DecideApproval>,
): Promise<ReplyOf<typeof DecideApproval>> {
  const { approval_id, principal, body } = request;
  const [, runId, toolCallId] = approvalIdPattern.exec(approval_id) ?? [];
  if (runId === undefined || toolCallId === undefined || principal.org !== request.org)
    throw new Problem('not_found', 'there is no such approval');
  const stream = runStream(runId, request.org);
  const context = (): DecideContext => ({ approvalId: approval_id, principal, body, now: ports.clock.now().getTime() });
  // A refusal is not checked by the store, so it must not rest on a cache that has not heard the newest.
  await ports.ledger.state(runFold, stream, { fresh: true });
  for (let attempt = 1; ; attempt++) {
    const edit = body.decision === 'edit' ? await allowedEdit(ports, stream, toolCallId, body.input, context()) : undefined;
    const result = await ports.ledger.decide(runFold, stream, (run, version): Decision<DecisionAnswer | Problem | 'outdated'> => {
      const settled = decideApproval(run, { ...context(), ...(edit === undefined ? {} : { edit }) });
      if (body.decision !== 'edit' || settled.result instanceof Problem) return settled;
      // The gate was not asked, because there was nothing to decide, or it judged by what the run had done; and now it is different.
      const isOutdated = edit === undefined || (settled.events.length > 0 && edit.judgedAt !== null && edit.judgedAt !== version);
      return isOutdated ? { events: [], result: 'outdated' } : settled;
    });
    if (result === 'outdated') {
      if (attempt < judgementsMax) continue;
      throw new Problem('conflict', 'the run moves on too fast to judge the edit; decide again');
    }
    // A refusal may come with events of its own (expired, refused); they are stored by now.
    if (result instanceof Problem) throw result;
    return { approval_id, ...result };
  }
}

/** How often an edit is judged again because the run moved on. */
const judgementsMax = 5;

interface JudgedEdit extends Edit {
  /** Version of the stream that the verdict rests on; null when the policy does not look at what the run did. */
  readonly judgedAt: number | null;
}

/** An edit that the gate does not deny; undefined when the decision fails anyway, for a reason that the decision itself tells. */
async function allowedEdit(
  ports: Ports,
  stream: StreamRef,
  toolCallId: string,
  input: Record<string, unknown>,
  context: DecideContext,
): Promise<JudgedEdit | undefined> {
  if (mendAgentValue(input).mended) {
    const detail = 'must not contain NUL or lone surrogates';
    throw new Problem('unprocessable', `/input: ${detail}`, { errors: [{ pointer: '/input', detail }] });
  }
  const { state } = await ports.ledger.state(runFold, stream, { fresh: true });
  if (decideApproval(state, context).result instanceof Problem) return undefined;
  const edit = await ports.evaluateEdit({ run_id: stream.id, org: stream.org, tool_call_id: toolCallId, input });
  if (edit.verdict === 'deny')
    throw new Problem('edit_denied', `the gate denies the edited input: ${edit.reason}; the approval stays pending`, {
      extra: { reason: edit.reason },
    });
  return { digest: edit.edited_digest, matches: edit.history?.matches ?? [], judgedAt: edit.history?.at_version ?? null };
}
