import { type ParsedRequestOf, Problem, type RenewLease, runStream } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { decideRenew } from '../domain/run';
import type { Ports } from './ports';

export async function renewLease(
  ports: Ports,
  request: ParsedRequestOf<typeof RenewLease>,
): Promise<{ renewed: boolean; ttl_secs: number }> {
  return ports.ledger.decide(runFold, runStream(request.run_id, request.org), (run) => {
    const decided = decideRenew(run, { generation: request.generation, ttlSecs: request.ttl_secs }, ports.clock.now().getTime());
    if (decided instanceof Problem) throw decided;
    return decided;
  });
}
