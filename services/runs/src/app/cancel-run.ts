import { type CancelRun, type ParsedRequestOf, Problem, runStream } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { decideCancel } from '../domain/run';
import type { Ports } from './ports';

export async function cancelRun(ports: Ports, request: ParsedRequestOf<typeof CancelRun>): Promise<{ cancelled: boolean }> {
  return ports.ledger.decide(runFold, runStream(request.run_id, request.org), (run) => {
    const decided = decideCancel(run, request.principal, ports.clock.now().getTime());
    if (decided instanceof Problem) throw decided;
    return decided;
  });
}
