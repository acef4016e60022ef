import type { ResultRequest } from '@fluidbox/contracts';
import { providerSentence } from '@fluidbox/runner-lib';

export interface EndOfRun {
  /** Null when the program ended before its turn did. */
  readonly turn: { readonly status: string; readonly error: string | null } | null;
  readonly lastMessage: string;
  readonly budgetExhausted: boolean;
  readonly turnLimit: number | null;
}

/** What the runner reports: only completed or failed, the control plane decides the rest. `turnLimit` is given when it was reached. */
export function outcomeOf({ turn, lastMessage, budgetExhausted, turnLimit }: EndOfRun): ResultRequest {
  if (budgetExhausted) return { outcome: 'failed', summary: 'stopped: the budget of this run is exhausted' };
  if (turnLimit !== null) return { outcome: 'failed', summary: `stopped: the limit of ${turnLimit} turns is reached` };
  if (turn === null) return { outcome: 'failed', summary: 'the agent program ended without a result' };
  if (turn.status === 'completed') return { outcome: 'completed', summary: lastMessage };
  return { outcome: 'failed', summary: turn.error === null ? `the agent program failed: ${turn.status}` : providerSentence(turn.error) };
}
