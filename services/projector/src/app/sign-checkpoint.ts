import { type Checkpoint, runStream, streamNameOf } from '@fluidbox/contracts';
import type { Clock, EventStore, SqlClient } from '@fluidbox/event-store';
import type { LiveRuns } from '../domain/live-runs';

export interface SignedHead {
  readonly org: string;
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

/** Vouches for a run up to its present head. */
export async function signCheckpoint(ports: CheckpointPorts, runId: string, org: string, tx: SqlClient): Promise<void> {
  const ref = runStream(runId, org);
  const head = await ports.store.head(ref);
  if (head === null) return;
  const now = ports.clock.now();
  const stream = streamNameOf(ref);
  const checkpoint = { org, stream, seq: head.version, hash: head.hash, at: now.toISOString() } as Checkpoint;
  const signed = { org, id: runId, stream, seq: head.version, hash: head.hash, jws: await ports.sign(checkpoint) };
  if (await ports.save(tx, signed, ports.kid)) ports.witness(signed);
  if (head.closed) ports.live.ended(runId);
  else ports.live.signed(runId, now.getTime());
}

/** Every 5 minutes of a live run that moved. One that fails does not keep the others from theirs. */
export async function signDueCheckpoints(
  ports: CheckpointPorts,
  sql: SqlClient,
  onFailure: (runId: string, error: unknown) => void,
): Promise<void> {
  for (const { id, org } of ports.live.due(ports.clock.now().getTime())) {
    await signCheckpoint(ports, id, org, sql).catch((error: unknown) => onFailure(id, error));
  }
}
