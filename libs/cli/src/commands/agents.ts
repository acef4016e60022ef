import type { AgentView } from '@fluidbox/contracts';
import { type ApiClient, ApiError } from '../api/client';
import { exitCodes } from '../exit-codes';
import { CommandFailure } from '../failure';
import { type Output, table } from '../output';

/** What an agent is made of; what is left out takes the default, or stays as it is in a revision. */
export interface AgentOptions {
  readonly description?: string;
  readonly harness?: string;
  readonly model?: string;
  readonly policy?: string;
  readonly systemPrompt?: string;
  readonly tier?: 'trusted' | 'read_only';
}

const bodyOf = (options: AgentOptions) => ({
  ...(options.description === undefined ? {} : { description: options.description }),
  ...(options.harness === undefined ? {} : { harness: options.harness }),
  ...(options.model === undefined ? {} : { model: options.model }),
  ...(options.policy === undefined ? {} : { policy: options.policy }),
  ...(options.systemPrompt === undefined ? {} : { system_prompt: options.systemPrompt }),
  ...(options.tier === undefined ? {} : { trust_tier: options.tier }),
});

function printAgent(agent: AgentView, output: Output): void {
  output.out(
    output.json
      ? JSON.stringify(agent)
      : `${agent.name} revision ${agent.revision} · ${agent.harness} · ${agent.model} · policy ${agent.policy}${agent.trust_tier === 'read_only' ? ' · read_only' : ''}`,
  );
}

export async function createAgentCommand(api: ApiClient, options: AgentOptions & { name: string }, output: Output): Promise<number> {
  try {
    printAgent(await api.createAgent({ name: options.name, ...bodyOf(options) }), output);
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'conflict')) throw error;
    throw new CommandFailure(`${error.message}: npm run -s fluidbox -- agent revise ${options.name} …`, exitCodes.refused);
  }
  return exitCodes.ok;
}

export async function reviseAgentCommand(api: ApiClient, name: string, options: AgentOptions, output: Output): Promise<number> {
  const body = bodyOf(options);
  if (Object.keys(body).length === 0)
    throw new CommandFailure('nothing to revise: name what changes, see fluidbox agent revise --help', exitCodes.usage);
  printAgent(await api.reviseAgent(name, body), output);
  return exitCodes.ok;
}

export async function listAgentsCommand(api: ApiClient, output: Output): Promise<number> {
  const { data } = await api.agents();
  if (output.json) output.out(JSON.stringify(data));
  else
    output.out(
      table([
        ['AGENT', 'REVISION', 'HARNESS', 'MODEL', 'POLICY'],
        ...data.map((agent) => [agent.name, String(agent.revision), agent.harness, agent.model, agent.policy]),
      ]),
    );
  return exitCodes.ok;
}
