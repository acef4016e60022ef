import { type LedgerBody, type LogEvent, type RecordedEvent, streamNameOf } from '@fluidbox/contracts';
import type { Envelope } from '@fluidbox/redaction';
import type { AppendGroup, AppendResult, PreparedEvent } from '../api';
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
  readonly body: Envelope;
  readonly bytes: Buffer;
  readonly digest: Buffer;
}

export function encodeGroup(group: AppendGroup): EncodedGroup {
  let size = 0;
  const events = group.events.map((prepared): EncodedEvent => {
    const bytes = prepared.ledger.bytes();
    size += bytes.length + (prepared.content.projection?.length ?? 0) + (prepared.content.rest?.length ?? 0);
    return { prepared, body: prepared.ledger.envelope(), bytes, digest: prepared.ledger.digest() };
  });
  for (const document of group.documents ?? []) size += document.bytes.length;
  return { group, stream: streamNameOf(group.stream), events, size };
}

/** What the statement gave a place to: the answer to each group, in order, and all events as the log carries them. */
export function storedGroups(groups: readonly EncodedGroup[], outcome: UnitOutcome): { results: AppendResult[]; log: LogEvent[] } {
  const log: LogEvent[] = [];
  const results = groups.map(({ events }) => {
    const from = log.length;
    for (const { prepared } of events) {
      const globalPosition = outcome.positions[log.length];
      if (globalPosition === undefined) throw new Error('the database stored fewer events than it was given');
      log.push({ seq: outcome.version + log.length + 1, globalPosition, body: prepared.ledger.text() });
    }
    return answerOf(outcome.version + from + 1, log.slice(from));
  });
  return { results, log };
}

/** Most callers only want to know that it is stored: the events are read from their text for those who look at them. */
function answerOf(firstSeq: number, log: readonly LogEvent[]): AppendResult {
  let recorded: readonly RecordedEvent[] | undefined;
  return {
    ok: true,
    firstSeq,
    lastSeq: firstSeq + log.length - 1,
    get events() {
      recorded ??= log.map(({ seq, globalPosition, body }) => recordedOf(seq, globalPosition, JSON.parse(body) as LedgerBody));
      return recorded;
    },
  };
}
