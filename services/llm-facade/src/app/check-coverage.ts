import { runFold } from '@fluidbox/run-stream';
import { type CoverageRules, hasOpenCalls, judge, judgementEvents, type ToolResult } from '../domain/coverage';
import { ModelRequestRefused, refusals } from '../domain/refusal';
import type { Caller } from './authorize';
import { ledgerCallId } from './book';
import type { Ports } from './ports';
import { coverageModeOf } from './run-rules';

/** Judges the tool results that come with a request. A gap under `enforce` or `strict` ends model access here; `runs` then ends the run. */
export async function checkCoverage(ports: Pick<Ports, 'ledger'>, caller: Caller, found: readonly ToolResult[]): Promise<void> {
  if (found.length === 0) return;
  const results = found.map((result) => ({ ...result, toolCallId: ledgerCallId(result.toolCallId) }));
  const { noEffectTools, refusal } = { noEffectTools: caller.spec.harness.no_effect_tools, refusal: caller.spec.harness.refusal };
  const rules: CoverageRules = { mode: coverageModeOf(caller.spec), noEffectTools, refusal };
  const { state } = await ports.ledger.state(runFold, caller.stream);
  if (!hasOpenCalls(state)) return;
  // Another process decided the call, and its message may still be on the way: on a miss the stream is read to its head once.
  if (judge(state, results, rules).gaps.length > 0) await ports.ledger.state(runFold, caller.stream, { fresh: true });
  const gaps = await ports.ledger.decide(runFold, caller.stream, (run) => {
    const judgement = judge(run, results, rules);
    return { events: judgementEvents(judgement), result: judgement.gaps };
  });
  const fatal = gaps.find((gap) => !gap.reportOnly);
  if (fatal !== undefined) {
    throw new ModelRequestRefused(
      refusals.coverageGap(
        `coverage gap: the result of call ${fatal.toolCallId} (${fatal.tool}) came back and the gate had not decided it`,
      ),
    );
  }
}
