import { type Heartbeat, type HeartbeatAnswer, type ParsedRequestOf, runStream } from '@fluidbox/contracts';
import { acceptsWork, runFold } from '@fluidbox/run-stream';
import { refuseReport } from '../domain/run';
import type { Ports } from './ports';

/** From memory alone. Every beat of a run that winds down, or is over, is told to quiesce again: a lost answer costs nothing. */
export async function heartbeat(ports: Ports, request: ParsedRequestOf<typeof Heartbeat>): Promise<HeartbeatAnswer> {
  const { state: run } = await ports.ledger.state(runFold, runStream(request.run_id, request.org));
  const refusal = refuseReport(run, request.generation);
  if (refusal !== null && refusal.code !== 'run_not_active') throw refusal;
  if (refusal === null) ports.heartbeats.beat(request.run_id, ports.clock.now().getTime());
  return { ok: true, action: acceptsWork(run) ? null : 'quiesce' };
}
