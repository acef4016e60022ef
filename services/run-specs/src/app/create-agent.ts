import { type AgentView, type CreateAgentBody, type Principal, Problem, streamNameOf } from '@fluidbox/contracts';
import { agentFold, agentView, decideCreateAgent } from '../domain/agent';
import { knownAgent } from './find-agent';
import type { Ports } from './ports';
import { policyExists } from './read-policy';
import { agentStream } from './streams';

export async function createAgent(ports: Ports, request: { principal: Principal; body: CreateAgentBody }): Promise<AgentView> {
  const { principal, body } = request;
  const stream = agentStream(principal.org, body.name);
  // Every agent gets its key, also without a prompt: a later revision may bring one.
  const created = ports.ledger.keyring.create(streamNameOf(stream));
  const context = {
    by: principal.name,
    agentId: stream.id,
    policyExists: await policyExists(ports, principal.org, body.policy),
    promptDigest: body.system_prompt === undefined ? null : created.keys.digest(body.system_prompt),
  };
  await ports.ledger.decide(agentFold, stream, (state) => {
    const events = decideCreateAgent(state, body, context);
    if (events instanceof Problem) throw events;
    return { events, result: undefined, createKeys: created };
  });
  return agentView(await knownAgent(ports, principal.org, body.name));
}
