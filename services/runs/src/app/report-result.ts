import { mendAgentText, type ParsedRequestOf, Problem, type ReportResult, type ResultAnswer, runStream } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { decideResult } from '../domain/run';
import type { Ports } from './ports';

/** Answered after the commit: an acknowledged result survives everything. */
export async function reportResult(ports: Ports, request: ParsedRequestOf<typeof ReportResult>): Promise<ResultAnswer> {
  const { outcome, summary } = request.result;
  const report = { generation: request.generation, outcome, summary: summary === undefined ? undefined : mendAgentText(summary).text };
  return ports.ledger.decide(runFold, runStream(request.run_id, request.org), (run) => {
    const decided = decideResult(run, report, ports.clock.now().getTime());
    if (decided instanceof Problem) throw decided;
    return decided;
  });
}
