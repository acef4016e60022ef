import type { EventView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodeOfOutcome } from '../exit-codes';
import type { Output } from '../output';
import { timelineLine } from '../timeline-line';

/** Prints a run as it happens until its terminal event; `--json` prints one event a line. Answers the exit code of its outcome. */
export async function followRun(
  api: ApiClient,
  id: string,
  output: Output,
  options: { after?: number; onEvent?: (event: EventView) => void } = {},
): Promise<{ outcome: string | null; exitCode: number }> {
  let startedAt: number | null = null;
  let outcome: string | null = null;
  for await (const event of api.watch(id, options.after ?? 0)) {
    startedAt ??= Date.parse(event.occurred_at);
    const line = output.json ? JSON.stringify(event) : timelineLine(event, startedAt, output.paint);
    if (line !== null) output.out(line);
    if (event.type === 'run.result') outcome = String(event.data.outcome);
    options.onEvent?.(event);
  }
  return { outcome, exitCode: exitCodeOfOutcome(outcome) };
}
