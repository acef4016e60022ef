import type { StreamRef } from '@fluidbox/contracts';
import type { EventStore } from '../api';
import type { MemoryTables, StoredEvent } from './memory-tables';

type Reads =
  | 'read'
  | 'readWithHashes'
  | 'readSealed'
  | 'heads'
  | 'eventsAt'
  | 'readContent'
  | 'readAll'
  | 'scan'
  | 'head'
  | 'wrappedKeys'
  | 'document';
const withHash = (event: StoredEvent) => ({ ...event.recorded, hash: event.hash.toString('hex'), body: event.body });

export function memoryReads(tables: MemoryTables): Pick<EventStore, Reads> {
  const rowsAfter = (stream: StreamRef, { after = 0, limit = 1_000 }: { after?: number; limit?: number } = {}) =>
    (tables.find(stream)?.events ?? []).slice(after, after + Math.min(limit, 1_000));

  return {
    read: async (stream, options) => rowsAfter(stream, options).map((event) => event.recorded),
    readWithHashes: async (stream, options) => rowsAfter(stream, options).map(withHash),
    readSealed: async (stream, options) => {
      let bytes = 0;
      return rowsAfter(stream, options)
        .filter((event, index) => {
          bytes += event.body.length + (event.content.rest?.length ?? 0) + (event.content.projection?.length ?? 0);
          return index === 0 || bytes <= (options?.bytesMax ?? 8 * 1024 * 1024);
        })
        .map((event) => ({ ...withHash(event), sealed: event.content }));
    },
    heads: async (org, names) =>
      new Map(
        names.flatMap((name) => {
          const found = tables.streams.get(name);
          return found?.org === org ? [[name, found.events.length] as const] : [];
        }),
      ),
    eventsAt: async (org, places) =>
      places.flatMap(({ stream, seq }) => {
        const found = tables.streams.get(stream);
        const event = found?.org === org ? found.events[seq - 1] : undefined;
        return event === undefined ? [] : [withHash(event)];
      }),
    readContent: async (stream, seqs, keyClass) => {
      const found = new Map<number, Buffer>();
      for (const seq of seqs) {
        const sealed = tables.find(stream)?.events[seq - 1]?.content[keyClass];
        if (sealed !== undefined) found.set(seq, sealed);
      }
      return found;
    },
    readAll: async ({ after, limit, categories }) =>
      tables.all
        .slice(after)
        .filter((event) => categories.includes(event.category))
        .slice(0, limit)
        .map((event) => event.recorded),
    scan: async ({ after, limit, categories, types, upTo }) => {
      const page = tables.all.slice(after, Math.min(after + limit, upTo ?? Number.POSITIVE_INFINITY));
      return {
        events: page
          .filter((event) => categories.includes(event.category) && types?.includes(event.recorded.type) !== false)
          .map((event) => event.recorded),
        position: after + page.length,
        blocked: false,
      };
    },
    head: async (stream) => {
      const found = tables.find(stream);
      const last = found?.events.at(-1);
      return found === undefined || last === undefined
        ? null
        : { version: found.events.length, hash: last.hash.toString('hex'), generation: found.generation, closed: found.closed };
    },
    wrappedKeys: async (stream) => tables.keys.get(stream) ?? null,
    document: async (digest) => tables.documents.get(digest) ?? null,
  };
}
