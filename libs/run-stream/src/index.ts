import type { RecordedEvent } from '@fluidbox/contracts';
import { evolveRun } from './evolve';
import { initialRun, type RunState } from './state';

export * from './accounts';
export * from './evolve';
export { historyOf, historyWithout } from './history';
export * from './queries';
export { sessionView } from './session-view';
export * from './state';

/** The fold as the event store's cache takes it. */
export const runFold: { readonly initial: () => RunState; readonly evolve: (state: RunState, event: RecordedEvent) => RunState } = {
  initial: initialRun,
  evolve: evolveRun,
};
