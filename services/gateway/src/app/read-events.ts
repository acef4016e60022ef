import { type EventView, type RecordedEvent, runStream, type StreamRef } from '@fluidbox/contracts';
import type { Ledger } from '@fluidbox/event-store';
import { z } from 'zod';

export const eventsPageMax = 500;

/** Events after `after` with their hash and what is left of their content. Content that cannot be opened (erased) is null, the event stays. */
export async function readEvents(
  ledger: Ledger,
  org: string,
  runId: string,
  options: { after: number; limit: number },
): Promise<EventView[]> {
  const stream = runStream(runId, org);
  const events = await ledger.store.readWithHashes(stream, options);
  return Promise.all(events.map((event) => eventView(ledger, stream, event)));
}

async function eventView(ledger: Ledger, stream: StreamRef, event: RecordedEvent & { hash: string; body: string }): Promise<EventView> {
  const digests = z.object({ content: z.record(z.string(), z.string()).optional() }).parse(JSON.parse(event.body)).content;
  const content: Record<string, unknown> = {};
  if (digests?.rest !== undefined) Object.assign(content, await ledger.content(stream, event.seq, 'rest'));
  if (digests?.projection !== undefined) content.projection = await ledger.content(stream, event.seq, 'projection');
  return {
    seq: event.seq,
    type: event.type,
    version: event.version,
    actor: event.actor,
    occurred_at: event.occurredAt,
    data: event.data,
    content: Object.keys(content).length === 0 ? null : content,
    hash: event.hash,
  };
}
