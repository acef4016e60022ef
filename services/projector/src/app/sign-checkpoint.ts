import { type Checkpoint, runStream, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import { type Clock, type EventStore, genesisHash, type SqlClient, verifyChain } from '@fluidbox/event-store';
import type { LiveRuns } from '../domain/live-runs';

export interface SignedHead {
  readonly org: string;
  /** Under which a witness keeps it: the run, or the name of another stream. */
  readonly id: string;
  readonly stream: string;
  readonly seq: number;
  readonly hash: string;
  readonly jws: string;
}
export interface Vouched {
  readonly seq: number;
  readonly hash: string;
}
export interface CheckpointPorts {
  readonly store: Pick<EventStore, 'head' | 'readWithHashes'>;
  readonly clock: Clock;
  readonly kid: string;
  readonly sign: (checkpoint: Checkpoint) => Promise<string>;
  /** Up to where the stream was vouched for, or null. */
  readonly lastSigned: (tx: SqlClient, stream: string) => Promise<Vouched | null>;
  /** False when this head was signed before. */
  readonly save: (tx: SqlClient, head: SignedHead, kid: string) => Promise<boolean>;
  /** The head leaves the building: other keepers than our own database. */
  readonly witness: (head: SignedHead) => void;
  readonly live: LiveRuns;
}

/**
 * Vouches for a stream up to its present head. The head is a row that every appender may write, so it is believed only when the stored events lead to it:
 * otherwise whoever got one service could have any history signed.
 */
export async function signCheckpoint(ports: CheckpointPorts, ref: StreamRef, tx: SqlClient): Promise<void> {
  const head = await ports.store.head(ref);
  if (head === null) return;
  const now = ports.clock.now();
  const stream = streamNameOf(ref);
  const { org } = ref;
  await checkHead(ports, ref, head, await ports.lastSigned(tx, stream));
  const checkpoint = { org, stream, seq: head.version, hash: head.hash, at: now.toISOString() } as Checkpoint;
  const signed = { org, id: witnessId(stream), stream, seq: head.version, hash: head.hash, jws: await ports.sign(checkpoint) };
  if (await ports.save(tx, signed, ports.kid)) ports.witness(signed);
  if (ref.category !== 'run') return;
  if (head.closed) ports.live.ended(ref.id);
  else ports.live.signed(ref.id, now.getTime());
}

const pageSize = 500;

async function checkHead(
  ports: CheckpointPorts,
  ref: StreamRef,
  head: { version: number; hash: string },
  signed: Vouched | null,
): Promise<void> {
  let reached: Vouched = signed ?? { seq: 0, hash: genesisHash.toString('hex') };
  while (reached.seq < head.version) {
    const limit = Math.min(pageSize, head.version - reached.seq);
    const events = await ports.store.readWithHashes(ref, { after: reached.seq, limit });
    const checked = verifyChain(events, reached);
    if (!checked.ok)
      throw new Error(`${streamNameOf(ref)} is not signed: event ${checked.seq} does not follow from those before it (${checked.reason})`);
    if (events.length < limit)
      throw new Error(`${streamNameOf(ref)} is not signed: it has ${checked.seq} events and its head says ${head.version}`);
    reached = checked;
  }
  if (reached.seq !== head.version || reached.hash !== head.hash)
    throw new Error(`${streamNameOf(ref)} is not signed: its events do not lead to its head at ${head.version}`);
}

export const witnessId = (stream: string): string => stream.replace(/^run-/, '');

/** Every 5 minutes of a live run that moved. One that fails does not keep the others from theirs. */
export async function signDueCheckpoints(
  ports: CheckpointPorts,
  sql: SqlClient,
  onFailure: (runId: string, error: unknown) => void,
): Promise<void> {
  for (const { id, org } of ports.live.due(ports.clock.now().getTime())) {
    await signCheckpoint(ports, runStream(id, org), sql).catch((error: unknown) => onFailure(id, error));
  }
}
