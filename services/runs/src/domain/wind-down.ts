import type { EventDraft, Outcome, StatusReason } from '@fluidbox/contracts';
import { forcedOutcome, type RunState } from '@fluidbox/run-stream';
import { limits } from './limits';

/**
 * The durable intent to end a run. The status change that carries it is the recovery ticket: it is stored before anybody is told, the
 * first one wins, and from then on the run accepts no work.
 *
 *   quiesce  the runner may still answer: `cancelling`, told by heartbeat, 30 s until its sandbox is ended
 *   at once  nobody is there to wind down (no sandbox, exited, silent) or the runner itself reported its result: `finalizing`
 */
export interface Ending {
  readonly outcome: Outcome;
  readonly reason: StatusReason;
  readonly how: 'quiesce' | 'at_once';
  readonly summary?: string | undefined;
}

export const actor = 'service:runs';

export const sandboxAlive = (run: RunState): boolean => run.sandbox !== null && !run.sandbox.exited;

export function windDown(run: RunState, ending: Ending, now: number): readonly EventDraft[] {
  const { outcome, reason, summary } = ending;
  const quiesce = ending.how === 'quiesce' && sandboxAlive(run);
  const intent: EventDraft = {
    type: 'session.status_changed',
    actor,
    data: { from: run.status, to: quiesce ? 'cancelling' : 'finalizing', reason, outcome },
    ...(summary === undefined ? {} : { content: { summary } }),
  };
  if (!quiesce) return [intent];
  const deadline = new Date(now + limits.quiesceMs).toISOString();
  return [intent, { type: 'run.quiesce_requested', actor, data: { deadline_at: deadline, reason } }];
}

/** What another service noticed and only `runs` reacts to: a budget, a gap in coverage, a tripped guard. A result that comes later changes nothing. */
export function forcedEnding(run: RunState): Ending | null {
  const outcome = forcedOutcome(run);
  if (outcome === null) return null;
  return { outcome, reason: forcedReason(run), how: 'quiesce' };
}

function forcedReason(run: RunState): StatusReason {
  switch (run.modelAccessEnded) {
    case 'coverage':
      return 'coverage_gap';
    case 'guard':
      return 'guard_tripped';
    case 'budget':
    case null:
      return run.exceeded.has('wall_clock_secs') ? 'wall_clock' : 'budget';
  }
}
