import { type ArtifactView, type RecordedEvent, timelineEvent } from '@fluidbox/contracts';

export interface ArtifactRow extends ArtifactView {
  readonly runId: string;
  readonly org: string;
  readonly invokedBy: string;
}
export function artifactRow(recorded: RecordedEvent, run: { readonly runId: string; readonly invokedBy: string }): ArtifactRow | null {
  const event = timelineEvent(recorded);
  if (event?.type !== 'artifact.collected') return null;
  const { artifact_id: id, kind, name, content_type, bytes, sha256, truncated } = event.data;
  return { id, ...run, org: event.org, kind, name, content_type, bytes, sha256, truncated, created_at: event.occurredAt };
}

/** What one page of events adds to the costs of an agent, a model and a day. */
export interface CostDelta {
  readonly org: string;
  readonly agent: string;
  readonly model: string;
  readonly day: string;
  modelRequests: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  costMicroUsd: number;
}

/** Sums, so that a page costs one row per agent, model and day, in an order that two writers share. */
export function costDeltas(responses: readonly { readonly event: RecordedEvent; readonly agent: string }[]): CostDelta[] {
  const deltas = new Map<string, CostDelta>();
  for (const { event: recorded, agent } of responses) {
    const event = timelineEvent(recorded);
    if (event?.type !== 'model.response') continue;
    const day = event.occurredAt.slice(0, 10);
    const key = JSON.stringify([event.org, agent, event.data.model, day]);
    const delta = deltas.get(key) ?? { org: event.org, agent, model: event.data.model, day, ...nothing };
    delta.modelRequests += 1;
    delta.inputTokens += event.data.input_tokens;
    delta.outputTokens += event.data.output_tokens;
    delta.cacheReadTokens += event.data.cache_read_tokens;
    delta.cacheWriteTokens += event.data.cache_write_tokens;
    delta.costMicroUsd += event.data.cost_micro_usd ?? 0;
    deltas.set(key, delta);
  }
  return [...deltas].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, delta]) => delta);
}
const nothing = { modelRequests: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costMicroUsd: 0 };

/** What one page of events adds to the decisions of the gate. `ask`: a call that waits for a person; what came of it counts as well. */
export interface GateDelta {
  readonly org: string;
  readonly day: string;
  readonly agent: string;
  readonly policy: string;
  readonly policyVersion: number;
  readonly tool: string;
  readonly verdict: 'allow' | 'deny' | 'ask';
  readonly source: string;
  /** The rule's place in its document, with its part where it has some; empty when no rule decided. */
  readonly rule: string;
  calls: number;
}

export function gateDeltas(
  events: readonly {
    readonly event: RecordedEvent;
    readonly run: { readonly agent: string; readonly policy: string; readonly policyVersion: number };
  }[],
): GateDelta[] {
  const deltas = new Map<string, GateDelta>();
  for (const { event: recorded, run } of events) {
    const event = timelineEvent(recorded);
    if (event?.type !== 'tool.decision' && event?.type !== 'approval.requested') continue;
    const { tool, rule } = event.data;
    const [verdict, source] =
      event.type === 'approval.requested' ? (['ask', 'policy'] as const) : ([event.data.verdict, event.data.source] as const);
    const ruleName = rule === undefined ? '' : `${rule.index}${rule.part === undefined ? '' : `.${rule.part}`}`;
    const delta = { org: event.org, day: event.occurredAt.slice(0, 10), ...run, tool, verdict, source, rule: ruleName };
    const key = JSON.stringify(Object.values(delta));
    const known = deltas.get(key);
    if (known === undefined) deltas.set(key, { ...delta, calls: 1 });
    else known.calls += 1;
  }
  return [...deltas].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, delta]) => delta);
}
