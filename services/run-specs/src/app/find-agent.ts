import { type AgentView, Problem } from '@fluidbox/contracts';
import { agentFold, agentView, type KnownAgent } from '../domain/agent';
import type { Ports } from './ports';
import { agentStream } from './streams';

/** The agent at the head of its stream, as Postgres has it now. */
export async function knownAgent(ports: Ports, org: string, name: string): Promise<KnownAgent> {
  const { state } = await ports.ledger.state(agentFold, agentStream(org, name), { fresh: true });
  if (state.status === 'absent') throw new Problem('not_found', `there is no agent ${name}`);
  return state;
}

export async function getAgent(ports: Ports, request: { org: string; name: string }): Promise<AgentView> {
  return agentView(await knownAgent(ports, request.org, request.name));
}

export async function listAgents(ports: Ports, request: { org: string }): Promise<AgentView[]> {
  const names = await ports.names.list(request.org, 'agent');
  return Promise.all(names.map((name) => getAgent(ports, { org: request.org, name })));
}
