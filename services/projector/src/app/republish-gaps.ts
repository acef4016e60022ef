import type { LogMessage, RecordedEvent, StreamCategory, StreamRef } from '@fluidbox/contracts';
import { streamNameOf } from '@fluidbox/contracts';
import { type EventStore, logMessageOf } from '@fluidbox/event-store';
import { type HeardRanges, unheardRanges } from '../domain/heard-ranges';

export interface RepublishPorts {
  readonly store: Pick<EventStore, 'readWithHashes' | 'head'>;
  readonly heard: HeardRanges;
  readonly publish: (message: LogMessage) => void;
  /** Resolves after the next log message, or after so many milliseconds. */
  readonly nextMessage: (withinMs: number) => Promise<void>;
  readonly now: () => number;
  /** How long a message may be on its way after its commit. */
  readonly graceMs: number;
}

/**
 * An appender that dies between its commit and its publish leaves the others asleep until they look by themselves. What the log has not
 * told of within the grace is published again from the ledger; readers ignore what they had.
 */
export async function republishGaps(ports: RepublishPorts, events: readonly RecordedEvent[]): Promise<void> {
  const until = ports.now() + ports.graceMs;
  const isHeard = (event: RecordedEvent): boolean => ports.heard.covers(event.stream, event.seq);
  while (!events.every(isHeard) && ports.now() < until) await ports.nextMessage(until - ports.now());
  for (const [stream, own] of byStream(events)) {
    for (const range of unheardRanges(
      own.map((event) => event.seq),
      (seq) => ports.heard.covers(stream, seq),
    )) {
      await republish(ports, refOf(own[0] as RecordedEvent), range);
    }
    ports.heard.handled(stream, Math.max(...own.map((event) => event.seq)));
  }
}

async function republish(ports: RepublishPorts, ref: StreamRef, range: { first: number; last: number }): Promise<void> {
  const rows = await ports.store.readWithHashes(ref, { after: range.first - 1, limit: range.last - range.first + 1 });
  const head = await ports.store.head(ref);
  if (rows.length === 0 || head === null) throw new Error(`${streamNameOf(ref)} has no events ${range.first} to ${range.last}`);
  ports.publish(logMessageOf(ref, head.generation, rows));
}

function byStream(events: readonly RecordedEvent[]): Map<string, RecordedEvent[]> {
  const streams = new Map<string, RecordedEvent[]>();
  for (const event of events) {
    const own = streams.get(event.stream);
    if (own === undefined) streams.set(event.stream, [event]);
    else own.push(event);
  }
  return streams;
}

export function refOf(event: RecordedEvent): StreamRef {
  const cut = event.stream.indexOf('-');
  return { category: event.stream.slice(0, cut) as StreamCategory, id: event.stream.slice(cut + 1), org: event.org };
}
