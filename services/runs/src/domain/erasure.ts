import type { EventData, EventDraft, RecordedEvent } from '@fluidbox/contracts';

export type ContentClass = EventData<'content.erased'>['classes'][number];
export const contentClasses: readonly ContentClass[] = ['projection', 'rest'];
export type ErasureCause = EventData<'content.erased'>['cause'];

/** What is known to be erased of a run: the fold of its erasure stream. */
export interface ErasureState {
  readonly erased: ReadonlyMap<ContentClass, { readonly at: string; readonly by: string }>;
}
export const erasureFold = {
  initial: (): ErasureState => ({ erased: new Map() }),
  evolve: (state: ErasureState, event: RecordedEvent): ErasureState => {
    if (event.type !== 'content.erased') return state;
    const { classes, by } = event.data as EventData<'content.erased'>;
    const erased = new Map(state.erased);
    for (const each of classes) if (!erased.has(each)) erased.set(each, { at: event.occurredAt, by });
    return { erased };
  },
};

/** Recorded once, however often and from wherever the work was done again. */
export function decideErased(
  state: ErasureState,
  erased: { runId: string; classes: readonly ContentClass[]; cause: ErasureCause; by: string },
): EventDraft[] {
  const classes = contentClasses.filter((each) => erased.classes.includes(each) && !state.erased.has(each));
  if (classes.length === 0) return [];
  const { runId, cause, by } = erased;
  const actor = cause === 'requested' ? `principal:${by}` : 'service:runs';
  return [{ type: 'content.erased', actor, data: { run_id: runId, classes, cause, by } }];
}
