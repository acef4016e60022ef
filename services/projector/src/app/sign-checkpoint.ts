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
interface Vouched {
  readonly seq: number;
  readonly hash: string;
}
/** A stream as it stands. */
export interface Standing {
  readonly ref: StreamRef;
  readonly head: Vouched & { readonly closed: boolean };
  /** Up to where it was vouched for. */
  readonly signed: Vouched | null;
}
export interface CheckpointPorts {
  readonly store: Pick<EventStore, 'eventsAt' | 'readWithHashes'>;
  readonly clock: Clock;
  readonly kid: string;
  readonly sign: (checkpoint: Checkpoint) => Promise<string>;
  /** In the order of the streams; those without events are left out. */
  readonly standings: (tx: SqlClient, refs: readonly StreamRef[]) => Promise<readonly Standing[]>;
  /** Answers those that were not signed before. */
  readonly save: (tx: SqlClient, heads: readonly SignedHead[], kid: string) => Promise<readonly SignedHead[]>;
  /** The head leaves the building: other keepers than our own database. */
  readonly witness: (head: SignedHead) => void;
  readonly live: LiveRuns;
}

const streamsAtOnce = 64;

/**
 * Vouches for streams up to their present heads. A head is a row that every appender may write, so it is believed only when the stored events lead to it:
 * otherwise whoever got one service could have any history signed. Many that end together cost three queries, not four for each: results wait for theirs.
 */
export async function signCheckpoints(ports: CheckpointPorts, refs: readonly StreamRef[], tx: SqlClient): Promise<void> {
  for (let at = 0; at < refs.length; at += streamsAtOnce) await signSome(ports, refs.slice(at, at + streamsAtOnce), tx);
}

async function signSome(ports: CheckpointPorts, refs: readonly StreamRef[], tx: SqlClient): Promise<void> {
  const standings = await ports.standings(tx, refs);
  const short = await readShort(ports.store, standings);
  const now = ports.clock.now();
  const signed = await Promise.all(
    standings.map(async (standing): Promise<SignedHead> => {
      await checkHead(ports, standing, short.get(streamNameOf(standing.ref)));
      const { ref, head } = standing;
      const about = { org: ref.org, stream: streamNameOf(ref), seq: head.seq, hash: head.hash };
      const jws = await ports.sign({ ...about, at: now.toISOString() } as Checkpoint);
      return { ...about, id: witnessId(about.stream), jws };
    }),
  );
  for (const head of await ports.save(tx, signed, ports.kid)) ports.witness(head);
  for (const { ref, head } of standings) {
    if (ref.category !== 'run') continue;
    if (head.closed) ports.live.ended(ref.id);
    else ports.live.signed(ref.id, now.getTime());
  }
}

type Chained = Awaited<ReturnType<EventStore['readWithHashes']>>;
const shortMax = 32;
const genesis: Vouched = { seq: 0, hash: genesisHash.toString('hex') };

/** Of streams with few events to check, these events; of all such streams of an organisation in one query. */
async function readShort(store: CheckpointPorts['store'], standings: readonly Standing[]): Promise<ReadonlyMap<string, Chained>> {
  const short = standings.filter(({ head, signed }) => {
    const count = head.seq - (signed?.seq ?? 0);
    return count > 0 && count <= shortMax;
  });
  const found = new Map<string, Chained[number][]>(short.map(({ ref }) => [streamNameOf(ref), []]));
  for (const org of new Set(short.map(({ ref }) => ref.org))) {
    const places = short
      .filter(({ ref }) => ref.org === org)
      .flatMap(({ ref, head, signed }) => {
        const after = signed?.seq ?? 0;
        return Array.from({ length: head.seq - after }, (_, n) => ({ stream: streamNameOf(ref), seq: after + 1 + n }));
      });
    for (const event of await store.eventsAt(org, places)) found.get(event.stream)?.push(event);
  }
  for (const events of found.values()) events.sort((a, b) => a.seq - b.seq);
  return found;
}

const pageSize = 500;

async function checkHead({ store }: CheckpointPorts, { ref, head, signed }: Standing, short: Chained | undefined): Promise<void> {
  let reached = signed ?? genesis;
  while (reached.seq < head.seq) {
    const limit = Math.min(pageSize, head.seq - reached.seq);
    const events = short ?? (await store.readWithHashes(ref, { after: reached.seq, limit }));
    const checked = verifyChain(events, reached);
    if (!checked.ok)
      throw new Error(`${streamNameOf(ref)} is not signed: event ${checked.seq} does not follow from those before it (${checked.reason})`);
    if (events.length < limit)
      throw new Error(`${streamNameOf(ref)} is not signed: it has ${checked.seq} events and its head says ${head.seq}`);
    reached = checked;
  }
  if (reached.seq !== head.seq || reached.hash !== head.hash)
    throw new Error(`${streamNameOf(ref)} is not signed: its events do not lead to its head at ${head.seq}`);
}

export const witnessId = (stream: string): string => stream.replace(/^run-/, '');

/** Every 5 minutes of a live run that moved. One that fails does not keep the others from theirs. */
export async function signDueCheckpoints(
  ports: CheckpointPorts,
  sql: SqlClient,
  onFailure: (runId: string, error: unknown) => void,
): Promise<void> {
  for (const { id, org } of ports.live.due(ports.clock.now().getTime())) {
    await signCheckpoints(ports, [runStream(id, org)], sql).catch((error: unknown) => onFailure(id, error));
  }
}
