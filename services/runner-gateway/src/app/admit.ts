import { type Audience, runStream } from '@fluidbox/contracts';

import { type Refusal, refuseLease, refusePath, refuseToken } from '../domain/admission';
import { leaseFold } from '../domain/lease-fold';
import type { Caller, Ports } from './ports';

export interface Knock {
  readonly authorization: string | undefined;
  readonly audience: Audience;
  /** Absent where the path names no run. */
  readonly pathRunId: string | undefined;
  readonly deadLeaseAllowed: boolean;
}

export type Admission = { readonly caller: Caller } | { readonly refusal: Refusal };

/** Token, audience, path, generation, lease, in this order. */
export async function admit(ports: Ports, knock: Knock): Promise<Admission> {
  const token = /^Bearer ([^\s]+)$/i.exec(knock.authorization ?? '')?.[1];
  const now = ports.clock.now();
  const check = await ports.tokens.verify(token, knock.audience, now);
  if (!check.ok) return { refusal: refuseToken(check.failure) };
  const { sub: runId, org, gen: generation } = check.claims;
  const refusal =
    refusePath(knock.pathRunId, runId) ?? (await refuseRun(ports, { runId, org, generation }, now.getTime(), knock.deadLeaseAllowed));
  return refusal === null ? { caller: { runId, org, generation } } : { refusal };
}

/** The cached fold may lag behind the ledger by a message; nobody is turned away because of that. */
async function refuseRun(ports: Ports, caller: Caller, now: number, deadLeaseAllowed: boolean): Promise<Refusal | null> {
  const stream = runStream(caller.runId, caller.org);
  const known = await ports.ledger.state(leaseFold, stream);
  if (refuseLease(known.state, caller.generation, now, deadLeaseAllowed) === null) return null;
  const read = await ports.ledger.state(leaseFold, stream, { fresh: true });
  return refuseLease(read.state, caller.generation, now, deadLeaseAllowed);
}
