import { type LogMessage, Problem, streamNameOf } from '@fluidbox/contracts';
import type { AppendGroup, AppendResult } from '../api';
import { refusalOf } from '../domain/append-rules';
import { chainHash, genesisHash } from '../domain/chain';
import { logMessageOf, recordedOf } from '../domain/recorded';
import { storedResult } from '../domain/stored-result';
import type { MemoryTables, StoredEvent, StoredStream } from './memory-tables';

/** Stores the group whole, or says why not; `committed` gets what the log says of it. A group that is stored already answers what is stored. */
export function appendGroup(tables: MemoryTables, group: AppendGroup, committed: (message: LogMessage) => void): AppendResult {
  const stream = streamFor(tables, group);
  const earlier = storedBefore(tables, stream, group);
  if (earlier !== null) return earlier;
  const refused = refusedAt(stream, group);
  if (refused !== null) return refused;
  if (!tables.accounts.haveRoomFor(group.accounts ?? [])) return { ok: false, reason: 'over_account' };
  refuseWrong(tables, stream, group);
  tables.accounts.change(group.accounts ?? []);
  const stored = write(tables, stream, group);
  const message = logMessageOf(
    group.stream,
    stream.generation,
    stored.map((row) => ({ seq: row.recorded.seq, globalPosition: row.recorded.globalPosition, body: row.body })),
  );
  committed(message);
  return { ok: true, firstSeq: message.firstSeq, lastSeq: message.lastSeq, events: stored.map((row) => row.recorded) };
}

/** The stream of the group; a new one is kept only when something is written to it. */
function streamFor({ streams }: MemoryTables, { stream }: AppendGroup): StoredStream {
  const name = streamNameOf(stream);
  const known = streams.get(name);
  if (known !== undefined && known.org !== stream.org)
    throw new Problem('not_found', `stream ${name} is not one of organisation ${stream.org}`);
  return known ?? { org: stream.org, events: [], generation: 0, closed: false };
}

/** Who repeats himself is answered with what is stored. That was not before the version he decided on. */
function storedBefore({ byId }: MemoryTables, { events }: StoredStream, group: AppendGroup): AppendResult | null {
  const after = group.expected === 'any' || group.expected === events.length ? 0 : group.expected;
  const known = group.events.flatMap(({ eventId }) => byId.get(eventId)?.recorded ?? []).filter(({ seq }) => seq > after);
  return storedResult(group, new Map(known.map((event) => [event.eventId, event])));
}

/** What no correct caller sends, and the database refuses. */
function refuseWrong(
  { byId }: MemoryTables,
  { generation }: StoredStream,
  { stream, events, setGeneration = generation }: AppendGroup,
): void {
  const own = new Set(events.map(({ eventId }) => eventId));
  if (own.size < events.length || events.some(({ eventId }) => byId.has(eventId)))
    throw new Problem('internal', `append to ${streamNameOf(stream)} failed: an event id is stored once`);
  if (setGeneration < generation) throw new Problem('internal', `append to ${streamNameOf(stream)} failed: its head only goes forward`);
}

function refusedAt({ events, generation, closed }: StoredStream, group: AppendGroup): AppendResult | null {
  const reason = refusalOf({ seq: events.length, generation, closed }, group);
  if (reason === null) return null;
  if (reason !== 'conflict') return { ok: false, reason };
  const missed = events.slice(group.expected === 'any' ? 0 : group.expected).map((event) => event.recorded);
  return { ok: false, reason, missed, version: events.length };
}

function write(tables: MemoryTables, stream: StoredStream, group: AppendGroup): readonly StoredEvent[] {
  const name = streamNameOf(group.stream);
  if (group.setGeneration !== undefined) stream.generation = group.setGeneration;
  if (group.keys !== undefined) tables.keys.set(name, group.keys);
  for (const document of group.documents ?? []) tables.documents.set(document.digest, document.bytes);
  const stored = group.events.map((event) => {
    const seq = stream.events.length + 1;
    const row: StoredEvent = {
      recorded: recordedOf(seq, tables.all.length + 1, event.ledger.body()),
      body: event.ledger.text(),
      hash: chainHash(stream.events.at(-1)?.hash ?? genesisHash, seq, event.ledger.digest()),
      category: group.stream.category,
      content: event.content,
    };
    stream.events.push(row);
    tables.all.push(row);
    tables.byId.set(event.eventId, row);
    return row;
  });
  stream.closed = group.closes === true;
  tables.streams.set(name, stream);
  return stored;
}
