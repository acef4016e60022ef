import { type LogMessage, Problem, streamNameOf } from '@fluidbox/contracts';
import type { AppendGroup, AppendResult } from '../api';
import { refusalOf } from '../domain/append-rules';
import { chainHash, genesisHash } from '../domain/chain';
import { logMessageOf, recordedOf } from '../domain/recorded';
import type { MemoryTables, StoredEvent, StoredStream } from './memory-tables';

/** Stores the group whole, or says why not; `committed` gets what the log says of it. A group that is stored already answers what is stored. */
export function appendGroup(tables: MemoryTables, group: AppendGroup, committed: (message: LogMessage) => void): AppendResult {
  const stream = streamFor(tables, group);
  const earlier = storedBefore(tables, group);
  if (earlier !== null) return earlier;
  const refused = refusedAt(stream, group);
  if (refused !== null) return refused;
  if (!tables.accounts.change(group.accounts ?? [])) return { ok: false, reason: 'over_account' };
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

function storedBefore({ byId }: MemoryTables, { stream, events }: AppendGroup): AppendResult | null {
  const name = streamNameOf(stream);
  const stored = events.flatMap(({ eventId }) => byId.get(eventId)?.recorded ?? []);
  const elsewhere = stored.find((event) => event.stream !== name);
  if (elsewhere !== undefined)
    throw new Problem('internal', `append to ${name} failed: event ${elsewhere.eventId} stands in another stream`);
  const first = byId.get(events[0]?.eventId ?? '')?.recorded;
  const last = byId.get(events.at(-1)?.eventId ?? '')?.recorded;
  return first === undefined || last === undefined ? null : { ok: true, firstSeq: first.seq, lastSeq: last.seq, events: stored };
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
