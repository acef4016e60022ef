import { type RecordedEvent, streamNameOf } from '@fluidbox/contracts';
import type { AppendGroup, AppendResult } from '../api';

/** The answer to a group that was stored by an earlier try; null when it was not. An id that another stream has used is not ours. */
export function storedResult(group: AppendGroup, stored: ReadonlyMap<string, RecordedEvent>): AppendResult | null {
  const stream = streamNameOf(group.stream);
  const events = group.events
    .flatMap((event) => stored.get(event.eventId) ?? [])
    .filter((event) => event.stream === stream && event.org === group.stream.org);
  const first = events[0];
  const last = events.at(-1);
  if (events.length < group.events.length || first === undefined || last === undefined) return null;
  return { ok: true, firstSeq: first.seq, lastSeq: last.seq, events };
}
