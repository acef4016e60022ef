/** A decision as `domain/` files write them: given what has happened, when a command comes, then these events (or this rejection). */
export interface Decider<State, Command, Event, Result> {
  initial(): State;
  evolve(state: State, event: Event): State;
  decide(state: State, command: Command): Result;
}

export interface Given<State, Command, Event, Result> {
  when(command: Command): { readonly result: Result; readonly state: State };
  readonly state: State;
  given(...events: readonly Event[]): Given<State, Command, Event, Result>;
}

/**
 * `given(decider, ...events).when(command).result`: the state is folded anew for each `when`, so a decision that changes its state shows up as
 * a failing second call.
 */
export function given<State, Command, Event, Result>(
  decider: Decider<State, Command, Event, Result>,
  ...history: readonly Event[]
): Given<State, Command, Event, Result> {
  const fold = () => history.reduce((state, event) => decider.evolve(state, event), decider.initial());
  return {
    when: (command) => {
      const state = fold();
      return { result: decider.decide(state, command), state };
    },
    get state() {
      return fold();
    },
    given: (...events) => given(decider, ...history, ...events),
  };
}
