import { type EventDraft, type RecordedEvent, type StreamRef, streamNameOf, versionOf } from '@fluidbox/contracts';

/** Drafts as the store would give them back, from seq `after` + 1 on, for folding in decision tests. `at`: their time of occurrence. */
export const recorded = (stream: StreamRef, drafts: readonly EventDraft[], options: { after?: number; at?: Date } = {}): RecordedEvent[] =>
  drafts.map((draft, index) => {
    const seq = (options.after ?? 0) + index + 1;
    return {
      seq,
      globalPosition: seq,
      eventId: draft.eventId ?? `00000000-0000-7000-8000-${seq.toString(16).padStart(12, '0')}`,
      org: stream.org,
      stream: streamNameOf(stream),
      type: draft.type,
      version: versionOf(draft.type),
      actor: draft.actor,
      occurredAt: (options.at ?? new Date('2026-01-01T00:00:00.000Z')).toISOString(),
      data: draft.data,
    };
  });
