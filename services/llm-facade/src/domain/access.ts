import { acceptsWork, leaseRefusal, pastDeadline, type RunState } from '@fluidbox/run-stream';
import { type Refusal, refusals } from './refusal';

/** May a token of this generation use the model at `now`? Null = yes. The order is the contract's: run, generation, lease, activity. */
export function refuseAccess(run: RunState, generation: number, now: number): Refusal | null {
  if (run.runId === null) return refusals.unauthorized('unauthorized');
  const lease = leaseRefusal(run, generation, now);
  if (lease === 'stale_lease') return refusals.staleLease();
  if (lease === 'lease_expired') return refusals.unauthorized('the lease of this session has ended');
  return refuseInactive(run, now);
}

/** 429 when a budget ended the run (the runner stops cleanly and reports), else 403. */
function refuseInactive(run: RunState, now: number): Refusal | null {
  const budget = exhaustedBudget(run, now);
  if (budget !== null) return refusals.budgetExhausted(budget);
  return acceptsWork(run) ? null : refusals.notActive();
}

function exhaustedBudget(run: RunState, now: number): string | null {
  if (run.modelAccessEnded === 'budget') return [...run.exceeded][0] ?? 'session';
  if (run.intent?.outcome === 'budget_exceeded' || run.outcome === 'budget_exceeded') return [...run.exceeded][0] ?? 'session';
  return acceptsWork(run) && pastDeadline(run, now) ? 'wall_clock_secs' : null;
}
