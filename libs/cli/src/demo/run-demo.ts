import path from 'node:path';
import { type ApprovalView, approvalIdOf, type EventView, type HarnessId } from '@fluidbox/contracts';
import { ApiClient, ApiError } from '../api/client';
import { followRun } from '../commands/follow-run';
import { exitCodes } from '../exit-codes';
import type { Output } from '../output';
import { approvalCard, askPerson } from './decide';
import { type DemoSummary, summarize, summaryLines } from './summary';

/** The bundled repository and its task. */
export const sampleRepository = path.join(__dirname, '../../demo/repository');
export const sampleTask =
  'A test of this repository fails. Find out why, fix the code (not the test), run the tests with `node --test` until they pass, then commit the fix.';
/** One agent per harness; the first one has the plain name. */
const agentNames: Readonly<Record<HarnessId, string>> = { 'claude-agent-sdk': 'demo', codex: 'demo-codex', scripted: 'demo-scripted' };

export interface DemoOptions {
  readonly harness: HarnessId;
  readonly yes: boolean;
  readonly repo: string;
  readonly task: string;
}

/** One governed run from the outside: everything it does goes through the public API, like any other client. */
export async function runDemo(
  api: ApiClient,
  publicUrl: string,
  options: DemoOptions,
  output: Output,
  input: NodeJS.ReadStream,
): Promise<number> {
  await ensureAgent(api, options.harness);
  const { session } = await api.createSession({
    agent: agentNames[options.harness],
    task: options.task,
    workspace: { kind: 'local_copy', path: path.resolve(options.repo) },
  });
  output.err(`run ${session.id} on a copy of ${options.repo}`);
  const approver = options.yes ? await approverFor(api, publicUrl, session.id) : null;
  const decisions: Promise<void>[] = [];
  const events: EventView[] = [];
  const quietly: Output = { ...output, json: false, out: output.json ? output.err : output.out };
  const { exitCode } = await followRun(api, session.id, quietly, {
    onEvent: (event) => {
      events.push(event);
      if (event.type === 'approval.requested')
        decisions.push(decide(api, approver?.client ?? null, approvalIdOf(session.id, String(event.data.tool_call_id)), output, input));
    },
  });
  await Promise.all(decisions);
  if (approver !== null) await api.revokeToken(approver.name);
  const summary = summarize(session.id, events);
  if (summary === null) throw new Error(`run ${session.id} ended without a terminal record`);
  await report(api, session.id, summary, output);
  // A completed run whose coverage is not full is no success: something ran that the gate did not decide.
  return summary.outcome === 'completed' && summary.coverage !== 'full' ? exitCodes.run_failed : exitCode;
}

async function ensureAgent(api: ApiClient, harness: HarnessId): Promise<void> {
  try {
    await api.createAgent({ name: agentNames[harness], description: 'the agent of npm run demo', harness, policy: 'default' });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'conflict')) throw error;
  }
}

/** `--yes` decides as a person would: with an approver's own token through the public API, never with the admin's. */
async function approverFor(api: ApiClient, publicUrl: string, runId: string): Promise<{ client: ApiClient; name: string }> {
  const name = `demo-approver-${runId.slice(-12)}`;
  const { token } = await api.createToken({ name, role: 'approver', ttl_days: 1 });
  return { client: new ApiClient({ url: publicUrl, token }), name };
}

async function decide(
  api: ApiClient,
  approver: ApiClient | null,
  approvalId: string,
  output: Output,
  input: NodeJS.ReadStream,
): Promise<void> {
  const approval = await api.approval(approvalId);
  try {
    if (approver !== null) {
      for (const line of approvalCard(approval)) output.err(output.paint.yellow(`  ${line}`));
      await approver.decide(approvalId, { decision: 'approve', comment: 'demo --yes' });
    } else if (input.isTTY) {
      await api.decide(approvalId, await askPerson(approval, output, input));
    } else {
      tellHow(approval, output);
    }
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
    output.err(`  decided elsewhere: ${error.message}`);
  }
}

function tellHow(approval: ApprovalView, output: Output): void {
  for (const line of approvalCard(approval)) output.err(`  ${line}`);
  output.err(`  decide in another terminal: npm run -s fluidbox -- approve ${approval.id}`);
}

async function report(api: ApiClient, runId: string, summary: DemoSummary, output: Output): Promise<void> {
  const show = output.json ? output.err : output.out;
  show('');
  for (const line of summaryLines(summary)) show(line);
  if (summary.diffSha256 !== null) {
    show(`diff        ${summary.diffSha256}`);
    show('');
    for (const line of (await api.artifact(runId, 'diff')).toString('utf8').trimEnd().split('\n').slice(0, 40)) show(line);
  }
  output.err(`check the record: npm run -s fluidbox -- export ${runId} -o run.jsonl && npm run -s fluidbox -- verify run.jsonl`);
  output.err(`next: npm run -s fluidbox -- get ${runId}, or a run of your own: README.md, "Two commands"`);
  if (output.json) output.out(JSON.stringify(summary));
}
