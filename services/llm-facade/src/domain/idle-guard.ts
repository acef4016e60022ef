import type { EventData, EventDraft } from '@fluidbox/contracts';
import type { RunState } from '@fluidbox/run-stream';
import { actor } from './actor';

type GuardEvent = Extract<EventDraft, { type: 'guard.warned' | 'guard.tripped' }>;

/**
 * A model that answers and answers while nothing comes of it costs money: its calls never reach the gate, or its answers break off. Progress is a call
 * that the gate decided, whatever it said, or an answer that came to its own end without a call. Asked before the next request, because only then is
 * known what became of the last answer. Warned of once at 80 %, ended at the limit.
 */
export function idleGuard(run: RunState, limit: number | null): GuardEvent | null {
  if (limit === null) return null;
  const data: EventData<'guard.tripped'> = { guard: 'idle_model_calls', count: run.idleModelCalls, limit };
  if (run.idleModelCalls >= limit) return { type: 'guard.tripped', actor, data };
  const warns = run.idleModelCalls >= Math.ceil(limit * 0.8) && run.idleModelCalls > 0 && !run.warned.has('idle_model_calls');
  return warns ? { type: 'guard.warned', actor, data } : null;
}
