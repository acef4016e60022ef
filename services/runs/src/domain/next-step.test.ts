import { type EventDraft, type EventType, eventTypes, runStatuses, runStream } from '@fluidbox/contracts';
import { evolveRun, initialRun, isTerminal, type RunState } from '@fluidbox/run-stream';
import { createdRun, recorded } from '@fluidbox/testing';
import fc from 'fast-check';
import { collectedDiff } from './collected-diff.fixture';
import { limits } from './limits';
import { nextStep, type Watch } from './next-step';

const runId = '0198b3a0-0000-7000-8000-000000000002';
const stream = runStream(runId, 'default');
const digest = `sha256:${'a'.repeat(64)}`;
const t0 = Date.parse('2026-01-01T00:00:00.000Z');
const iso = (ms: number) => new Date(ms).toISOString();
const call = { tool_call_id: 'toolu_1', tool: 'Bash' };
const reservationId = '0198b3a0-0000-7000-8000-0000000000aa';

/** One event of each kind that matters here, as its appender writes it. */
const event = {
  created: (wallClockSecs: number | null = 600) => ({
    type: 'session.created' as const,
    actor: 'principal:ada',
    data: createdRun(runId, {
      harness: 'claude-agent-sdk',
      model: 'claude-haiku-4-5',
      budgets: { max_wall_clock_secs: wallClockSecs, max_tokens: 1_000, max_cost_micro_usd: 1_000, max_tool_calls: 10 },
    }),
  }),
  status: (from: string, to: string, more: Record<string, unknown> = {}) =>
    ({ type: 'session.status_changed', actor: 'service:runs', data: { from, to, reason: 'launched', ...more } }) as EventDraft,
  lease: (generation = 1) =>
    ({ type: 'lease.granted', actor: 'service:runs', data: { generation, valid_until: iso(t0 + 900_000) } }) as EventDraft,
  workspace: {
    type: 'workspace.initialized',
    actor: 'service:scheduler',
    data: { kind: 'scratch', base_digest: digest, archive_digest: digest, archive_bytes: 1, files: 0, bytes: 0, skipped: 0 },
  } as EventDraft,
  started: {
    type: 'sandbox.started',
    actor: 'service:scheduler',
    data: {
      generation: 1,
      provider: 'local',
      sandbox_id: 's1',
      runner_digest: digest,
      isolation: { namespaces: true, seccomp: true, unprivileged_uid: true, limits: 'cgroup2' },
    },
  } as EventDraft,
  exited: (cause: 'exited' | 'stopped' | 'failed' | 'lost' = 'exited') =>
    ({
      type: 'sandbox.exited',
      actor: 'service:scheduler',
      data: { generation: 1, sandbox_id: 's1', exit_code: 0, signal: null, cause },
    }) as EventDraft,
  collected: {
    type: 'artifact.collected',
    actor: 'service:scheduler',
    data: collectedDiff(digest),
  } as EventDraft,
  missing: { type: 'artifact.missing', actor: 'service:scheduler', data: { kind: 'diff', reason: 'no workspace' } } as EventDraft,
  requested: { type: 'tool.requested', actor: 'service:gate', data: { ...call, input_digest: digest, generation: 1 } } as EventDraft,
  asked: {
    type: 'approval.requested',
    actor: 'service:gate',
    data: {
      ...call,
      approval_id: `apr_${runId}_toolu_1`,
      input_digest: digest,
      scope: 'once',
      scope_digest: digest,
      approvers: 1,
      exclude_requester: false,
      policy_digest: digest,
      engine_version: '1',
      expires_at: iso(t0 + 600_000),
    },
  } as EventDraft,
  reserved: {
    type: 'budget.reserved',
    actor: 'service:llm-facade',
    data: { reservation_id: reservationId, tokens: 500, cost_micro_usd: 70, expires_at: iso(t0 + 1_800_000) },
  } as EventDraft,
  exceeded: { type: 'budget.exceeded', actor: 'service:llm-facade', data: { budget: 'tokens', limit: 1, spent: 2 } } as EventDraft,
  gap: { type: 'coverage.gap', actor: 'service:llm-facade', data: { ...call, class: 'uncovered' } } as EventDraft,
  guard: { type: 'guard.tripped', actor: 'service:gate', data: { guard: 'denials', count: 10, limit: 10 } } as EventDraft,
};
const launched = [event.created(), event.status('created', 'provisioning'), event.lease()];
const running = [
  ...launched,
  event.workspace,
  event.status('provisioning', 'initializing'),
  event.started,
  event.status('initializing', 'running', { deadline_at: iso(t0 + 600_000) }),
];
const finalizing = [
  ...running,
  event.status('running', 'finalizing', { outcome: 'completed', reason: 'runner_result' }),
  event.exited('stopped'),
];

const given = (...drafts: readonly EventDraft[]): RunState =>
  recorded(stream, drafts, { at: new Date(t0) }).reduce(evolveRun, initialRun());
const watch = (secs: number, lastSign = secs): Watch => ({ now: t0 + secs * 1_000, lastSignAt: t0 + lastSign * 1_000, silenceMs: 60_000 });
const shown = (run: RunState, at: Watch) =>
  nextStep(run, at).events.map((draft) => {
    const data = draft.data as Record<string, unknown>;
    return [draft.type, data.to ?? data.budget ?? data.basis ?? null, data.reason ?? null, data.outcome ?? null]
      .filter((part) => part !== null)
      .join(' ');
  });

describe('bringing a run up', () => {
  it('waits for the launch, and gives up 30 minutes after creation whatever happened in between', () => {
    expect(nextStep(given(event.created()), watch(0))).toEqual({ events: [], closes: false, wakeAt: t0 + limits.launchStalledMs });
    expect(shown(given(...launched, event.lease(2)), watch(1_800))).toEqual(['session.status_changed finalizing launch_stalled failed']);
  });

  it('follows workspace and sandbox', () => {
    expect(shown(given(...launched, event.workspace), watch(1))).toEqual(['session.status_changed initializing workspace_ready']);
    const initializing = given(...launched, event.workspace, event.status('provisioning', 'initializing'), event.started);
    const step = nextStep(initializing, watch(1));
    expect(step.events[0]?.data).toMatchObject({ to: 'running', deadline_at: iso(t0 + 601_000) });
  });

  it('gives a fresh lease when the workspace took long', () => {
    expect(shown(given(...launched, event.workspace), watch(1_200))).toEqual([
      'session.status_changed initializing workspace_ready',
      'lease.granted',
    ]);
  });

  it('sets no deadline when the wall clock is lifted', () => {
    const lifted = given(
      event.created(null),
      ...launched.slice(1),
      event.workspace,
      event.status('provisioning', 'initializing'),
      event.started,
    );
    expect(nextStep(lifted, watch(1)).events[0]?.data).not.toHaveProperty('deadline_at');
  });

  it('fails when workspace or sandbox cannot be had, and says which', () => {
    expect(shown(given(...launched, event.exited('failed')), watch(1))).toEqual([
      'session.status_changed finalizing workspace_failed failed',
    ]);
    expect(shown(given(...launched, event.workspace, event.exited('failed')), watch(1))).toEqual([
      'session.status_changed finalizing sandbox_failed failed',
    ]);
  });
});

describe('a running run', () => {
  it('goes on while it is heard, and waits for the nearer of silence and deadline', () => {
    expect(nextStep(given(...running), watch(30))).toEqual({ events: [], closes: false, wakeAt: t0 + 90_000 });
    expect(nextStep(given(...running), watch(590))).toMatchObject({ events: [], wakeAt: t0 + 600_000 });
  });

  it('ends at once after 60 s of silence, although its sandbox lives', () => {
    expect(shown(given(...running), watch(90, 31))).toEqual([]);
    expect(shown(given(...running), watch(91, 31))).toEqual(['session.status_changed finalizing heartbeat_lost failed']);
  });

  it('fails when its sandbox ends without a result', () => {
    expect(shown(given(...running, event.exited()), watch(5))).toEqual(['session.status_changed finalizing sandbox_exited failed']);
  });

  it('is asked to stop at its deadline', () => {
    expect(shown(given(...running), watch(600))).toEqual([
      'budget.exceeded wall_clock_secs',
      'session.status_changed cancelling wall_clock budget_exceeded',
      'run.quiesce_requested wall_clock',
    ]);
  });

  it.each([
    [event.exceeded, 'budget budget_exceeded'],
    [event.gap, 'coverage_gap failed'],
    [event.guard, 'guard_tripped failed'],
  ])('is asked to stop when %j was noticed', (noticed, expected) => {
    expect(shown(given(...running, noticed), watch(5))[0]).toBe(`session.status_changed cancelling ${expected}`);
  });
});

describe('winding down', () => {
  const cancelling = [
    ...running,
    event.status('running', 'cancelling', { outcome: 'cancelled', reason: 'cancel_requested' }),
    {
      type: 'run.quiesce_requested',
      actor: 'service:runs',
      data: { deadline_at: iso(t0 + 30_000), reason: 'cancel_requested' },
    } as EventDraft,
  ];

  it('waits for the sandbox until the deadline, not a moment less', () => {
    expect(nextStep(given(...cancelling), watch(29))).toEqual({ events: [], closes: false, wakeAt: t0 + 30_000 });
    expect(shown(given(...cancelling), watch(30))).toEqual(['session.status_changed finalizing quiesce_timeout cancelled']);
    expect(shown(given(...cancelling, event.exited()), watch(3))).toEqual(['session.status_changed finalizing quiesced cancelled']);
  });

  it('is not terminal before the sandbox ended and the diff was looked for', () => {
    expect(shown(given(...finalizing), watch(3_600))).toEqual([]);
    expect(shown(given(...finalizing.slice(0, -1), event.collected), watch(3_600))).toEqual([]);
    expect(shown(given(...finalizing, event.missing), watch(1))).toEqual([
      'session.status_changed completed collected completed',
      'run.result runner_result completed',
    ]);
  });

  it('ends without a scheduler when it was never launched', () => {
    const never = given(event.created(), event.status('created', 'finalizing', { outcome: 'cancelled', reason: 'cancel_requested' }));
    expect(nextStep(never, watch(1))).toMatchObject({
      closes: true,
      events: [{ data: { to: 'cancelled' } }, { data: { reason: 'cancel_requested', diff_sha256: null } }],
    });
  });

  it('waits 30 s for open reservations, then charges them in full before the end', () => {
    const open = given(...finalizing, event.collected, event.reserved);
    expect(nextStep(open, watch(29))).toMatchObject({ events: [], wakeAt: t0 + 30_000 });
    expect(shown(open, watch(30))).toEqual(['budget.settled pessimistic']);
    const settled = given(...finalizing, event.collected, event.reserved, ...nextStep(open, watch(30)).events);
    expect(nextStep(settled, watch(31))).toMatchObject({
      closes: true,
      // Nobody saw what that answer asked for.
      events: [{}, { data: { cost_micro_usd: 70, diff_sha256: digest, coverage: 'unknown', lost_answers: 1 } }],
    });
    const told = given(...finalizing, event.collected);
    expect(nextStep(told, watch(31)).events[1]?.data).toMatchObject({ coverage: 'full' });
    expect(nextStep(told, watch(31)).events[1]?.data).not.toHaveProperty('lost_answers');
  });

  it('waits for approvals to settle what is pending, but not for ever', () => {
    const pending = given(...running, event.requested, event.asked, ...finalizing.slice(running.length), event.collected);
    expect(nextStep(pending, watch(29))).toMatchObject({ events: [], wakeAt: t0 + 30_000 });
    expect(nextStep(pending, watch(30)).closes).toBe(true);
  });
});

describe('nextStep in any stream', () => {
  const anyEvent = fc.constantFrom<EventDraft>(
    ...launched,
    ...running,
    ...finalizing,
    event.missing,
    event.collected,
    event.exited('failed'),
    event.exited('lost'),
    event.requested,
    event.asked,
    event.reserved,
    event.exceeded,
    event.gap,
    event.guard,
    event.status('running', 'cancelling', { outcome: 'cancelled', reason: 'cancel_requested' }),
  );
  const legal: Record<string, readonly string[]> = {
    created: ['cancelling', 'finalizing'],
    provisioning: ['initializing', 'cancelling', 'finalizing'],
    initializing: ['running', 'cancelling', 'finalizing'],
    running: ['cancelling', 'finalizing'],
    cancelling: ['finalizing'],
    finalizing: ['completed', 'failed', 'cancelled', 'budget_exceeded'],
  };

  it('is total, makes only legal transitions and storable events, and comes to rest', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 20 }), fc.integer({ min: 0, max: 4_000 }), (drafts, secs) => {
        const history: EventDraft[] = [event.created(), ...drafts];
        for (let rounds = 0; ; rounds += 1) {
          expect(rounds).toBeLessThan(8);
          const run = given(...history);
          const step = nextStep(run, watch(secs, 0));
          for (const draft of step.events) {
            expect(() => eventTypes[draft.type as EventType].data.parse(draft.data)).not.toThrow();
            if (draft.type === 'session.status_changed') {
              expect(draft.data.from).toBe(run.status);
              expect(legal[run.status]).toContain(draft.data.to);
            }
          }
          if (step.events.length === 0) {
            expect(step.wakeAt === null).toBe(isTerminal(run));
            if (step.wakeAt !== null) expect(step.wakeAt).toBeGreaterThan(watch(secs).now);
            return;
          }
          history.push(...step.events);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('leaves a status alone that only a newer version knows', () => {
    const newer = { ...given(event.created()), status: 'hibernating' as RunState['status'] };
    expect(nextStep(newer, watch(0))).toEqual({ events: [], closes: false, wakeAt: t0 + limits.lookAgainMs });
  });

  it('knows every status by name', () => {
    for (const status of runStatuses) expect(nextStep({ ...given(event.created()), status }, watch(0))).toBeDefined();
  });
});
