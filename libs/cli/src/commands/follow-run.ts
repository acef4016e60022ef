import { approvalIdOf, type EventView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodeOfOutcome } from '../exit-codes';
import type { Output } from '../output';
import { wrapped } from '../paint';
import { timelineLine } from '../timeline-line';

/** Prints a run as it happens until its terminal event; `--json` prints one event a line. Answers the exit code of its outcome. */
export async function followRun(
  api: ApiClient,
  id: string,
  output: Output,
  options: { after?: number; onEvent?: (event: EventView) => void | Promise<void> } = {},
): Promise<{ outcome: string | null; exitCode: number }> {
  let startedAt: number | null = null;
  let outcome: string | null = null;
  let reason: string | null = null;
  for await (const event of api.watch(id, options.after ?? 0)) {
    startedAt ??= Date.parse(event.occurred_at);
    const line = output.json ? JSON.stringify(event) : timelineLine(event, startedAt, output.paint);
    if (line !== null) output.out(line);
    if (event.type === 'run.result') {
      outcome = String(event.data.outcome);
      reason = String(event.data.reason);
    }
    await options.onEvent?.(event);
  }
  if (!output.json && outcome !== 'completed') output.out(whyLine(await api.session(id)));
  return { outcome, exitCode: exitCodeOfOutcome(outcome, reason) };
}

/** The last line of a run that did not complete: its reason, and what the agent or the service that gave up said. */
export const whyLine = (session: { status: string; reason: string | null; summary: string | null }): string =>
  wrapped(
    `${session.status}: ${[session.reason, session.summary].filter((said) => said !== null && said !== '').join(' · ') || 'no reason recorded'}`,
    140,
  ).join('\n  ');

/** Tells whoever looks at a run how to answer a call that waits; one that was answered before (a replay) is passed over. */
export async function tellHowToDecide(api: ApiClient, id: string, event: EventView, output: Output): Promise<void> {
  if (output.json || event.type !== 'approval.requested') return;
  const approval = await api.approval(approvalIdOf(id, String(event.data.tool_call_id)));
  if (approval.status !== 'pending') return;
  output.err(
    output.paint.yellow(`  decide in another terminal: npm run -s fluidbox -- approve ${approval.id}    (or deny ${approval.id})`),
  );
}

/** What becomes of a run whose watcher leaves. */
export const leavingLines = (id: string, stackStays: boolean): string[] =>
  stackStays
    ? [`the run goes on: npm run -s fluidbox -- watch ${id}`, `to end it:        npm run -s fluidbox -- cancel ${id}`]
    : [
        `the stack that this command started ends with it; npm run up starts one that stays and settles the run:`,
        `npm run -s fluidbox -- get ${id}`,
      ];
