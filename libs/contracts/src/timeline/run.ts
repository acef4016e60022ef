import { z } from 'zod';
import { Budgets } from '../budgets';
import { Count, Digest, MicroUsd, Timestamp } from '../ids';
import type { EventRows } from './event-rows';
import { usage } from './model-call';

export const runStatuses = [
  'created',
  'provisioning',
  'initializing',
  'running',
  'cancelling',
  'finalizing',
  'completed',
  'failed',
  'cancelled',
  'budget_exceeded',
] as const;
export const RunStatus = z.enum(runStatuses);
export type RunStatus = z.infer<typeof RunStatus>;
export const terminalStatuses = ['completed', 'failed', 'cancelled', 'budget_exceeded'] as const;
export const Outcome = z.enum(terminalStatuses);
export type Outcome = z.infer<typeof Outcome>;

/** Why a run ends or changed status. `runner_result` is the ordinary end. */
export const statusReasons = [
  'launched',
  'workspace_ready',
  'sandbox_started',
  'runner_result',
  'cancel_requested',
  'wall_clock',
  'budget',
  'coverage_gap',
  'guard_tripped',
  'heartbeat_lost',
  'sandbox_exited',
  'sandbox_failed',
  'workspace_failed',
  'launch_stalled',
  'probe_failed',
  'collected',
  'quiesced',
  'quiesce_timeout',
] as const;
export const StatusReason = z.enum(statusReasons);
export type StatusReason = z.infer<typeof StatusReason>;

export const Coverage = z.enum(['full', 'partial', 'unknown']);

/** How a run begins, goes on and ends. `terminal` data needs no row of its own: it is `session.status_changed` to a terminal status. */
export const runEvents = {
  'session.created': {
    appender: 'runs',
    data: z.strictObject({
      run_id: z.uuid(),
      agent: z.string(),
      agent_revision: z.number().int(),
      harness: z.string(),
      model: z.string(),
      policy: z.string(),
      policy_version: z.number().int(),
      spec_digest: Digest,
      request_digest: Digest,
      autonomy: z.enum(['supervised', 'autonomous']),
      trust_tier: z.enum(['trusted', 'read_only']),
      budgets: Budgets,
      workspace_kind: z.string(),
      invoked_by: z.string(),
    }),
    content: z.strictObject({ task: z.string(), system_prompt: z.string().nullable() }),
  },
  'session.status_changed': {
    appender: 'runs',
    // `deadline_at` comes with `running`; `outcome` with the intent (cancelling, finalizing) and with the terminal status.
    data: z.strictObject({
      from: RunStatus,
      to: RunStatus,
      reason: StatusReason,
      outcome: Outcome.optional(),
      deadline_at: Timestamp.optional(),
    }),
    content: z.strictObject({ summary: z.string() }),
  },
  'lease.granted': { appender: 'runs', data: z.strictObject({ generation: z.number().int(), valid_until: Timestamp }) },
  'run.quiesce_requested': { appender: 'runs', data: z.strictObject({ deadline_at: Timestamp, reason: StatusReason }) },
  'run.result': {
    appender: 'runs',
    data: z.strictObject({
      outcome: Outcome,
      reason: StatusReason,
      coverage: Coverage,
      calls: z.strictObject({
        model: Count,
        decided: Count,
        rejected_by_harness: Count,
        no_effect: Count,
        provider_executed: Count,
        uncovered: Count,
        unknown: Count,
      }),
      decisions: z.strictObject({ allow: Count, deny: Count, ask: Count }),
      usage: z.strictObject(usage),
      cost_micro_usd: MicroUsd,
      // Answers of which nobody saw what they asked for: the process that passed them on was lost. Their calls stand in no class.
      lost_answers: Count.optional(),
      diff_sha256: Digest.nullable(),
      duration_ms: Count,
    }),
  },
  'agent.message': {
    appender: 'runs',
    data: z.strictObject({ role: z.enum(['assistant', 'system']), digest: Digest, chars: Count }),
    content: z.strictObject({ text: z.string() }),
  },
  'run.error': {
    appender: 'runs',
    data: z.strictObject({ code: z.string().max(64), reported_by: z.enum(['runner', 'service']) }),
    content: z.strictObject({ message: z.string() }),
  },

  // On the run's erasure stream: its own is closed by then. Appended when the keys, the sealed rows and the files are gone.
  'content.erased': {
    appender: 'runs',
    data: z.strictObject({
      run_id: z.uuid(),
      classes: z.array(z.enum(['projection', 'rest'])).min(1),
      cause: z.enum(['requested', 'retention']),
      by: z.string().max(200),
    }),
  },
} as const satisfies EventRows;
