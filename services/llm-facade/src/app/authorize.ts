import { type RunSpec, runStream, type StreamRef } from '@fluidbox/contracts';
import { type RunState, runFold } from '@fluidbox/run-stream';
import type { RunTokenFailure } from '@fluidbox/seal';
import { refuseAccess } from '../domain/access';
import { ModelRequestRefused, type Refusal, refusals } from '../domain/refusal';
import type { Ports } from './ports';

export interface Caller {
  readonly stream: StreamRef;
  readonly generation: number;
  readonly spec: RunSpec;
}

/** Who asks, from the token alone: signature, audience, generation, lease, activity. Nothing of the request was read yet. */
export async function authorize(ports: Pick<Ports, 'ledger' | 'tokens' | 'clock' | 'specOf'>, token: string | null): Promise<Caller> {
  const check = await ports.tokens.verify(token, 'llm', ports.clock.now());
  if (!check.ok) throw new ModelRequestRefused(tokenRefusal(check.failure));
  const { claims } = check;
  const stream = runStream(claims.sub, claims.org);
  const now = ports.clock.now().getTime();
  const refused = (run: RunState): Refusal | null => refuseAccess(run, claims.gen, now);
  let { state } = await ports.ledger.state(runFold, stream);
  // A lease renewed a moment ago may not have been heard of yet.
  if (refused(state) !== null) ({ state } = await ports.ledger.state(runFold, stream, { fresh: true }));
  const refusal = refused(state);
  if (refusal !== null) throw new ModelRequestRefused(refusal);
  return { stream, generation: claims.gen, spec: await ports.specOf(state.specDigest) };
}

function tokenRefusal(failure: RunTokenFailure): Refusal {
  switch (failure) {
    case 'wrong_audience':
      return refusals.wrongAudience();
    case 'missing':
      return refusals.unauthorized('no token: send it as x-api-key or as a bearer token');
    case 'expired':
      return refusals.unauthorized('the token has expired');
    case 'malformed':
    case 'bad_signature':
      return refusals.unauthorized('unauthorized');
  }
}

/** As the SDKs send it: `x-api-key` or `Authorization: Bearer`. */
export function tokenOf(headers: Readonly<Record<string, string | undefined>>): string | null {
  const bearer = headers.authorization?.match(/^Bearer +(\S+)$/i)?.[1];
  return headers['x-api-key'] ?? bearer ?? null;
}
