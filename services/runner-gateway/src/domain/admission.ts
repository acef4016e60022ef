import { staleLeaseBody, wrongAudienceBody } from '@fluidbox/contracts';
import { exists, leaseRefusal, type RunState } from '@fluidbox/run-stream';

/**
 * Who is admitted to the runner plane. The order is the contract's, because runners act on the first reason they see:
 * signature 401 → audience 403 → path id 404 → generation 409 → lease 401.
 */
export interface Refusal {
  readonly status: 400 | 401 | 403 | 404 | 409;
  /** The exact bytes: runners key on two of them. */
  readonly body: string;
}

const refusal = (status: Refusal['status'], error: string): Refusal => ({ status, body: JSON.stringify({ error }) });
const unauthorized = refusal(401, 'unauthorized');
const notFound = refusal(404, 'not_found');
const wrongAudience: Refusal = { status: 403, body: wrongAudienceBody };
const staleLease: Refusal = { status: 409, body: staleLeaseBody };

/** A forged token never learns which audience it should have named: only a true one gets as far as `wrong_audience`. */
export const refuseToken = (failure: string): Refusal => (failure === 'wrong_audience' ? wrongAudience : unauthorized);

export function refusePath(pathRunId: string | undefined, tokenRunId: string): Refusal | null {
  return pathRunId === undefined || pathRunId.toLowerCase() === tokenRunId.toLowerCase() ? null : notFound;
}

/** A run reports its result even after its lease ran out: `deadLeaseAllowed`. Another generation never does. */
export function refuseLease(run: RunState, generation: number, now: number, deadLeaseAllowed: boolean): Refusal | null {
  if (!exists(run)) return notFound;
  const reason = leaseRefusal(run, generation, now);
  if (reason === 'stale_lease') return staleLease;
  return reason === 'lease_expired' && !deadLeaseAllowed ? unauthorized : null;
}
