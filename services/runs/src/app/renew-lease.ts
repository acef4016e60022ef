import type { ParsedRequestOf, RenewLease } from '@fluidbox/contracts';
import { decideRenew } from '../domain/run';
import { decideOnRun } from './decide-on-run';
import type { Ports } from './ports';

export const renewLease = (ports: Ports, request: ParsedRequestOf<typeof RenewLease>): Promise<{ renewed: boolean; ttl_secs: number }> =>
  decideOnRun(ports, request, (run, now) => decideRenew(run, { generation: request.generation, ttlSecs: request.ttl_secs }, now));
