import { type EventView, erasureStream } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';

const eventsMax = 100;

/** What was erased of a run, when and by whom, as it is recorded: on a stream of its own, because the run's is closed. */
export async function readErasure(ledger: Ledger, org: string, runId: string): Promise<EventView[]> {
  const events = await ledger.store.readWithHashes(erasureStream(runId, org), { limit: eventsMax });
  return events.map(({ seq, type, version, actor, occurredAt, data, hash }) => ({
    seq,
    type,
    version,
    actor,
    occurred_at: occurredAt,
    data,
    content: null,
    hash,
  }));
}
