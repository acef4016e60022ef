import type { ResultRequest } from '@fluidbox/contracts';
import { providerSentence } from '@fluidbox/runner-lib';
import type { Finish } from './messages';

export interface EndOfRun {
  readonly finish: Finish | undefined;
  readonly budgetExhausted: boolean;
  readonly maxTurns: number | null;
}

/** What the runner reports: only completed or failed, the control plane decides the rest. */
export function outcomeOf({ finish, budgetExhausted, maxTurns }: EndOfRun): ResultRequest {
  if (budgetExhausted) return { outcome: 'failed', summary: 'stopped: the budget of this run is exhausted' };
  if (finish === undefined) return { outcome: 'failed', summary: 'the agent program ended without a result' };
  if (finish.subtype === 'error_max_turns') return { outcome: 'failed', summary: `stopped: the limit of ${maxTurns} turns is reached` };
  if (finish.subtype === 'success' && !finish.isError) return { outcome: 'completed', summary: finish.text };
  return { outcome: 'failed', summary: providerSentence(finish.text) || `the agent program failed: ${finish.subtype}` };
}
