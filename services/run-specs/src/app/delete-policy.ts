import { type Principal, Problem } from '@fluidbox/contracts';
import { decideDelete, newestVersion, policyFold } from '../domain/policy';
import { listAgents } from './find-agent';
import type { Ports } from './ports';
import { policyState } from './read-policy';
import { policyStream } from './streams';

/** Refused while the newest revision of an agent names it. Versions stay readable, and runs keep the one they froze. */
export async function deletePolicy(
  ports: Ports,
  { principal, name }: { readonly principal: Principal; readonly name: string },
): Promise<{ name: string; last_version: number }> {
  const { org } = principal;
  const newest = newestVersion(await policyState(ports, org, name));
  const usedBy = (await listAgents(ports, { org })).filter((agent) => agent.policy === name).map((agent) => agent.name);
  await ports.ledger.decide(policyFold, policyStream(org, name), (state) => {
    const events = decideDelete(state, name, usedBy, { by: principal.name, actor: `principal:${principal.name}` });
    if (events instanceof Problem) throw events;
    return { events, result: undefined };
  });
  return { name, last_version: newest?.version ?? 0 };
}
