import { mendAgentText, type ParsedRequestOf, type ReportResult, type ResultAnswer } from '@fluidbox/contracts';
import { decideResult } from '../domain/run';
import { decideOnRun } from './decide-on-run';
import type { Ports } from './ports';

/** Answered after the commit: an acknowledged result survives everything. */
export async function reportResult(ports: Ports, request: ParsedRequestOf<typeof ReportResult>): Promise<ResultAnswer> {
  const { outcome, summary } = request.result;
  const report = { generation: request.generation, outcome, summary: summary === undefined ? undefined : mendAgentText(summary).text };
  return decideOnRun(ports, request, (run, now) => decideResult(run, report, now));
}
