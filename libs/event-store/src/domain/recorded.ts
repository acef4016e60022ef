import {
  LedgerBody,
  type LogEvent,
  type LogMessage,
  logMessageBytesMax,
  type RecordedEvent,
  type StreamRef,
  streamNameOf,
  upcast,
} from '@fluidbox/contracts';

/** An event as readers see it, in the shape of today. The body was checked before it was stored; what is newer than this code keeps its data. */
export const recordedOf = (seq: number, globalPosition: number, body: LedgerBody): RecordedEvent =>
  upcast({
    seq,
    globalPosition,
    eventId: body.event_id,
    org: body.org,
    stream: body.stream,
    type: body.type,
    version: body.version,
    actor: body.actor,
    occurredAt: body.occurred_at,
    data: dataOf(body.data),
  });

/** A service that was taken over can append any JSON under its own types; it must not stop those who read a whole page. */
const dataOf = (data: unknown): LedgerBody['data'] =>
  data !== null && typeof data === 'object' && !Array.isArray(data) ? (data as LedgerBody['data']) : {};

/** From another process: parsed, because it did not come out of our own table. */
export const recordedOfLog = (event: LogEvent): RecordedEvent =>
  recordedOf(event.seq, event.globalPosition, LedgerBody.parse(JSON.parse(event.body)));

/** The batch as the bus carries it: with its events while they are small, else only their range. */
export function logMessageOf(stream: StreamRef, generation: number, events: readonly LogEvent[]): LogMessage {
  const first = events[0];
  const last = events.at(-1);
  if (first === undefined || last === undefined) throw new Error('a log message needs at least one event');
  const bytes = events.reduce((sum, event) => sum + Buffer.byteLength(event.body), 0);
  return {
    stream: streamNameOf(stream),
    category: stream.category,
    org: stream.org,
    id: stream.id,
    firstSeq: first.seq,
    lastSeq: last.seq,
    generation,
    events: bytes > logMessageBytesMax ? null : events,
  };
}

/** Messages of one stream that follow each other as one, as long as it may carry its events. In the order of each stream's first one. */
export function joinedMessages(messages: readonly LogMessage[]): LogMessage[] {
  const joined: LogMessage[] = [];
  const latest = new Map<string, { at: number; bytes: number }>();
  for (const message of messages) {
    const bytes = (message.events ?? []).reduce((sum, event) => sum + Buffer.byteLength(event.body), 0);
    const known = latest.get(message.stream);
    const before = known === undefined ? undefined : joined[known.at];
    const fits = known !== undefined && known.bytes + bytes <= logMessageBytesMax;
    if (before?.events && message.events && fits && before.lastSeq + 1 === message.firstSeq) {
      joined[known.at] = { ...message, firstSeq: before.firstSeq, events: [...before.events, ...message.events] };
      known.bytes += bytes;
    } else {
      latest.set(message.stream, { at: joined.length, bytes });
      joined.push(message);
    }
  }
  return joined;
}
