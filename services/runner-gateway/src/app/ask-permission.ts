import { mendAgentText, mendAgentValue, type PermissionRequest, Problem } from '@fluidbox/contracts';
import { PermissionCall } from './permission-call';
import type { Caller, Outlet, Ports, Question } from './ports';

/** More calls of one run than can be honest; each holds a connection. */
const parkedPerRunMax = 256;

/** Text of the agent is mended before anybody digests or stores it; `mended` makes it unknown to policy, so that nothing allows it. */
export function questionOf(caller: Caller, request: PermissionRequest): Question {
  const tool = mendAgentText(request.tool);
  const input = mendAgentValue(request.input);
  // File names come from the agent, too.
  const resolved = request.resolved_paths === undefined ? null : mendAgentValue(request.resolved_paths);
  return {
    run_id: caller.runId as Question['run_id'],
    org: caller.org as Question['org'],
    generation: caller.generation,
    tool_call_id: request.tool_call_id,
    tool: tool.text,
    input: input.value as Record<string, unknown>,
    ...(resolved === null ? {} : { resolved_paths: resolved.value as string[] }),
    mended: tool.mended || input.mended || resolved?.mended === true,
  };
}

/**
 * Asks the gate, and answers the caller through `outlet`. Resolves when the answer is given or a person must decide; what comes then, the log of the run
 * wakes. Rejects when the gate cannot be asked and nothing was sent yet.
 */
export async function askPermission(ports: Ports, question: Question, outlet: Outlet): Promise<void> {
  if (ports.wakeUps.waiting(question.run_id) >= parkedPerRunMax)
    throw new Problem('overloaded', 'too many calls of this run wait for an answer');
  await new PermissionCall(ports, question, outlet).ask();
}
