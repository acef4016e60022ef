import { randomBytes, randomUUID } from 'node:crypto';
import {
  approvalIdOf,
  defaultBudgets,
  type EventDraft,
  type RecordedEvent,
  runStream,
  type ServiceName,
  type StreamRef,
} from '@fluidbox/contracts';
import { createKekKeyring, createLedger, type EventStore, type Ledger } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { kekFromBytes } from '@fluidbox/seal';

export const testClock = (start = '2026-11-29T12:00:00.000Z') => {
  let at = Date.parse(start);
  return {
    now: () => new Date(at),
    pass: (ms: number) => {
      at += ms;
    },
  };
};
const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;

type Step = readonly [ServiceName, readonly EventDraft[], { readonly closes?: boolean }?];

/** A whole run as its services write it: one allowed call, one approved by a person, a model response, a diff, the end. */
export function sampleSteps(runId: string, agent = 'fixer'): readonly Step[] {
  const status = (from: string, to: string, reason: string, more: object = {}): EventDraft =>
    ({ type: 'session.status_changed', data: { from, to, reason, ...more }, actor: 'service:runs' }) as EventDraft;
  const approval = approvalIdOf(runId, 'c2');
  const requested = (id: string): EventDraft => ({
    type: 'tool.requested',
    data: { tool_call_id: id, tool: 'Bash', input_digest: digest('a'), generation: 1 },
    actor: 'runner',
  });
  const usage = { input_tokens: 100, output_tokens: 20, cache_read_tokens: 5, cache_write_tokens: 0 };
  return [
    [
      'runs',
      [
        {
          type: 'session.created',
          data: {
            run_id: runId,
            agent,
            agent_revision: 3,
            harness: 'scripted',
            model: 'm-1',
            policy: 'default',
            policy_version: 2,
            spec_digest: digest('b'),
            request_digest: digest('c'),
            autonomy: 'supervised',
            trust_tier: 'trusted',
            budgets: defaultBudgets,
            workspace_kind: 'scratch',
            invoked_by: 'ada',
          },
          content: { task: 'fix it', system_prompt: null },
          actor: 'principal:ada',
        },
      ],
    ],
    [
      'runs',
      [
        status('created', 'provisioning', 'launched'),
        { type: 'lease.granted', data: { generation: 1, valid_until: '2026-11-29T12:15:00.000Z' }, actor: 'service:runs' },
      ],
    ],
    [
      'runs',
      [
        status('provisioning', 'initializing', 'workspace_ready'),
        status('initializing', 'running', 'sandbox_started', { deadline_at: '2026-11-29T12:30:00.000Z' }),
      ],
    ],
    [
      'gate',
      [
        requested('c1'),
        {
          type: 'tool.decision',
          data: { tool_call_id: 'c1', tool: 'Bash', verdict: 'allow', source: 'policy', input_digest: digest('a'), code: 'policy_allow' },
          actor: 'service:gate',
        },
      ],
    ],
    [
      'llm-facade',
      [
        {
          type: 'budget.reserved',
          data: {
            reservation_id: '7b0b4b9e-9d0c-4a59-8f6b-0f3a6c3d1c11',
            tokens: 1000,
            cost_micro_usd: 500,
            expires_at: '2026-11-29T12:10:00.000Z',
          },
          actor: 'service:llm-facade',
        },
      ],
    ],
    [
      'llm-facade',
      [
        {
          type: 'budget.settled',
          data: { reservation_id: '7b0b4b9e-9d0c-4a59-8f6b-0f3a6c3d1c11', tokens: 120, cost_micro_usd: 333, basis: 'usage' },
          actor: 'service:llm-facade',
        },
        {
          type: 'model.response',
          data: {
            reservation_id: '7b0b4b9e-9d0c-4a59-8f6b-0f3a6c3d1c11',
            model: 'm-1',
            status: 200,
            stop_reason: 'tool_use',
            ...usage,
            cost_micro_usd: 333,
            estimated: false,
            agent_id: null,
            duration_ms: 10,
          },
          actor: 'model',
        },
      ],
    ],
    [
      'gate',
      [
        requested('c2'),
        {
          type: 'approval.requested',
          data: {
            tool_call_id: 'c2',
            tool: 'Bash',
            approval_id: approval,
            input_digest: digest('a'),
            scope: 'once',
            scope_digest: digest('f'),
            approvers: 1,
            exclude_requester: false,
            policy_digest: digest('d'),
            engine_version: '1',
            expires_at: '2026-11-29T12:20:00.000Z',
          },
          actor: 'service:gate',
        },
      ],
    ],
    [
      'approvals',
      [
        {
          type: 'approval.voted',
          data: { approval_id: approval, tool_call_id: 'c2', decision: 'approve', by: 'grace' },
          actor: 'principal:grace',
        },
      ],
    ],
    [
      'approvals',
      [
        {
          type: 'approval.decided',
          data: {
            approval_id: approval,
            tool_call_id: 'c2',
            decision: 'approved',
            scope: 'once',
            decided_by: 'grace',
          },
          actor: 'principal:grace',
        },
        {
          type: 'tool.decision',
          data: {
            tool_call_id: 'c2',
            tool: 'Bash',
            verdict: 'allow',
            source: 'approval',
            input_digest: digest('a'),
            code: 'approved',
            approval_id: approval,
          },
          actor: 'service:approvals',
        },
      ],
    ],
    ['runs', [status('running', 'finalizing', 'runner_result', { outcome: 'completed' })]],
    [
      'scheduler',
      [
        {
          type: 'artifact.collected',
          data: {
            artifact_id: `art_${runId}_diff`,
            kind: 'diff',
            name: 'changes.diff',
            content_type: 'text/x-diff',
            bytes: 42,
            sha256: digest('e'),
            truncated: false,
            files: 1,
            insertions: 2,
            deletions: 1,
          },
          actor: 'service:scheduler',
        },
      ],
    ],
    [
      'runs',
      [
        status('finalizing', 'completed', 'collected', { outcome: 'completed' }),
        {
          type: 'run.result',
          data: {
            outcome: 'completed',
            reason: 'runner_result',
            coverage: 'full',
            calls: { model: 0, decided: 0, rejected_by_harness: 0, no_effect: 0, provider_executed: 0, uncovered: 0, unknown: 0 },
            decisions: { allow: 2, deny: 0, ask: 1 },
            usage,
            cost_micro_usd: 333,
            diff_sha256: digest('e'),
            duration_ms: 1000,
          },
          actor: 'service:runs',
        },
      ],
      { closes: true },
    ],
  ];
}

/** Every service with its own ledger on one store, as their processes would. */
export function servicesOn(storeOf: (service: ServiceName) => EventStore, clock: { now(): Date }) {
  const kek = kekFromBytes(randomBytes(32));
  const ledgers = new Map<ServiceName, Ledger>();
  const ledgerOf = (service: ServiceName): Ledger => {
    const known = ledgers.get(service);
    if (known !== undefined) return known;
    const store = storeOf(service);
    const made = createLedger({
      store,
      keyring: createKekKeyring({ store, kek, clock }),
      clock,
      ids: { uuid: () => randomUUID() },
      service,
    });
    ledgers.set(service, made);
    return made;
  };
  const write = async (run: StreamRef, [service, events, options]: Step): Promise<void> => {
    const ledger = ledgerOf(service);
    const createKeys = events[0]?.type === 'session.created' ? { createKeys: ledger.keyring.create(`run-${run.id}`) } : {};
    await ledger.decide(runFold, run, () => ({ events, result: null, ...options, ...createKeys }));
  };
  return { ledgerOf, write };
}

export const newRun = (org = 'default'): StreamRef => runStream(randomUUID(), org);

/** Cuts a list at random places. */
export function inPages(events: readonly RecordedEvent[], cuts: readonly number[]): RecordedEvent[][] {
  const pages: RecordedEvent[][] = [];
  let at = 0;
  for (const cut of [...cuts, events.length]) {
    if (at >= events.length) break;
    pages.push(events.slice(at, at + Math.max(1, cut)));
    at += Math.max(1, cut);
  }
  return pages;
}
