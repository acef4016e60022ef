import { type Checkpoint, runStream, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import type { Clock, EventStore, SqlClient } from '@fluidbox/event-store';
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
export interface CheckpointPorts {
  readonly store: Pick<EventStore, 'head'>;
  readonly clock: Clock;
  readonly kid: string;
  readonly sign: (checkpoint: Checkpoint) => Promise<string>;
  /** False when this head was signed before. */
  readonly save: (tx: SqlClient, head: SignedHead, kid: string) => Promise<boolean>;
  /** The head leaves the building: other keepers than our own database. */
  readonly witness: (head: SignedHead) => void;
  readonly live: LiveRuns;
}

/** Vouches for a stream up to its present head. */
export async function signCheckpoint(ports: CheckpointPorts, ref: StreamRef, tx: SqlClient): Promise<void> {
  const head = await ports.store.head(ref);
  if (head === null) return;
  const now = ports.clock.now();
  const stream = streamNameOf(ref);
  const { org } = ref;
  const checkpoint = { org, stream, seq: head.version, hash: head.hash, at: now.toISOString() } as Checkpoint;
  const signed = { org, id: witnessId(stream), stream, seq: head.version, hash: head.hash, jws: await ports.sign(checkpoint) };
  if (await ports.save(tx, signed, ports.kid)) ports.witness(signed);
  if (ref.category !== 'run') return;
  if (head.closed) ports.live.ended(ref.id);
  else ports.live.signed(ref.id, now.getTime());
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
