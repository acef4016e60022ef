import fs from 'node:fs';
import path from 'node:path';
import type { BudgetsInput, WorkspaceInput } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodeOfOutcome, exitCodes } from '../exit-codes';
import { type Output, table } from '../output';
import { oneLine } from '../paint';
import { followRun } from './follow-run';

export interface RunOptions {
  readonly agent: string;
  readonly task: string;
  readonly repo?: string;
  readonly git?: string;
  readonly ref?: string;
  readonly autonomous?: boolean;
  readonly maxCostUsd?: number;
  readonly maxToolCalls?: number;
  readonly idempotencyKey?: string;
  readonly detach?: boolean;
}

/** `-` reads the task from standard input. */
const taskText = (task: string): string => (task === '-' ? fs.readFileSync(0, 'utf8') : task);

function workspaceOf(options: { repo?: string; git?: string; ref?: string }): WorkspaceInput | undefined {
  if (options.repo !== undefined) return { kind: 'local_copy', path: path.resolve(options.repo) };
  if (options.git === undefined) return undefined;
  const sha = options.ref !== undefined && /^[0-9a-f]{40}$/.test(options.ref);
  return {
    kind: 'git_repository',
    clone_url: options.git,
    ...(options.ref === undefined ? {} : sha ? { commit_sha: options.ref } : { ref: options.ref }),
  };
}

/** Creates a run and follows it to its end (`--detach`: prints its id and returns). */
export async function runCommand(api: ApiClient, options: RunOptions, output: Output): Promise<number> {
  const workspace = workspaceOf(options);
  const budgets: BudgetsInput = {
    ...(options.maxCostUsd === undefined ? {} : { max_cost_usd: options.maxCostUsd }),
    ...(options.maxToolCalls === undefined ? {} : { max_tool_calls: options.maxToolCalls }),
  };
  const { session } = await api.createSession(
    {
      agent: options.agent,
      task: taskText(options.task),
      autonomous: options.autonomous ?? false,
      ...(workspace === undefined ? {} : { workspace }),
      ...(Object.keys(budgets).length === 0 ? {} : { budgets }),
    },
    options.idempotencyKey,
  );
  if (options.detach === true) {
    output.out(output.json ? JSON.stringify(session) : session.id);
    return exitCodes.ok;
  }
  output.err(`run ${session.id}`);
  return (await followRun(api, session.id, output)).exitCode;
}

export async function getCommand(api: ApiClient, id: string, output: Output): Promise<number> {
  const session = await api.session(id);
  output.out(output.json ? JSON.stringify(session) : JSON.stringify(session, null, 2));
  return session.outcome === null ? exitCodes.ok : exitCodeOfOutcome(session.outcome);
}

export async function listCommand(
  api: ApiClient,
  options: { limit: number; cursor?: string; status?: string },
  output: Output,
): Promise<number> {
  const page = await api.sessions(options);
  if (output.json) {
    output.out(JSON.stringify(page));
    return exitCodes.ok;
  }
  const rows = page.data.map((run) => [
    run.id,
    run.status,
    run.agent,
    `$${(run.usage.cost_micro_usd / 1e6).toFixed(4)}`,
    run.created_at,
    oneLine(run.task ?? '', 60),
  ]);
  output.out(table([['RUN', 'STATUS', 'AGENT', 'COST', 'CREATED', 'TASK'], ...rows]));
  if (page.next_cursor !== null) output.err(`more: fluidbox list --cursor ${page.next_cursor}`);
  return exitCodes.ok;
}

export async function cancelCommand(api: ApiClient, id: string, output: Output): Promise<number> {
  const { cancelled } = await api.cancel(id);
  output.out(output.json ? JSON.stringify({ cancelled }) : cancelled ? `cancelling ${id}` : `${id} was ending already`);
  return cancelled ? exitCodes.ok : exitCodes.refused;
}

export async function diffCommand(api: ApiClient, id: string, output: Output, write: (bytes: Buffer) => void): Promise<number> {
  const diff = (await api.artifacts(id)).data.find((artifact) => artifact.kind === 'diff');
  if (diff === undefined) {
    output.err('this run has no diff (yet)');
    return exitCodes.not_found;
  }
  if (output.json) output.out(JSON.stringify(diff));
  else write(await api.artifact(id, diff.id));
  return exitCodes.ok;
}
