import { type AgentView, type Principal, Problem, type ReviseAgentBody, streamNameOf } from '@fluidbox/contracts';
import { agentFold, agentView, decideReviseAgent } from '../domain/agent';
import { knownAgent } from './find-agent';
import type { Ports } from './ports';
import { policyExists } from './read-policy';
import { agentStream } from './streams';

export async function reviseAgent(
  ports: Ports,
  request: { principal: Principal; name: string; body: ReviseAgentBody },
): Promise<AgentView> {
  const { principal, name, body } = request;
  const stream = agentStream(principal.org, name);
  const agent = await knownAgent(ports, principal.org, name);
  const keys = await ports.ledger.keyring.keysOf(streamNameOf(stream));
  const context = {
    by: principal.name,
    policyExists: await policyExists(ports, principal.org, body.policy ?? agent.revision.policy),
    promptDigest: typeof body.system_prompt === 'string' ? keys.digest(body.system_prompt) : null,
  };
  await ports.ledger.decide(agentFold, stream, (state) => {
    const events = decideReviseAgent(state, name, body, context);
    if (events instanceof Problem) throw events;
    return { events, result: undefined };
  });
  return agentView(await knownAgent(ports, principal.org, name));
}
