import { type Heartbeat, type HeartbeatAnswer, type ParsedRequestOf, runStream } from '@fluidbox/contracts';
import { acceptsWork } from '@fluidbox/run-stream';
import { reportingRun } from './decide-on-run';
import type { Ports } from './ports';

/** From memory alone. Every beat of a run that winds down, or is over, is told to quiesce again: a lost answer costs nothing. */
export async function heartbeat(ports: Ports, request: ParsedRequestOf<typeof Heartbeat>): Promise<HeartbeatAnswer> {
  const { run, refusal } = await reportingRun(ports, runStream(request.run_id, request.org), request.generation);
  if (refusal !== null && refusal.code !== 'run_not_active') throw refusal;
  if (refusal === null) ports.heartbeats.beat(request.run_id, ports.clock.now().getTime());
  return { ok: true, action: acceptsWork(run) ? null : 'quiesce' };
}
