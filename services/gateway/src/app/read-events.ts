import { type EventView, runStream } from '@fluidbox/contracts';
import type { Ledger, OpenedEvent } from '@fluidbox/event-store';

export const eventsPageMax = 500;

/** Events after `after` with their hash and what is left of their content. An event whose content cannot be opened (erased) stays, so does one of an unknown type. */
export async function readEvents(
  ledger: Pick<Ledger, 'readOpened'>,
  org: string,
  runId: string,
  options: { after: number; limit: number; bytesMax?: number },
): Promise<EventView[]> {
  return (await ledger.readOpened(runStream(runId, org), options)).map(eventView);
}

function eventView(event: OpenedEvent): EventView {
  const { rest, projection } = event.opened;
  const content: Record<string, unknown> = {
    ...(rest as Record<string, unknown> | undefined),
    ...(projection === undefined ? {} : { projection }),
  };
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
