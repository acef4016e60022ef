import { type RecordedEvent, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import type { ContentClass, WrappedRunKeys } from '@fluidbox/seal';
import { MemoryAccounts } from './memory-accounts';

export interface StoredEvent {
  readonly recorded: RecordedEvent;
  readonly body: string;
  readonly hash: Buffer;
  readonly category: StreamRef['category'];
  readonly content: Readonly<Partial<Record<ContentClass, Buffer>>>;
}
export interface StoredStream {
  readonly org: string;
  readonly events: StoredEvent[];
  generation: number;
  closed: boolean;
}

/** What the Postgres store has in its tables; streams and keys by the name of the stream. */
export class MemoryTables {
  readonly streams = new Map<string, StoredStream>();
  /** In global order: the first stands at position 1. */
  readonly all: StoredEvent[] = [];
  readonly byId = new Map<string, StoredEvent>();
  readonly keys = new Map<string, WrappedRunKeys>();
  readonly documents = new Map<string, Buffer>();
  readonly accounts = new MemoryAccounts();

  /** The stream, if it is one of the organisation named. */
  find(stream: StreamRef): StoredStream | undefined {
    const found = this.streams.get(streamNameOf(stream));
    return found?.org === stream.org ? found : undefined;
  }
}
