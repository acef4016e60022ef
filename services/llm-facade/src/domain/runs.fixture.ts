import type { EventData, EventType, RecordedEvent } from '@fluidbox/contracts';
import { evolveRun, initialRun, type RunState } from '@fluidbox/run-stream';
import { createdRun } from '@fluidbox/testing';

const runId = '0198c0de-0000-7000-8000-000000000001';
export const now = Date.parse('2026-11-29T20:00:00.000Z');
const digest = `sha256:${'0a'.repeat(32)}`;

export type Given = { [T in EventType]: readonly [T, EventData<T>] }[EventType];

export const created = (budgets: Partial<EventData<'session.created'>['budgets']> = {}): Given => [
  'session.created',
  createdRun(runId, {
    harness: 'claude-agent-sdk',
    model: 'claude-haiku-4-5',
    invoked_by: 'admin',
    budgets: { max_wall_clock_secs: 1_800, max_tokens: 100_000, max_cost_micro_usd: 1_000_000, max_tool_calls: 100, ...budgets },
  }),
];
export const lease: Given = ['lease.granted', { generation: 1, valid_until: '2026-11-29T20:15:00.000Z' }];
export const running: Given = [
  'session.status_changed',
  { from: 'initializing', to: 'running', reason: 'sandbox_started', deadline_at: '2026-11-29T20:30:00.000Z' },
];
export const reservedFor = (id: string, tokens: number, cost: number | null = 0): Given => [
  'budget.reserved',
  { reservation_id: id, tokens, cost_micro_usd: cost, expires_at: '2026-11-29T20:30:00.000Z' },
];
export const settledFor = (id: string, tokens: number, cost: number | null = 0): Given => [
  'budget.settled',
  { reservation_id: id, tokens, cost_micro_usd: cost, basis: 'usage' },
];
export const emitted = (id: string, tool = 'Bash', fields?: Record<string, string>): Given => [
  'model.tool_call',
  { tool_call_id: id, tool, input_digest: digest, reservation_id: runId, ...(fields === undefined ? {} : { input_fields: fields }) },
];
export const requested = (id: string, tool = 'Bash', fields?: Record<string, string>): Given => [
  'tool.requested',
  { tool_call_id: id, tool, input_digest: digest, generation: 1, ...(fields === undefined ? {} : { input_fields: fields }) },
];
export const decided = (id: string, verdict: 'allow' | 'deny' = 'allow'): Given => [
  'tool.decision',
  { tool_call_id: id, tool: 'Bash', verdict, source: 'policy', input_digest: digest, code: 'rule' },
];

const eventsOf = (given: readonly Given[]): RecordedEvent[] =>
  given.map(([type, data], i) => ({
    seq: i + 1,
    globalPosition: i + 1,
    eventId: `0198c0de-0000-7000-8000-${String(i + 1).padStart(12, '0')}`,
    org: 'default',
    stream: `run-${runId}`,
    type,
    version: 1,
    actor: 'service:test',
    occurredAt: '2026-11-29T20:00:00.000Z',
    data,
  }));
export const fold = (...given: readonly Given[]): RunState => eventsOf(given).reduce(evolveRun, initialRun());
export const live = (budgets: Parameters<typeof created>[0] = {}, ...more: readonly Given[]): RunState =>
  fold(created(budgets), lease, running, ...more);

/** The same events as the ledger would store them. */
export const recorded = (drafts: readonly { type: EventType; data: unknown }[]): readonly Given[] =>
  drafts.map(({ type, data }) => [type, data] as unknown as Given);
