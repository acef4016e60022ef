import { type LogMessage, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import type { AppendGroup, EventStore } from '../api';
import { checkGroup } from '../domain/check-group';
import { documentDigest } from '../domain/document-digest';
import type { MemoryAccounts } from './memory-accounts';
import { appendGroup } from './memory-append';
import { memoryReads } from './memory-reads';
import { MemoryTables } from './memory-tables';

export interface MemoryStore extends EventStore {
  /** The budget accounts as they stand; a test sets limits here, and what corrects an account writes here. */
  readonly accounts: Pick<MemoryAccounts, 'of' | 'all'>;
}

/** The rules of the ledger without a database, for tests of services. Same suite as the Postgres store. */
export function createMemoryStore(): MemoryStore {
  const tables = new MemoryTables();
  const listeners: ((message: LogMessage) => void)[] = [];
  const locks = new Map<string, Promise<unknown>>();

  const store = (group: AppendGroup) =>
    appendGroup(tables, group, (message) => {
      for (const listener of listeners) listener(message);
    });
  /** One at a time per stream, so that a locked append can wait for its caller. */
  const exclusively = async <T>(stream: StreamRef, work: () => Promise<T> | T): Promise<T> => {
    const name = streamNameOf(stream);
    const turn = (locks.get(name) ?? Promise.resolve()).then(work);
    const settled = turn.then(
      () => undefined,
      () => undefined,
    );
    locks.set(name, settled);
    return turn;
  };

  return {
    ...memoryReads(tables),
    append: async (groups) => {
      for (const group of groups) checkGroup(group);
      return Promise.all(groups.map((group) => exclusively(group.stream, () => store(group))));
    },
    appendLocked: (stream, after, build) =>
      exclusively(stream, async () => {
        const events = tables.find(stream)?.events ?? [];
        const group = await build(
          events.slice(after).map((event) => event.recorded),
          events.length,
        );
        if (group === null) return null;
        checkGroup(group);
        return store(group);
      }),
    putDocument: async (bytes) => {
      const digest = documentDigest(bytes);
      tables.documents.set(digest, bytes);
      return digest;
    },
    onCommitted: (listener) => {
      listeners.push(listener);
    },
    close: async () => undefined,
    accounts: tables.accounts,
  };
}
