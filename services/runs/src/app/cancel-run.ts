import type { CancelRun, ParsedRequestOf } from '@fluidbox/contracts';
import { decideCancel } from '../domain/run';
import { decideOnRun } from './decide-on-run';
import type { Ports } from './ports';

export const cancelRun = (ports: Ports, request: ParsedRequestOf<typeof CancelRun>): Promise<{ cancelled: boolean }> =>
  decideOnRun(ports, request, (run, now) => decideCancel(run, request.principal, now));
