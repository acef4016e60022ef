import { type LedgerBody, type LogEvent, type RecordedEvent, streamNameOf } from '@fluidbox/contracts';
import type { AppendGroup, PreparedEvent } from '../api';
import { recordedOf } from '../domain/recorded';
import type { UnitOutcome } from './batch';

/** A group with everything that can be computed before any lock, once: bytes, digests, what its body says. */
export interface EncodedGroup {
  readonly group: AppendGroup;
  readonly stream: string;
  readonly events: readonly EncodedEvent[];
  /** What it weighs in a batch. */
  readonly size: number;
}
export interface EncodedEvent {
  readonly prepared: PreparedEvent;
  readonly body: LedgerBody;
  readonly bytes: Buffer;
  readonly digest: Buffer;
}

export function encodeGroup(group: AppendGroup): EncodedGroup {
  let size = 0;
  const events = group.events.map((prepared): EncodedEvent => {
    const bytes = prepared.ledger.bytes();
    size += bytes.length + (prepared.content.projection?.length ?? 0) + (prepared.content.rest?.length ?? 0);
    return { prepared, body: prepared.ledger.body(), bytes, digest: prepared.ledger.digest() };
  });
  for (const document of group.documents ?? []) size += document.bytes.length;
  return { group, stream: streamNameOf(group.stream), events, size };
}

/** What the statement gave a place to, in order. */
export function storedEvents(groups: readonly EncodedGroup[], outcome: UnitOutcome): { recorded: RecordedEvent[]; log: LogEvent[] } {
  const recorded: RecordedEvent[] = [];
  const log: LogEvent[] = [];
  for (const { events } of groups) {
    for (const { prepared, body } of events) {
      const globalPosition = outcome.positions[recorded.length];
      if (globalPosition === undefined) throw new Error('the database stored fewer events than it was given');
      const seq = outcome.version + recorded.length + 1;
      recorded.push(recordedOf(seq, globalPosition, body));
      log.push({ seq, globalPosition, body: prepared.ledger.text() });
    }
  }
  return { recorded, log };
}
