import { evolveRun, initialRun, type RunState } from '@fluidbox/run-stream';

/** What a run's tokens are admitted by: that it exists, its generation and its lease. */
const admitting: ReadonlySet<string> = new Set(['session.created', 'lease.granted']);

/** The shared fold of a run without the rest of it: this service sees every run and needs no call, no usage and no approval of any. */
export const leaseFold: { readonly initial: () => RunState; readonly evolve: typeof evolveRun } = {
  initial: initialRun,
  evolve: (state, event) => {
    if (admitting.has(event.type)) return evolveRun(state, event);
    state.version = Math.max(state.version, event.seq);
    return state;
  },
};
