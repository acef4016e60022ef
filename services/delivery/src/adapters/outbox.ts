import { randomUUID } from 'node:crypto';
import { type EventData, type EventDraft, type EventType, Problem, type StreamRef } from '@fluidbox/contracts';
import type { Clock, Ledger, SqlClient } from '@fluidbox/event-store';

type Told = Extract<EventType, `webhook.${string}` | `callback.${string}`>;
type Stream = StreamRef & { readonly category: 'webhook' | 'delivery' };

/** An event as it goes into the outbox. */
export interface Telling {
  readonly stream: Stream;
  readonly actor: string;
  readonly type: Told;
  readonly data: object;
}
export const telling = <T extends Told>(stream: Stream, actor: string, type: T, data: EventData<T>): Telling => ({
  stream,
  actor,
  type,
  data,
});

/** In the transaction of what it tells of. */
export const tell = <T extends Told>(tx: SqlClient, stream: Stream, actor: string, type: T, data: EventData<T>): Promise<void> =>
  tellAll(tx, [telling(stream, actor, type, data)]);

export async function tellAll(tx: SqlClient, tellings: readonly Telling[]): Promise<void> {
  if (tellings.length === 0) return;
  await tx.query(
    `insert into delivery.outbox (event_id, org_id, category, stream_id, type, actor, data)
     select event_id, org_id, category, stream_id, type, actor, data
     from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::jsonb[])
       with ordinality t (event_id, org_id, category, stream_id, type, actor, data, number)
     order by number`,
    [
      tellings.map(() => randomUUID()),
      tellings.map(({ stream }) => stream.org),
      tellings.map(({ stream }) => stream.category),
      tellings.map(({ stream }) => stream.id),
      tellings.map(({ type }) => type),
      tellings.map(({ actor }) => actor),
      tellings.map(({ data }) => JSON.stringify(data)),
    ],
  );
}

interface Row {
  event_id: string;
  org_id: string;
  category: 'webhook' | 'delivery';
  stream_id: string;
  type: Told;
  actor: string;
  data: object;
}

const pageMax = 200;
/** How long a stream is left alone whose event could not be appended: every delivery that ends asks for a run. */
const heldBackMs = 60_000;

/**
 * Brings the outbox into the ledger. Each event keeps its id, so that one which a process appended and did not delete, or which two append at once, is stored once. One
 * run at a time; asked meanwhile it runs once more. An event that cannot be appended keeps back those behind it on its own stream and no others, however
 * many such streams there are; it stays for a later time, and nobody whose own event is in gets an error for it.
 */
export function recorder(
  sql: SqlClient,
  ledger: Pick<Ledger, 'record'>,
  clock: Clock,
  onFailure: (doing: string, error: unknown) => void,
): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  /** Streams, and until when. */
  const heldBack = new Map<string, number>();
  const drain = async (): Promise<void> => {
    const now = clock.now().getTime();
    for (const [stream, until] of heldBack) if (until <= now) heldBack.delete(stream);
    for (let more = true; more; ) {
      const { rows } = await sql.query<Row>(
        `select event_id, org_id, category, stream_id, type, actor, data from delivery.outbox
         where stream_id <> all ($1::uuid[]) order by number limit ${pageMax}`,
        [[...heldBack.keys()]],
      );
      const streams = await Promise.all([...byStream(rows).values()].map((events) => appendInOrder(ledger, events)));
      await sql.query('delete from delivery.outbox where event_id = any ($1)', [streams.flatMap(({ recorded }) => recorded)]);
      more = rows.length === pageMax;
      for (const { stream, failure } of streams) {
        if (failure === null) continue;
        onFailure('recording an event', failure);
        // Of a ledger that is away the next ones would say the same.
        if (isAway(failure)) more = false;
        else heldBack.set(stream, now + heldBackMs);
      }
    }
  };
  const start = (): Promise<void> => {
    running = drain().finally(() => {
      running = null;
    });
    return running;
  };
  return () => {
    if (running === null) return start();
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = null;
        return start();
      });
    return next;
  };
}

const byStream = (rows: readonly Row[]): Map<string, Row[]> => {
  const streams = new Map<string, Row[]>();
  for (const row of rows) streams.set(row.stream_id, [...(streams.get(row.stream_id) ?? []), row]);
  return streams;
};

const isAway = (failure: unknown): boolean =>
  failure instanceof Problem && (failure.code === 'unavailable' || failure.code === 'overloaded');

interface Appended {
  readonly stream: string;
  readonly recorded: readonly string[];
  readonly failure: unknown;
}
/** Up to the first that fails. */
async function appendInOrder(ledger: Pick<Ledger, 'record'>, rows: readonly Row[]): Promise<Appended> {
  const stream = rows[0]?.stream_id ?? '';
  const recorded: string[] = [];
  for (const { event_id, org_id, category, stream_id, type, actor, data } of rows) {
    // The appender checks data against the schema of the type.
    const draft = { type, actor, data, eventId: event_id } as EventDraft;
    try {
      await ledger.record({ category, id: stream_id, org: org_id }, [draft]);
    } catch (error) {
      return { stream, recorded, failure: error };
    }
    recorded.push(event_id);
  }
  return { stream, recorded, failure: null };
}
