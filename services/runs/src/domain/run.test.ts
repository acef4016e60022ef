import { type EventDraft, Problem, runStream } from '@fluidbox/contracts';
import { evolveRun, initialRun, type RunState } from '@fluidbox/run-stream';
import { createdRun, recorded } from '@fluidbox/testing';
import { limits } from './limits';
import { type Decided, decideCancel, decideCreate, decideLaunch, decideRenew, decideResult, refuseMoreReports, refuseReport } from './run';

const runId = '0198b3a0-0000-7000-8000-000000000002';
const t0 = Date.parse('2026-01-01T00:00:00.000Z');
const draft = (type: string, data: Record<string, unknown>) => ({ type, actor: 'service:runs', data }) as unknown as EventDraft;
const created = draft('session.created', createdRun(runId));
const provisioning = [
  created,
  draft('session.status_changed', { from: 'created', to: 'provisioning', reason: 'launched' }),
  draft('lease.granted', { generation: 1, valid_until: new Date(t0 + 900_000).toISOString() }),
];
const started = draft('sandbox.started', { generation: 1, sandbox_id: 's1' });
const running = [
  ...provisioning,
  started,
  draft('session.status_changed', { from: 'initializing', to: 'running', reason: 'sandbox_started' }),
];
const finalizing = [
  ...running,
  draft('session.status_changed', { from: 'running', to: 'finalizing', reason: 'runner_result', outcome: 'completed' }),
];
const completed = [
  ...finalizing,
  draft('session.status_changed', { from: 'finalizing', to: 'completed', reason: 'collected', outcome: 'completed' }),
];
const overBudget = draft('budget.exceeded', { budget: 'tokens', limit: 1, spent: 2 });

const given = (...drafts: readonly EventDraft[]): RunState =>
  recorded(runStream(runId, 'default'), drafts, { at: new Date(t0) }).reduce(evolveRun, initialRun());
const shown = <R>(decided: Decided<R> | Problem) =>
  decided instanceof Problem
    ? decided.code
    : [
        decided.events.map((event) =>
          [event.type, (event.data as { to?: string }).to, (event.data as { outcome?: string }).outcome]
            .filter((part) => part !== undefined)
            .join(' '),
        ),
        decided.result,
      ];
const shownReason = (decided: Decided<unknown> | Problem) =>
  decided instanceof Problem ? decided.code : decided.events.flatMap(({ data }) => ('reason' in data ? [data.reason] : []));
const principal = (name: string, role: 'member' | 'approver' | 'admin' = 'member') => ({ name, role, org: 'default' });

describe('create', () => {
  it('stores the first event once; a repeat stores nothing', () => {
    expect(shown(decideCreate(given(), created))).toEqual([['session.created'], { created: true }]);
    expect(shown(decideCreate(given(created), created))).toEqual([[], { created: false }]);
  });
});

describe('launch', () => {
  it('gives the first generation and begins provisioning', () => {
    expect(shown(decideLaunch(given(created), t0))).toEqual([
      ['session.status_changed provisioning', 'lease.granted'],
      { generation: 1, validUntil: new Date(t0 + 900_000).toISOString() },
    ]);
  });

  it('gives the next generation when asked again, and fences the one before', () => {
    expect(shown(decideLaunch(given(...provisioning), t0))).toEqual([
      ['lease.granted'],
      { generation: 2, validUntil: new Date(t0 + 900_000).toISOString() },
    ]);
    expect(
      refuseReport(given(...provisioning, draft('lease.granted', { generation: 2, valid_until: new Date(t0).toISOString() })), 1)?.code,
    ).toBe('stale_lease');
  });

  it('refuses a run whose sandbox lives or ended, that winds down, is over, ran out of budget or does not exist', () => {
    const exited = draft('sandbox.exited', { generation: 1, sandbox_id: 's1', cause: 'failed' });
    const codes = [[...provisioning, started], [...provisioning, exited], finalizing, completed, [created, overBudget], []].map((drafts) =>
      shown(decideLaunch(given(...drafts), t0)),
    );
    expect(codes).toEqual(['conflict', 'run_not_active', 'run_not_active', 'run_not_active', 'run_not_active', 'not_found']);
  });
});

describe('result', () => {
  const report = { generation: 1, outcome: 'completed', summary: 'done' } as const;

  it('is stored as the intent to end', () => {
    const decided = decideResult(given(...running), report, t0);
    expect(shown(decided)).toEqual([['session.status_changed finalizing completed'], { ok: true }]);
    expect(decided instanceof Problem ? null : decided.events[0]?.content).toEqual({ summary: 'done' });
  });

  it('names the probe when the runner refused its sandbox', () => {
    const probed = draft('run.error', { code: 'sandbox_probe_failed', reported_by: 'runner' });
    const reasonOf = (drafts: readonly EventDraft[]) => {
      const decided = decideResult(given(...drafts), { generation: 1, outcome: 'failed' }, t0);
      return shownReason(decided);
    };
    expect([reasonOf([...running, probed]), reasonOf(running)]).toEqual([['probe_failed'], ['runner_result']]);
  });

  it('changes nothing the second time, and says so', () => {
    expect(shown(decideResult(given(...finalizing), { ...report, outcome: 'failed' }, t0))).toEqual([[], { ok: true, note: 'finalizing' }]);
    expect(shown(decideResult(given(...completed), report, t0))).toEqual([[], { ok: true, note: 'already terminal' }]);
  });

  it('comes too late after a budget was exceeded: the run ends as that', () => {
    expect(shown(decideResult(given(...running, overBudget), report, t0))).toEqual([
      ['session.status_changed finalizing budget_exceeded'],
      { ok: true, note: 'finalizing' },
    ]);
  });

  it('is refused from another generation, and accepted with an expired lease of this one', () => {
    expect(shown(decideResult(given(...running), { ...report, generation: 2 }, t0))).toBe('stale_lease');
    expect(shown(decideResult(given(...running), report, t0 + 3_600_000))).toEqual([
      ['session.status_changed finalizing completed'],
      { ok: true },
    ]);
  });
});

describe('cancel', () => {
  it('asks a live run to stop, and is true only for the one that did', () => {
    expect(shown(decideCancel(given(...running), principal('ada'), t0))).toEqual([
      ['session.status_changed cancelling cancelled', 'run.quiesce_requested'],
      { cancelled: true },
    ]);
    expect(shown(decideCancel(given(...finalizing), principal('ada'), t0))).toEqual([[], { cancelled: false }]);
    expect(shown(decideCancel(given(...completed), principal('ada'), t0))).toEqual([[], { cancelled: false }]);
  });

  it('goes straight to the end where no sandbox lives', () => {
    expect(shown(decideCancel(given(created), principal('ada'), t0))).toEqual([
      ['session.status_changed finalizing cancelled'],
      { cancelled: true },
    ]);
  });

  it('does not overrule a budget', () => {
    expect(shown(decideCancel(given(...running, overBudget), principal('ada'), t0))).toEqual([
      ['session.status_changed cancelling budget_exceeded', 'run.quiesce_requested'],
      { cancelled: false },
    ]);
  });

  it('is for the one who started the run, and for admins', () => {
    expect(shown(decideCancel(given(...running), principal('bob', 'approver'), t0))).toBe('forbidden');
    expect(shown(decideCancel(given(...running), principal('bob', 'admin'), t0))).toEqual([expect.anything(), { cancelled: true }]);
  });
});

describe('reports of a runner', () => {
  const said = (chars: number) => draft('agent.message', { role: 'assistant', digest: `sha256:${'a'.repeat(64)}`, chars });

  it('are taken until they are more than an honest runner has to say', () => {
    const many = (count: number) => given(...running, ...Array.from({ length: count }, () => said(10)));
    expect(refuseMoreReports(many(limits.reportedEventsMax - 1))).toBeNull();
    expect(refuseMoreReports(many(limits.reportedEventsMax))).toMatchObject({ code: 'payload_too_large' });
    expect(refuseMoreReports(given(...running, said(limits.reportedCharsMax - 1)))).toBeNull();
    expect(refuseMoreReports(given(...running, said(limits.reportedCharsMax)))).toMatchObject({ code: 'payload_too_large' });
  });
});

describe('lease', () => {
  const renew = (drafts: readonly EventDraft[], ttlSecs: number, secs: number, generation = 1) =>
    shown(decideRenew(given(...drafts), { generation, ttlSecs }, t0 + secs * 1_000));

  it('is extended, never cut short', () => {
    expect(renew(running, 900, 300)).toEqual([['lease.granted'], { renewed: true, ttl_secs: 900 }]);
    expect(renew(running, 60, 300)).toEqual([[], { renewed: true, ttl_secs: 60 }]);
  });

  it('grows the ledger only when it gains something, however often it is asked for', () => {
    expect(renew(running, 900, 30)).toEqual([[], { renewed: true, ttl_secs: 870 }]);
    expect(renew(running, 900, 60)).toEqual([['lease.granted'], { renewed: true, ttl_secs: 900 }]);
    expect(renew(running, 30, 871)).toEqual([[], { renewed: true, ttl_secs: 29 }]);
    expect(renew(running, 30, 873)).toEqual([['lease.granted'], { renewed: true, ttl_secs: 30 }]);
  });

  it('is clamped to 15 minutes', () => {
    expect(renew(running, 5_000, 300)).toEqual([['lease.granted'], { renewed: true, ttl_secs: 900 }]);
  });

  it('is not given to a run that winds down, nor to another generation, nor once it has ended', () => {
    expect(renew(finalizing, 900, 300)).toEqual([[], { renewed: false, ttl_secs: 0 }]);
    expect(renew(running, 900, 300, 2)).toBe('stale_lease');
    expect(renew(running, 900, 901)).toBe('unauthorized');
  });
});
