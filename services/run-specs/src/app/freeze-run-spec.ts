import { type CreateSessionBody, type Principal, Problem, type RunSpec } from '@fluidbox/contracts';
import { canonicalJson } from '@fluidbox/redaction';
import { saltedDigest } from '@fluidbox/seal';
import { agentFold, type KnownAgent, unprocessable } from '../domain/agent';
import { freezeRunSpec as freeze } from '../domain/freeze';
import type { Ports } from './ports';
import { publishedPolicy } from './read-policy';
import { agentStream } from './streams';

export interface FreezeRequest {
  readonly run_id: string;
  readonly org: string;
  readonly salt: string;
  readonly principal: Principal;
  readonly invocation: 'api' | 'cli';
  readonly body: CreateSessionBody;
}

/** Reads agent and policy at their heads, freezes, stores the document. A spec that no run came to use is a harmless document. */
export async function freezeRunSpec(
  ports: Ports,
  request: FreezeRequest,
): Promise<{ spec_digest: string; spec: RunSpec; system_prompt: string | null }> {
  const { org, body } = request;
  const stream = agentStream(org, body.agent);
  const { state: agent } = await ports.ledger.state(agentFold, stream, { fresh: true });
  if (agent.status === 'absent') throw unprocessable('/agent', `there is no agent ${body.agent}`);
  const policy = await publishedPolicy(ports, org, agent.revision.policy);
  if (policy === undefined)
    throw unprocessable('/agent', `agent ${agent.name} names the policy ${agent.revision.policy}, which does not exist`);
  const systemPrompt = await systemPromptOf(ports, agent, org);
  const salt = Buffer.from(request.salt, 'base64');
  const spec = freeze({
    runId: request.run_id,
    org,
    now: ports.clock.now(),
    agent,
    policy,
    body,
    principal: request.principal.name,
    invocation: request.invocation,
    prices: ports.prices,
    runnerDigest: ports.runnerDigest,
    allowsSource: ports.allowsSource,
    taskDigest: saltedDigest(salt, body.task),
    systemPromptDigest: systemPrompt === null ? null : saltedDigest(salt, systemPrompt),
  });
  if (spec instanceof Problem) throw spec;
  await ports.ledger.store.putDocument(ports.prices.bytes);
  const digest = await ports.ledger.store.putDocument(Buffer.from(canonicalJson(spec), 'utf8'));
  return { spec_digest: digest, spec, system_prompt: systemPrompt };
}

async function systemPromptOf(ports: Ports, agent: KnownAgent, org: string): Promise<string | null> {
  const { prompt } = agent.revision;
  if (prompt === null) return null;
  const content = await ports.ledger.content(agentStream(org, agent.name), prompt.seq, 'rest');
  const text = (content as { system_prompt?: unknown } | null)?.system_prompt;
  if (typeof text !== 'string') throw unprocessable('/agent', `the system prompt of agent ${agent.name} was erased; revise the agent`);
  return text;
}
