import { z } from 'zod';
import { Digest, OrgId, Timestamp } from '../ids';
import type { EventContent, EventData, EventType } from './event-types';

/** What older versions said and nobody appends any more. */
type NeverAppended = { readonly scope_key?: never };

/** An event before it has a place in its stream. `actor`: `service:<name>`, `runner`, `model` or `principal:<name>`. */
export type EventDraft = {
  [T in EventType]: {
    readonly type: T;
    readonly data: EventData<T> & NeverAppended;
    readonly content?: EventContent<T>;
    /** Only `tool.requested`: what policy looked at. */
    readonly projection?: unknown;
    readonly actor: string;
    /** Idempotency: a second append of the same id stores nothing and answers the stored event. */
    readonly eventId?: string;
  };
}[EventType];

/** The stored, hashed part of an event (canonical JSON of it is what the chain covers). `seq` and the hashes stand beside it. */
export const LedgerBody = z.strictObject({
  event_id: z.uuid(),
  org: OrgId,
  stream: z.string(),
  type: z.string(),
  version: z.number().int().min(1),
  actor: z.string().max(200),
  occurred_at: Timestamp,
  data: z.record(z.string(), z.unknown()),
  // Salted digests of the sealed content, so that erased content can still be proved if somebody kept a copy.
  content: z.strictObject({ projection: Digest.optional(), rest: Digest.optional() }).optional(),
});
export type LedgerBody = z.infer<typeof LedgerBody>;

/** An event as readers see it. `data` is typed by `type`; an unknown newer type is preserved and typed as a plain record. */
export type TimelineEvent = {
  [T in EventType]: RecordedEvent<T, EventData<T>>;
}[EventType];
export interface RecordedEvent<T extends string = string, D = Record<string, unknown>> {
  readonly seq: number;
  readonly globalPosition: number;
  readonly eventId: string;
  readonly org: string;
  readonly stream: string;
  readonly type: T;
  readonly version: number;
  readonly actor: string;
  readonly occurredAt: string;
  readonly data: D;
}
