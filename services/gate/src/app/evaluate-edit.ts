import {
  type EvaluateEdit,
  mendAgentValue,
  type ParsedRequestOf,
  Problem,
  type ReplyOf,
  runStream,
  streamNameOf,
} from '@fluidbox/contracts';
import { gateProjection, matchesOf } from '@fluidbox/policy';
import { historyWithout, runFold } from '@fluidbox/run-stream';
import { judgeByRules } from '../domain/rules';
import type { Ports } from './ports';

/** Allowed, such an edit would stand in the record as what ran, and nothing would have run. */
const cannotEdit = 'the harness of this run cannot run an edited call: deny it, and say what to do instead';

/** Would the rules deny the input that an approver wrote instead? The approver stands in for the ask; nothing is appended. */
export async function evaluateEdit(ports: Ports, request: ParsedRequestOf<typeof EvaluateEdit>): Promise<ReplyOf<typeof EvaluateEdit>> {
  const stream = runStream(request.run_id, request.org);
  const { state, version } = await ports.ledger.state(runFold, stream, { fresh: true });
  const call = state.calls.get(request.tool_call_id);
  if (call === undefined) throw new Problem('not_found', 'there is no such tool call');
  const keys = await ports.ledger.keyring.keysOf(streamNameOf(stream));
  const rules = await ports.rulesOf(state.specDigest);
  const edited_digest = keys.digest(request.input);
  if (!rules.runsEdits) return { verdict: 'deny', reason: cannotEdit, edited_digest };
  const { mended } = mendAgentValue(request.input);
  const projection = gateProjection({ tool: call.tool, input: request.input, mended });
  const now = ports.clock.now().getTime();
  // The call's own place in the history is not in the way of what would run in its stead.
  const ruling = judgeByRules(
    rules,
    { projection, input: request.input },
    { now, history: () => historyWithout(state.history, call.history) },
  );
  return {
    verdict: ruling.verdict,
    reason: ruling.reason,
    edited_digest,
    ...(rules.policy.conditions.length === 0 ? {} : { history: { matches: matchesOf(rules.policy, projection), at_version: version } }),
  };
}
