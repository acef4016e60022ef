import { type EventDraft, eventTypes, type LedgerBody, Problem, type StreamRef, streamNameOf, versionOf } from '@fluidbox/contracts';
import { canonicalJson, redactBody, redactContent } from '@fluidbox/redaction';
import type { ContentClass, RunKeys } from '@fluidbox/seal';
import type { Clock, Ids, PreparedEvent } from './api';
import { contentBytesMax, ledgerBytesMax } from './domain/check-group';

/** What the seal of a content authenticates: a sealed value copied to another event, class or organisation does not open. */
export const contentAad = (org: string, stream: string, keyClass: ContentClass, eventId: string): string =>
  `${org}/${stream}/${keyClass}/${eventId}`;

export interface PrepareContext {
  readonly stream: StreamRef;
  /** Needed only by events with content. */
  readonly keys: RunKeys | null;
  readonly clock: Clock;
  readonly ids: Ids;
}

let latest = { ms: Number.NaN, text: '' };
/** Many events have the same millisecond, and writing it costs as much as parsing their data. */
function timestampOf(date: Date): string {
  const ms = date.getTime();
  if (ms !== latest.ms) latest = { ms, text: date.toISOString() };
  return latest.text;
}

/** From a draft to what the ledger accepts: scrubbed, content sealed under salted digests, canonical bytes. Before any lock. */
export function prepareEvent(draft: EventDraft, context: PrepareContext): PreparedEvent {
  const { stream, clock, ids } = context;
  const name = streamNameOf(stream);
  const eventId = draft.eventId ?? ids.uuid();
  const sealed: Partial<Record<ContentClass, Buffer>> = {};
  const digests: Partial<Record<ContentClass, string>> = {};
  const seal = (keyClass: ContentClass, value: unknown): void => {
    if (context.keys === null) throw new Problem('internal', `${draft.type} has content, and ${name} has no keys to seal it`);
    const scrubbed = redactContent(value);
    const plain = Buffer.from(canonicalJson(scrubbed), 'utf8');
    if (plain.length > contentBytesMax)
      throw new Problem('payload_too_large', `content of ${draft.type} has ${plain.length} bytes; at most ${contentBytesMax} are stored`);
    digests[keyClass] = context.keys.digest(scrubbed);
    sealed[keyClass] = context.keys.seal(keyClass, plain, contentAad(stream.org, name, keyClass, eventId));
  };
  if (draft.projection !== undefined) seal('projection', draft.projection);
  if (draft.content !== undefined) seal('rest', draft.content);
  const body: LedgerBody = {
    event_id: eventId,
    org: stream.org as LedgerBody['org'],
    stream: name,
    type: draft.type,
    version: versionOf(draft.type),
    actor: draft.actor,
    occurred_at: timestampOf(clock.now()),
    data: eventTypes[draft.type].data.parse(draft.data),
    ...(Object.keys(digests).length === 0 ? {} : { content: digests }),
  };
  const ledger = redactBody(body);
  const bytes = Buffer.byteLength(ledger.text());
  if (bytes > ledgerBytesMax)
    throw new Problem('payload_too_large', `${draft.type} has ${bytes} bytes; a ledger event has at most ${ledgerBytesMax}`);
  return { eventId, type: draft.type, ledger, content: sealed };
}
