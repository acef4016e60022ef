import fs from 'node:fs';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { type Output, table } from '../output';

export async function createAgentCommand(
  api: ApiClient,
  options: { name: string; harness?: string; model?: string; policy?: string; systemPrompt?: string; readOnly?: boolean },
  output: Output,
): Promise<number> {
  const agent = await api.createAgent({
    name: options.name,
    ...(options.harness === undefined ? {} : { harness: options.harness }),
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.policy === undefined ? {} : { policy: options.policy }),
    ...(options.systemPrompt === undefined ? {} : { system_prompt: options.systemPrompt }),
    ...(options.readOnly === true ? { trust_tier: 'read_only' as const } : {}),
  });
  output.out(
    output.json
      ? JSON.stringify(agent)
      : `${agent.name} revision ${agent.revision} · ${agent.harness} · ${agent.model} · policy ${agent.policy}`,
  );
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

export async function importPolicyCommand(
  api: ApiClient,
  options: { name: string; file: string; summary?: string; baseVersion?: number },
  output: Output,
): Promise<number> {
  const policy = await api.importPolicy(options.name, {
    source: fs.readFileSync(options.file === '-' ? 0 : options.file, 'utf8'),
    ...(options.summary === undefined ? {} : { summary: options.summary }),
    ...(options.baseVersion === undefined ? {} : { base_version: options.baseVersion }),
  });
  output.out(
    output.json
      ? JSON.stringify(policy)
      : `${policy.name} version ${policy.version} ${policy.digest}${policy.appended === false ? ' (unchanged)' : ''}`,
  );
  return exitCodes.ok;
}

export async function getPolicyCommand(api: ApiClient, name: string, version: number | undefined, output: Output): Promise<number> {
  const policy = await api.policy(name, version);
  output.out(output.json ? JSON.stringify(policy) : policy.source);
  return exitCodes.ok;
}
