import {
  type CreateRun,
  type ParsedRequestOf,
  Problem,
  type ReplyOf,
  RunId,
  runStream,
  type StreamRef,
  streamNameOf,
} from '@fluidbox/contracts';
import { exists, type RunState, runFold } from '@fluidbox/run-stream';
import { type RunKeys, uuidV5 } from '@fluidbox/seal';
import { createdEvent, decideCreate } from '../domain/run';
import type { Ports } from './ports';

type Request = ParsedRequestOf<typeof CreateRun>;

/** Freeze, then one first event. A key names the run, so a repeat collides and answers the run that is there. */
export async function createRun(ports: Ports, request: Request): Promise<ReplyOf<typeof CreateRun>> {
  const { principal, idempotency_key: key, body, invocation } = request;
  const runId = key === null ? ports.ids.uuid() : uuidV5(principal.org, 'run', keyOf(principal.name, key));
  const stream = runStream(runId, principal.org);
  if (key !== null) {
    const { state } = await ports.ledger.state(runFold, stream, { fresh: true });
    if (exists(state)) return replay(ports, stream, state, request);
  }
  const created = ports.ledger.keyring.create(streamNameOf(stream));
  const frozen = await ports.freeze({
    run_id: runId,
    org: principal.org,
    salt: created.keys.exportRest().salt,
    principal,
    invocation,
    body,
  });
  const first = createdEvent({
    spec: frozen.spec,
    specDigest: frozen.spec_digest,
    requestDigest: requestDigest(created.keys, request),
    body,
    systemPrompt: frozen.system_prompt,
  });
  const lost = await ports.ledger.decide(runFold, stream, (run) => {
    const decided = decideCreate(run, first);
    return decided.result.created ? { events: decided.events, result: null, createKeys: created } : { events: [], result: run };
  });
  return lost === null ? { run_id: RunId.parse(runId), replayed: false } : replay(ports, stream, lost, request);
}

/** Everybody has keys of their own: nobody learns that somebody else used one, or takes it from them. */
const keyOf = (name: string, key: string): string => JSON.stringify([name, key]);

/** Salted like everything a person wrote. */
const requestDigest = (keys: RunKeys, request: Request): string => keys.digest({ principal: request.principal.name, body: request.body });

/** Once everything of the run is erased, its requests can be compared with nothing any more. */
async function digestAgain(ports: Ports, stream: StreamRef, request: Request): Promise<string> {
  try {
    return requestDigest(await ports.ledger.keyring.keysOf(streamNameOf(stream)), request);
  } catch (error) {
    if (!(error instanceof Problem && error.code === 'not_found')) throw error;
    throw new Problem('idempotency_mismatch', 'this Idempotency-Key was used for a run whose content is erased; use a new key');
  }
}

async function replay(ports: Ports, stream: StreamRef, run: RunState, request: Request): Promise<ReplyOf<typeof CreateRun>> {
  if ((await digestAgain(ports, stream, request)) !== run.requestDigest) {
    throw new Problem('idempotency_mismatch', 'this Idempotency-Key was used for another request; use a new key');
  }
  return { run_id: RunId.parse(stream.id), replayed: true };
}
