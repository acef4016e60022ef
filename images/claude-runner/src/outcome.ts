import type { ResultRequest } from '@fluidbox/contracts';
import { z } from 'zod';
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
  return { outcome: 'failed', summary: sentenceOf(finish.text) || `the agent program failed: ${finish.subtype}` };
}

const ProviderError = z.looseObject({ error: z.looseObject({ message: z.string().min(1) }) });

/** The program repeats an error body that it does not know as it came: `API Error: 400 {"type":"error",…}`. People read the message in it. */
function sentenceOf(text: string): string {
  const at = text.indexOf('{');
  if (at === -1) return text;
  try {
    return `${text.slice(0, at)}${ProviderError.parse(JSON.parse(text.slice(at))).error.message}`;
  } catch {
    // Not such a body: the text is all there is.
    return text;
  }
}
