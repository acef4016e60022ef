import {
  type EvaluateEdit,
  mendAgentValue,
  type ParsedRequestOf,
  Problem,
  type ReplyOf,
  runStream,
  streamNameOf,
} from '@fluidbox/contracts';
import { gateProjection } from '@fluidbox/policy';
import { runFold } from '@fluidbox/run-stream';
import { judgeByRules } from '../domain/rules';
import type { Ports } from './ports';

/** Would the rules deny the input that an approver wrote instead? The approver stands in for the ask; nothing is appended. */
export async function evaluateEdit(ports: Ports, request: ParsedRequestOf<typeof EvaluateEdit>): Promise<ReplyOf<typeof EvaluateEdit>> {
  const stream = runStream(request.run_id, request.org);
  const { state } = await ports.ledger.state(runFold, stream, { fresh: true });
  const call = state.calls.get(request.tool_call_id);
  if (call === undefined) throw new Problem('not_found', 'there is no such tool call');
  const keys = await ports.ledger.keyring.keysOf(streamNameOf(stream));
  const rules = await ports.rulesOf(state.specDigest);
  const { mended } = mendAgentValue(request.input);
  const ruling = judgeByRules(rules, gateProjection({ tool: call.tool, input: request.input, mended }));
  return { verdict: ruling.verdict, reason: ruling.reason, edited_digest: keys.digest(request.input) };
}
