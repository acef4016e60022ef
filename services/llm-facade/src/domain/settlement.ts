import type { EventDraft, ModelPrice } from '@fluidbox/contracts';
import type { RunState } from '@fluidbox/run-stream';
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
  readonly agentId: string | null;
  readonly durationMs: number;
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
  const fresh = outcome.calls.filter(
    (call, i) => !run.modelCalls.has(call.toolCallId) && outcome.calls.findIndex((other) => other.toolCallId === call.toolCallId) === i,
  );
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
        input_tokens: usage.inputTokens,
        output_tokens: usage.outputTokens,
        cache_read_tokens: usage.cacheReadTokens,
        cache_write_tokens: usage.cacheWriteTokens,
        cost_micro_usd: cost,
        estimated: outcome.basis === 'estimated',
        agent_id: outcome.agentId,
        duration_ms: outcome.durationMs,
      },
    },
    ...fresh.map(
      (call): EventDraft => ({
        type: 'model.tool_call',
        actor: 'model',
        data: { tool_call_id: call.toolCallId, tool: call.tool, input_digest: call.inputDigest, reservation_id: reservation.reservationId },
      }),
    ),
    ...outcome.gaps.map(gapEvent),
    ...(open ? budgetSigns(run, tokens, cost ?? 0) : []),
  ];
}

/** Nobody said what this request cost, so it cost what was reserved. */
export const settlePessimistically = (run: RunState, reservationId: string): readonly EventDraft[] => {
  const reservation = run.reservations.get(reservationId);
  if (reservation === undefined) return [];
  return [
    {
      type: 'budget.settled',
      actor,
      data: { reservation_id: reservationId, tokens: reservation.tokens, cost_micro_usd: reservation.costMicroUsd, basis: 'pessimistic' },
    },
    ...budgetSigns(run, reservation.tokens, reservation.costMicroUsd),
  ];
};

/** Nothing was spent: nothing was sent, or the provider refused it before it began. */
export const release = (run: RunState, reservationId: string, cause: 'not_sent' | 'refused_upstream'): readonly EventDraft[] =>
  run.reservations.has(reservationId) ? [{ type: 'budget.released', actor, data: { reservation_id: reservationId, cause } }] : [];

const warnAt = 0.8;

/** Said once each: a warning at 80 %, the end beyond 100 %. */
function budgetSigns(run: RunState, tokens: number, cost: number): readonly EventDraft[] {
  const signs: EventDraft[] = [];
  const look = (budget: 'tokens' | 'cost_micro_usd', limit: number | null, spent: number): void => {
    if (limit === null) return;
    if (spent > limit && !run.exceeded.has(budget)) signs.push(exceededEvent(budget, limit, spent));
    else if (spent >= limit * warnAt && spent <= limit && !run.warned.has(budget))
      signs.push({ type: 'budget.warned', actor, data: { budget, limit, spent } });
  };
  look('tokens', run.budgets.max_tokens, run.spent.tokens + tokens);
  look('cost_micro_usd', run.budgets.max_cost_micro_usd, run.spent.costMicroUsd + cost);
  return signs;
}
