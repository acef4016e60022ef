import path from 'node:path';
import type { BudgetsInput, SessionView, WorkspaceInput } from '@fluidbox/contracts';
import { type ApiClient, ApiError } from '../api/client';
import type { Connection } from '../api/connect';
import { exitCodeOfOutcome, exitCodes } from '../exit-codes';
import { CommandFailure } from '../failure';
import { dollarsOf } from '../money';
import { readNamedText } from '../named-file';
import { type Output, table } from '../output';
import { followRun, leavingLines, tellHowToDecide } from './follow-run';
import { observesOnly, sessionLines } from './session-lines';

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
const taskText = (task: string): string => (task === '-' ? readNamedText(task, '--task') : task);

/** Throws for options that contradict each other: one of them would be ignored without a word. */
export function workspaceOf(options: { repo?: string; git?: string; ref?: string }): WorkspaceInput | undefined {
  if (options.repo !== undefined && options.git !== undefined)
    throw new CommandFailure('--repo and --git exclude each other: a run has one workspace', exitCodes.usage);
  if (options.ref !== undefined && options.git === undefined)
    throw new CommandFailure('--ref goes with --git: it says which commit to fetch', exitCodes.usage);
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
export async function runCommand({ api, stackStays }: Connection, options: RunOptions, output: Output): Promise<number> {
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
  return watchCommand({ api, stackStays }, session.id, {}, output);
}

/** Follows a run and says what a person can do about it meanwhile. */
export async function watchCommand(
  { api, stackStays }: Connection,
  id: string,
  options: { after?: number },
  output: Output,
): Promise<number> {
  const onInterrupt = (): void => {
    for (const line of leavingLines(id, stackStays)) output.err(line);
    // A stack of our own has its own listener, which ends it first.
    if (stackStays) process.exit(exitCodes.interrupted);
  };
  process.once('SIGINT', onInterrupt);
  try {
    const { policy } = await api.spec(id);
    if (policy.document.mode === 'observe') output.err(output.paint.red(observesOnly(policy.name)));
    return (await followRun(api, id, output, { ...options, onEvent: (event) => tellHowToDecide(api, id, event, output) })).exitCode;
  } catch (error) {
    // The stream is resumed by a header; whoever typed the option never saw it.
    if (error instanceof ApiError && error.message.startsWith('Last-Event-ID'))
      throw new CommandFailure(error.message.replace('Last-Event-ID', `--after ${options.after}`), exitCodes.usage);
    throw error;
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

export async function getCommand(api: ApiClient, id: string, output: Output): Promise<number> {
  const session = await api.session(id);
  output.out(output.json ? JSON.stringify(session) : sessionLines(session, (await api.spec(id)).policy.document.mode).join('\n'));
  return session.outcome === null ? exitCodes.ok : exitCodeOfOutcome(session.outcome, session.reason);
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
  const status = (run: SessionView): string => (run.content_erased_at == null ? run.status : `${run.status}, erased`);
  const rows = page.data.map((run) => [run.id, status(run), run.agent, dollarsOf(run.usage.cost_micro_usd), run.created_at]);
  output.out(table([['RUN', 'STATUS', 'AGENT', 'COST', 'CREATED'], ...rows]));
  if (page.next_cursor !== null) {
    const filter = options.status === undefined ? '' : ` --status ${options.status}`;
    output.err(`more: npm run -s fluidbox -- list --cursor ${page.next_cursor} --limit ${options.limit}${filter}`);
  }
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
    output.err('this run has no diff (yet); it is collected when the run ends');
    return exitCodes.not_found;
  }
  if (output.json) output.out(JSON.stringify(diff));
  else if (diff.bytes === 0) output.err('this run changed nothing');
  else write(await api.artifact(id, diff.id));
  return exitCodes.ok;
}
