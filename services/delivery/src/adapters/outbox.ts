import { randomUUID } from 'node:crypto';
import type { EventData, EventDraft, EventType, StreamRef } from '@fluidbox/contracts';
import type { Ledger, SqlClient } from '@fluidbox/event-store';

type Told = Extract<EventType, `webhook.${string}` | `callback.${string}`>;
type Stream = StreamRef & { readonly category: 'webhook' | 'delivery' };

/** In the transaction of what it tells of. */
export async function tell<T extends Told>(tx: SqlClient, stream: Stream, actor: string, type: T, data: EventData<T>): Promise<void> {
  await tx.query(
    'insert into delivery.outbox (event_id, org_id, category, stream_id, type, actor, data) values ($1, $2, $3, $4, $5, $6, $7)',
    [randomUUID(), stream.org, stream.category, stream.id, type, actor, JSON.stringify(data)],
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

/**
 * Brings the outbox into the ledger. Each event keeps its id, so that one which a process appended and did not delete, or which two append at once, is stored once. One
 * run at a time; asked meanwhile it runs once more. An event that cannot be appended keeps back those behind it on its own stream and no others; it stays
 * for the next time, and nobody whose own event is in gets an error for it.
 */
export function recorder(
  sql: SqlClient,
  ledger: Pick<Ledger, 'record'>,
  onFailure: (doing: string, error: unknown) => void,
): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const drain = async (): Promise<void> => {
    for (let more = true; more; ) {
      const { rows } = await sql.query<Row>(
        'select event_id, org_id, category, stream_id, type, actor, data from delivery.outbox order by number limit 200',
      );
      const streams = await Promise.all([...byStream(rows).values()].map((events) => appendInOrder(ledger, events)));
      const recorded = streams.flatMap((stream) => stream.recorded);
      await sql.query('delete from delivery.outbox where event_id = any ($1)', [recorded]);
      for (const { failure } of streams) if (failure !== null) onFailure('recording an event', failure);
      more = rows.length === 200 && recorded.length > 0;
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

/** Up to the first that fails. */
async function appendInOrder(
  ledger: Pick<Ledger, 'record'>,
  rows: readonly Row[],
): Promise<{ readonly recorded: readonly string[]; readonly failure: unknown }> {
  const recorded: string[] = [];
  for (const { event_id, org_id, category, stream_id, type, actor, data } of rows) {
    // The appender checks data against the schema of the type.
    const draft = { type, actor, data, eventId: event_id } as EventDraft;
    try {
      await ledger.record({ category, id: stream_id, org: org_id }, [draft]);
    } catch (error) {
      return { recorded, failure: error };
    }
    recorded.push(event_id);
  }
  return { recorded, failure: null };
}
