import { budgetWarnAt, type EventDraft, type FailedUpstream, type ModelPrice } from '@fluidbox/contracts';
import { callKey, type FieldDigests, type RunState } from '@fluidbox/run-stream';
import { accountWarnings, type LimitedAccount } from './accounts';
import { actor } from './actor';
import { exceededEvent, type Reservation } from './admission';
import type { Gap } from './coverage';
import { gapEvent } from './coverage';
import { costMicroUsd, totalTokens, type Usage } from './usage';

/** A tool call the model emitted, with the digest of its arguments. */
export interface EmittedCall {
  readonly toolCallId: string;
  readonly tool: string;
  readonly inputDigest: string;
  /** Of the fields that must reach the gate as they are. */
  readonly inputFields?: FieldDigests | undefined;
  /** The same as the harness may tidy them. */
  readonly inputVariants?: Readonly<Record<string, string[]>> | undefined;
}

/** What one request came to. */
export interface Outcome {
  readonly reservation: Reservation;
  readonly model: string;
  readonly price: ModelPrice | null;
  readonly status: number;
  readonly stopReason: string | null;
  readonly usage: Usage;
  /** `usage`: the provider said so. `estimated`: the answer was cut; what was seen was counted. */
  readonly basis: 'usage' | 'estimated';
  readonly calls: readonly EmittedCall[];
  readonly gaps: readonly Gap[];
  /** The policy wants gaps recorded and nothing ended. */
  readonly reportOnly: boolean;
  /** Accounts with a limit, to warn of. */
  readonly accounts?: readonly LimitedAccount[];
  readonly agentId: string | null;
  readonly durationMs: number;
  /** Of the organisation's own upstreams the one that answered, and those asked in vain before. */
  readonly upstream?: string | null | undefined;
  readonly attempts?: readonly FailedUpstream[] | undefined;
}

/**
 * One group: the settled reservation, the response, its tool calls and what they mean for budgets. A reservation that was settled meanwhile
 * (it had expired) is not settled again; the response and its calls are facts all the same.
 */
export function settle(run: RunState, outcome: Outcome): readonly EventDraft[] {
  const { reservation, usage } = outcome;
  const tokens = totalTokens(usage);
  const cost = outcome.price === null ? null : costMicroUsd(outcome.price, usage);
  const open = run.reservations.has(reservation.reservationId);
  const { fresh, doubled } = newCalls(run, outcome.calls);
  return [
    ...(open
      ? [
          {
            type: 'budget.settled' as const,
            actor,
            data: { reservation_id: reservation.reservationId, tokens, cost_micro_usd: cost, basis: outcome.basis },
          },
        ]
      : []),
    {
      type: 'model.response',
      actor,
      data: {
        reservation_id: reservation.reservationId,
        model: outcome.model,
        status: outcome.status,
        stop_reason: outcome.stopReason,
        tool_calls: outcome.calls.length,
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        cache_read_tokens: usage.cacheReadTokens,
        cache_write_tokens: usage.cacheWriteTokens,
        ...(usage.cacheWrite1hTokens > 0 ? { cache_write_1h_tokens: usage.cacheWrite1hTokens } : {}),
        ...(usage.reasoningTokens > 0 ? { reasoning_tokens: usage.reasoningTokens } : {}),
        cost_micro_usd: cost,
        estimated: outcome.basis === 'estimated',
        agent_id: outcome.agentId,
        duration_ms: outcome.durationMs,
        ...(typeof outcome.upstream === 'string' ? { upstream: outcome.upstream } : {}),
        ...(outcome.attempts === undefined || outcome.attempts.length === 0 ? {} : { attempts: [...outcome.attempts] }),
      },
    },
    ...fresh.map(
      (call): EventDraft => ({
        type: 'model.tool_call',
        actor: 'model',
        data: {
          tool_call_id: call.toolCallId,
          tool: call.tool,
          input_digest: call.inputDigest,
          ...(call.inputFields === undefined ? {} : { input_fields: call.inputFields }),
          ...(call.inputVariants === undefined ? {} : { input_variants: call.inputVariants }),
          reservation_id: reservation.reservationId,
        },
      }),
    ),
    ...doubled.map(({ toolCallId, tool }) => gapEvent({ toolCallId, tool, class: 'uncovered', reportOnly: outcome.reportOnly })),
    ...outcome.gaps.map(gapEvent),
    ...(open ? [...budgetSigns(run, tokens, cost ?? 0), ...accountWarnings(run, outcome.accounts ?? [], cost ?? 0)] : []),
  ];
}

/**
 * The calls that the ledger does not know yet. A provider that repeats a call under its id says nothing new; another call under a known id is a call of
 * its own that no decision can be told to cover, because decisions and results go by the id.
 */
function newCalls(run: RunState, calls: readonly EmittedCall[]): { fresh: readonly EmittedCall[]; doubled: readonly EmittedCall[] } {
  const known = new Map<string, Pick<EmittedCall, 'tool' | 'inputDigest'>>(run.modelCalls);
  const fresh: EmittedCall[] = [];
  const doubled: EmittedCall[] = [];
  for (const call of calls) {
    const first = known.get(call.toolCallId);
    const key = `${call.toolCallId} ${callKey(call.tool, call.inputDigest)}`;
    if ((first?.tool === call.tool && first.inputDigest === call.inputDigest) || known.has(key)) continue;
    fresh.push(call);
    known.set(first === undefined ? call.toolCallId : key, call);
    if (first !== undefined) doubled.push(call);
  }
  return { fresh, doubled };
}

/** Nobody said what this request cost, so it cost what was reserved. `lost`: nobody saw its answer either, though a runner may have. */
export const settlePessimistically = (run: RunState, reservationId: string, { lost = false } = {}): readonly EventDraft[] => {
  const reservation = run.reservations.get(reservationId);
  if (reservation === undefined) return [];
  return [
    {
      type: 'budget.settled',
      actor,
      data: {
        reservation_id: reservationId,
        tokens: reservation.tokens,
        cost_micro_usd: reservation.costMicroUsd,
        basis: 'pessimistic',
        ...(lost ? { lost: true as const } : {}),
      },
    },
    ...budgetSigns(run, reservation.tokens, reservation.costMicroUsd),
  ];
};

/** Nothing was spent: nothing was sent, or the provider refused it before it began. */
export const release = (run: RunState, reservationId: string, cause: 'not_sent' | 'refused_upstream'): readonly EventDraft[] =>
  run.reservations.has(reservationId) ? [{ type: 'budget.released', actor, data: { reservation_id: reservationId, cause } }] : [];

/** Said once each: a warning at 80 %, the end beyond 100 %. */
function budgetSigns(run: RunState, tokens: number, cost: number): readonly EventDraft[] {
  const signs: EventDraft[] = [];
  const look = (budget: 'tokens' | 'cost_micro_usd', limit: number | null, spent: number): void => {
    if (limit === null) return;
    if (spent > limit && !run.exceeded.has(budget)) signs.push(exceededEvent(budget, limit, spent));
    else if (spent >= limit * budgetWarnAt && spent <= limit && !run.warned.has(budget))
      signs.push({ type: 'budget.warned', actor, data: { budget, limit, spent } });
  };
  look('tokens', run.budgets.max_tokens, run.spent.tokens + tokens);
  look('cost_micro_usd', run.budgets.max_cost_micro_usd, run.spent.costMicroUsd + cost);
  return signs;
}
