import { type PermissionRequest, Problem, RequestPermission, type ToolsCallAnswer } from '@fluidbox/contracts';
import { notActive } from '../domain/plane-error';
import { questionOf } from './ask-permission';
import type { Caller, Ports } from './ports';

const noBroker = 'No brokered tool is bound to this run, so there is nothing that could run it.';

/**
 * A tool that the control plane would run itself. No run has one bound yet. The gate is asked all the same: it records the call and its denial
 * (the tool is not on the frozen surface), as it would any other.
 */
export async function callTool(ports: Ports, caller: Caller, request: PermissionRequest): Promise<ToolsCallAnswer> {
  // The gate may well allow one of the sandbox's own tools, and the record would then show an allowed call that nobody ran.
  if (!request.tool.startsWith('mcp__'))
    throw new Problem('invalid_request', `tool: ${request.tool} runs in the sandbox; ask /permission for it`);
  const reply = await ports.bus.request(RequestPermission, questionOf(caller, request));
  if (reply.status === 'pending' || reply.answer.decision === 'allow') return { ok: false, error: noBroker };
  if (reply.answer.code === 'session_terminal') throw notActive;
  return { ok: false, denied: true, message: reply.answer.message };
}
