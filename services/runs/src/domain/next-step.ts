import { type EventDraft, leaseTtlSecsMax, type Outcome, type StatusReason } from '@fluidbox/contracts';
import { callCounts, coverageOf, decisionCounts, pastDeadline, type RunState } from '@fluidbox/run-stream';
import { limits } from './limits';
import { actor, type Ending, forcedEnding, sandboxAlive, windDown } from './wind-down';

/**
 * What a run needs next, from its stream and the time alone. A driver appends the events and asks again until there are none, then sleeps
 * until `wakeAt` or until the stream moves. Recovery after a crash is the same call, so there is no second way to finish a run.
 *
 *   created ──▶ provisioning ──▶ initializing ──▶ running        launch, workspace.initialized, sandbox.started
 *      └────────────┴─────────────────┴─────────────┤
 *                                                   ├─▶ cancelling ──▶ finalizing     the runner is asked to stop, 30 s
 *                                                   └─────────────────▶ finalizing     result, exit, silence
 *   finalizing ──▶ completed | failed | cancelled | budget_exceeded                    sandbox ended, diff collected, nothing pending
 *
 * No state goes to a terminal one but `finalizing`, so the diff is always looked for first.
 */
export interface Step {
  readonly events: readonly EventDraft[];
  /** The terminal group closes the stream. */
  readonly closes: boolean;
  /** When to look again if nothing happens before; null when the run is over. */
  readonly wakeAt: number | null;
}
export interface Watch {
  readonly now: number;
  /** Last heartbeat, or when this process began to listen, whichever is later. */
  readonly lastSignAt: number;
  /** Silence in `running` after which the sandbox is ended, whether or not its process still lives. */
  readonly silenceMs: number;
  /** What the event at `seq` says about the end of the sandbox, see `failureToTell`. */
  readonly failure?: { readonly seq: number; readonly text: string | null };
}

/** Seq of the event that says why workspace or sandbox failed, when the run is about to end for it: then nobody else gives a reason. */
export function failureToTell({ sandbox, intent }: RunState): number | null {
  if (intent !== null || sandbox === null || (sandbox.cause !== 'failed' && sandbox.cause !== 'lost')) return null;
  return sandbox.exitSeq;
}

export function nextStep(run: RunState, watch: Watch): Step {
  if (run.runId === null) return wait(null);
  switch (run.status) {
    case 'created':
    case 'provisioning':
    case 'initializing':
      return launchStep(run, watch);
    case 'running':
      return runningStep(run, watch);
    case 'cancelling':
      return cancellingStep(run, watch.now);
    case 'finalizing':
      return finalizingStep(run, watch.now);
    case 'completed':
    case 'failed':
    case 'cancelled':
    case 'budget_exceeded':
      return wait(null);
  }
  // Written by a newer version that is being rolled out: it knows what to do with it.
  return wait(watch.now + limits.lookAgainMs);
}

const wait = (wakeAt: number | null): Step => ({ events: [], closes: false, wakeAt });
const append = (events: readonly EventDraft[]): Step => ({ events, closes: false, wakeAt: null });
const end = (run: RunState, ending: Ending, now: number): Step => append(windDown(run, ending, now));
const failed = (reason: StatusReason): Ending => ({ outcome: 'failed', reason, how: 'at_once' });

function launchStep(run: RunState, watch: Watch): Step {
  const { now } = watch;
  const forced = forcedEnding(run);
  if (forced !== null) return end(run, forced, now);
  if (run.sandbox?.exited === true) return end(run, exitEnding(run, watch), now);
  const stalledAt = run.createdAt + limits.launchStalledMs;
  if (now >= stalledAt) return end(run, failed('launch_stalled'), now);
  if (run.status === 'provisioning' && run.workspaceReady)
    return append([advance(run, 'initializing', 'workspace_ready'), ...freshLease(run, now)]);
  if (run.status === 'initializing' && sandboxAlive(run)) return append([startRunning(run, now)]);
  return wait(stalledAt);
}

/** A workspace may take longer to prepare than a lease lasts, and only a runner renews; it is to find a live one. */
function freshLease(run: RunState, now: number): readonly EventDraft[] {
  const until = now + leaseTtlSecsMax * 1_000;
  if (until - run.leaseValidUntil < limits.leaseSlackMs) return [];
  return [{ type: 'lease.granted', actor, data: { generation: run.generation, valid_until: new Date(until).toISOString() } }];
}

/** A runner that left without a result had its say on its own stream; where workspace or sandbox failed, the scheduler has it. */
function exitEnding(run: RunState, { failure }: Watch): Ending {
  const ending = failed(exitReason(run));
  return failure?.text && failure.seq === failureToTell(run) ? { ...ending, summary: failure.text } : ending;
}

/** The scheduler says `failed` when it could not prepare or start; before the workspace was ready it was the workspace. */
function exitReason(run: RunState): StatusReason {
  if (run.sandbox?.cause !== 'failed') return 'sandbox_exited';
  return run.workspaceReady ? 'sandbox_failed' : 'workspace_failed';
}

function runningStep(run: RunState, watch: Watch): Step {
  const { now } = watch;
  const forced = forcedEnding(run);
  if (forced !== null) return end(run, forced, now);
  if (run.sandbox?.exited === true) return end(run, exitEnding(run, watch), now);
  if (pastDeadline(run, now)) {
    const ending: Ending = { outcome: 'budget_exceeded', reason: 'wall_clock', how: 'quiesce' };
    return append([wallClockExceeded(run, now), ...windDown(run, ending, now)]);
  }
  const silentAt = Math.max(watch.lastSignAt, run.startedAt ?? 0) + watch.silenceMs;
  if (now >= silentAt) return end(run, failed('heartbeat_lost'), now);
  return wait(Math.min(silentAt, run.deadlineAt ?? Number.POSITIVE_INFINITY));
}

function cancellingStep(run: RunState, now: number): Step {
  if (!sandboxAlive(run)) return append([advance(run, 'finalizing', 'quiesced')]);
  const deadline = run.quiesceDeadlineAt ?? run.statusSince + limits.quiesceMs;
  return now >= deadline ? append([advance(run, 'finalizing', 'quiesce_timeout')]) : wait(deadline);
}

function finalizingStep(run: RunState, now: number): Step {
  // A run that was never launched has no sandbox and no workspace; any other one ends only when the scheduler said what became of both.
  const collected = run.generation === 0 || (run.diff !== null && !sandboxAlive(run));
  if (!collected) return wait(now + limits.lookAgainMs);
  const settleAt = run.statusSince + limits.settleWaitMs;
  const open = run.reservations.size > 0;
  if ((open || run.pendingApprovals.size > 0) && now < settleAt) return wait(settleAt);
  if (open) return append(settlePessimistically(run));
  return { events: terminalGroup(run, now), closes: true, wakeAt: null };
}

const advance = (run: RunState, to: RunState['status'], reason: StatusReason): EventDraft => ({
  type: 'session.status_changed',
  actor,
  data: { from: run.status, to, reason, ...(run.intent === null ? {} : { outcome: run.intent.outcome }) },
});

function startRunning(run: RunState, now: number): EventDraft {
  const secs = run.budgets.max_wall_clock_secs;
  return {
    type: 'session.status_changed',
    actor,
    data: {
      from: run.status,
      to: 'running',
      reason: 'sandbox_started',
      ...(secs === null ? {} : { deadline_at: new Date(now + secs * 1_000).toISOString() }),
    },
  };
}

const wallClockExceeded = (run: RunState, now: number): EventDraft => ({
  type: 'budget.exceeded',
  actor,
  data: {
    budget: 'wall_clock_secs',
    limit: run.budgets.max_wall_clock_secs ?? 0,
    spent: Math.max(0, Math.floor((now - (run.startedAt ?? run.createdAt)) / 1_000)),
  },
});

/** Nobody said what these requests cost, so they cost what was reserved. */
const settlePessimistically = (run: RunState): readonly EventDraft[] =>
  [...run.reservations.values()].map((reservation) => ({
    type: 'budget.settled',
    actor,
    data: {
      reservation_id: reservation.reservationId,
      tokens: reservation.tokens,
      cost_micro_usd: reservation.costMicroUsd,
      basis: 'pessimistic',
      // Its facade would have said what it came to, had it lived.
      lost: true,
    },
  }));

function terminalGroup(run: RunState, now: number): readonly EventDraft[] {
  const outcome: Outcome = run.intent?.outcome ?? 'failed';
  const calls = callCounts(run);
  return [
    { type: 'session.status_changed', actor, data: { from: run.status, to: outcome, reason: 'collected', outcome } },
    {
      type: 'run.result',
      actor,
      data: {
        outcome,
        reason: run.intent?.reason ?? 'collected',
        coverage: coverageOf(run, calls),
        calls,
        decisions: decisionCounts(run),
        usage: {
          input_tokens: run.usage.inputTokens,
          output_tokens: run.usage.outputTokens,
          cache_read_tokens: run.usage.cacheReadTokens,
          cache_write_tokens: run.usage.cacheWriteTokens,
        },
        // What the budget was charged: pessimistic settlements included, so it never says less than was spent.
        cost_micro_usd: run.spent.costMicroUsd,
        ...(run.lostAnswers.size === 0 ? {} : { lost_answers: run.lostAnswers.size }),
        diff_sha256: run.diff === null || run.diff === 'missing' ? null : run.diff.sha256,
        duration_ms: Math.max(0, now - (run.startedAt ?? run.createdAt)),
      },
    },
  ];
}
