import {
  type CreateSessionBody,
  type EventDraft,
  leaseTtlSecsMax,
  type Principal,
  Problem,
  type ResultAnswer,
  type RunSpec,
  roleAtLeast,
} from '@fluidbox/contracts';
import { acceptsWork, exists, isTerminal, isWindingDown, leaseRefusal, type RunState } from '@fluidbox/run-stream';
import { limits } from './limits';
import { actor, forcedEnding, sandboxAlive, windDown } from './wind-down';

/** Decisions on what others ask of a run. What time and other services bring about is `nextStep`. */
export interface Decided<R> {
  readonly events: readonly EventDraft[];
  readonly result: R;
}

/** What a runner reports before the result `failed` when its sandbox is not what it must be. */
const probeFailedCode = 'sandbox_probe_failed';

const gone = (): Problem => new Problem('not_found', 'there is no such run');

/** The first event, or nothing when the run exists: then the caller compares the request and answers the run that is there. */
export function decideCreate(run: RunState, first: EventDraft): Decided<{ created: boolean }> {
  return exists(run) ? { events: [], result: { created: false } } : { events: [first], result: { created: true } };
}

export function createdEvent(frozen: {
  spec: RunSpec;
  specDigest: string;
  requestDigest: string;
  body: CreateSessionBody;
  systemPrompt: string | null;
}): EventDraft {
  const { spec } = frozen;
  return {
    type: 'session.created',
    actor: `principal:${spec.invocation.principal}`,
    data: {
      run_id: spec.run_id,
      agent: spec.agent.name,
      agent_revision: spec.agent.revision,
      harness: spec.harness.id,
      model: spec.model,
      policy: spec.policy.name,
      policy_version: spec.policy.version,
      spec_digest: frozen.specDigest,
      request_digest: frozen.requestDigest,
      autonomy: spec.autonomy,
      trust_tier: spec.trust_tier,
      budgets: spec.budgets,
      workspace_kind: spec.workspace.kind,
      invoked_by: spec.invocation.principal,
    },
    content: { task: frozen.body.task, system_prompt: frozen.systemPrompt },
  };
}

/** A new generation for a run that has no sandbox. Whoever held the one before is fenced out by the number. */
export function decideLaunch(run: RunState, now: number): Decided<{ generation: number; validUntil: string }> | Problem {
  if (!exists(run)) return gone();
  if (!acceptsWork(run)) return new Problem('run_not_active', `the run is ${run.status} and starts nothing any more`);
  if (run.status === 'running' || sandboxAlive(run)) return new Problem('conflict', 'the run has a live sandbox; adopt it instead');
  // Its end is recorded and `nextStep` fails the run; a run is never played twice.
  if (run.sandbox !== null) return new Problem('run_not_active', 'the sandbox of the run has ended');
  const generation = run.generation + 1;
  const validUntil = new Date(now + leaseTtlSecsMax * 1_000).toISOString();
  const lease: EventDraft = { type: 'lease.granted', actor, data: { generation, valid_until: validUntil } };
  const result = { generation, validUntil };
  if (run.status !== 'created') return { events: [lease], result };
  return {
    events: [{ type: 'session.status_changed', actor, data: { from: 'created', to: 'provisioning', reason: 'launched' } }, lease],
    result,
  };
}

/** All four tokens live as long as this lease, which is only ever extended. */
export function decideRenew(
  run: RunState,
  request: { generation: number; ttlSecs: number },
  now: number,
): Decided<{ renewed: boolean; ttl_secs: number }> | Problem {
  if (!exists(run)) return gone();
  const refusal = leaseRefusal(run, request.generation, now);
  if (refusal === 'stale_lease') return new Problem('stale_lease', `the run is at generation ${run.generation}`);
  if (refusal !== null) return new Problem('unauthorized', 'the lease has ended; it cannot be renewed');
  if (!acceptsWork(run)) return { events: [], result: { renewed: false, ttl_secs: 0 } };
  const ttlSecs = Math.min(request.ttlSecs, leaseTtlSecsMax);
  const until = now + ttlSecs * 1_000;
  // A runner that renews without end must not fill the ledger: what gains next to nothing is answered with the lease that is.
  if (until - run.leaseValidUntil < Math.min(limits.leaseSlackMs, ttlSecs * 100)) {
    return { events: [], result: { renewed: true, ttl_secs: Math.min(ttlSecs, Math.floor((run.leaseValidUntil - now) / 1_000)) } };
  }
  return {
    events: [{ type: 'lease.granted', actor, data: { generation: run.generation, valid_until: new Date(until).toISOString() } }],
    result: { renewed: true, ttl_secs: ttlSecs },
  };
}

/** Members end their own runs, admins any. `cancelled` is true only for the request that decided the end. */
export function decideCancel(run: RunState, principal: Principal, now: number): Decided<{ cancelled: boolean }> | Problem {
  if (!exists(run)) return gone();
  if (run.invokedBy !== principal.name && !roleAtLeast(principal.role, 'admin')) {
    return new Problem('forbidden', 'only the one who started a run, or an admin, may cancel it');
  }
  if (isTerminal(run) || isWindingDown(run)) return { events: [], result: { cancelled: false } };
  const forced = forcedEnding(run);
  if (forced !== null) return { events: windDown(run, forced, now), result: { cancelled: false } };
  return { events: windDown(run, { outcome: 'cancelled', reason: 'cancel_requested', how: 'quiesce' }, now), result: { cancelled: true } };
}

/** The runner says how it went; the server decides how the run ended. An expired lease is no reason to lose a result, another generation is. */
export function decideResult(
  run: RunState,
  report: { generation: number; outcome: 'completed' | 'failed'; summary?: string | undefined },
  now: number,
): Decided<ResultAnswer> | Problem {
  if (!exists(run)) return gone();
  if (report.generation !== run.generation) return new Problem('stale_lease', `the run is at generation ${run.generation}`);
  if (isTerminal(run)) return { events: [], result: { ok: true, note: 'already terminal' } };
  if (isWindingDown(run)) return { events: [], result: { ok: true, note: 'finalizing' } };
  const forced = forcedEnding(run);
  if (forced !== null)
    return { events: windDown(run, { ...forced, how: 'at_once', summary: report.summary }, now), result: { ok: true, note: 'finalizing' } };
  const probeFailed = report.outcome === 'failed' && run.lastErrorCode === probeFailedCode;
  const ending = {
    outcome: report.outcome,
    reason: probeFailed ? 'probe_failed' : 'runner_result',
    how: 'at_once',
    summary: report.summary,
  } as const;
  return { events: windDown(run, ending, now), result: { ok: true } };
}

/** Whether a runner of this generation is still listened to. */
export function refuseReport(run: RunState, generation: number): Problem | null {
  if (!exists(run)) return gone();
  if (generation !== run.generation) return new Problem('stale_lease', `the run is at generation ${run.generation}`);
  return isTerminal(run) ? new Problem('run_not_active', `the run is ${run.status}`) : null;
}

/** Whether there is room for one more report. */
export function refuseMoreReports({ reported }: RunState): Problem | null {
  if (reported.events < limits.reportedEventsMax && reported.chars < limits.reportedCharsMax) return null;
  return new Problem('payload_too_large', 'the runner of this run has reported more than a run may');
}
