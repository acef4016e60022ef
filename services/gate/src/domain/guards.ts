import type { EventData, EventDraft } from '@fluidbox/contracts';
import { callKey, type RunState } from '@fluidbox/run-stream';

type Guard = 'same_call' | 'denials';

/** An agent that repeats itself, or is refused again and again, is not making progress: it is warned of in the record, then stopped. */
const warnsAt = (limit: number): number => Math.ceil(limit * 0.8);

/** How often the call would have come in a row, this one included. */
export const sameCallCount = (run: RunState, tool: string, inputDigest: string): number =>
  run.sameCall.key === callKey(tool, inputDigest) ? run.sameCall.count + 1 : 1;

export const isReached = (count: number, limit: number | null): boolean => limit !== null && count >= limit;

/** The event that a count deserves: none, one warning, or the end. */
export function guardEvents(run: RunState, guard: Guard, count: number, limit: number | null): EventDraft[] {
  if (limit === null) return [];
  const data: EventData<'guard.tripped'> = { guard, count, limit };
  if (count >= limit) return run.exceeded.has(guard) ? [] : [{ type: 'guard.tripped', actor: 'service:gate', data }];
  return count === warnsAt(limit) && !run.warned.has(guard) ? [{ type: 'guard.warned', actor: 'service:gate', data }] : [];
}
