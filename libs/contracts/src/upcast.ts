import { type EventType, isEventType, type RecordedEvent, type TimelineEvent } from './timeline';

/** From the data of one version to that of the next. */
export type Upcast = (data: Record<string, unknown>) => Record<string, unknown>;
/** By type, the oldest first: the first one makes version 2 of version 1. */
export type Upcasts = Readonly<Partial<Record<EventType, readonly Upcast[]>>>;

/** Every change of meaning there ever was. A row here goes with a sample of the new version, which a test reads for ever, as it reads the old one. */
const upcasts: Upcasts = {
  // Version 1 said the scope key in the open. It can be neither sealed nor digested afterwards, so it stays what grants are compared by.
  'approval.requested': [(data) => data],
  // It said the key again. The approval that it names says it.
  'approval.decided': [({ scope_key: _, ...data }) => data],
};

/** The version that this code writes and understands. */
export const versionOf = (type: EventType, table: Upcasts = upcasts): number => 1 + (table[type]?.length ?? 0);

/** What readers are given: an older version in the shape of today, anything that is newer than this code as it was stored. */
export function upcast<E extends Pick<RecordedEvent, 'type' | 'version' | 'data'>>(event: E, table: Upcasts = upcasts): E {
  if (!isEventType(event.type) || event.version >= versionOf(event.type, table)) return event;
  const steps = table[event.type]?.slice(event.version - 1) ?? [];
  return { ...event, version: versionOf(event.type, table), data: steps.reduce((data, step) => step(data), event.data) };
}

/** The event as one that this code understands; null for a type, or a version of a type, that only newer code does. It is kept and shown, never folded. */
export function timelineEvent(event: RecordedEvent, table: Upcasts = upcasts): TimelineEvent | null {
  return isEventType(event.type) && event.version <= versionOf(event.type, table) ? (event as TimelineEvent) : null;
}

/**
 * The same for a follower that acts on every event it asks for: to leave one out would lose a timer or a message for good. It throws, so that the event is
 * parked with this reason and handled again once the newer code runs.
 */
export function actionableEvent(event: RecordedEvent, table: Upcasts = upcasts): TimelineEvent {
  const known = timelineEvent(event, table);
  if (known === null)
    throw new Error(`${event.type} version ${event.version} is newer than this process: upgrade it, then replay what is parked`);
  return known;
}
