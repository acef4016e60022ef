import { budgetMonthOf, type EventDraft } from '@fluidbox/contracts';
import { type RunState, reserved, unspent } from '@fluidbox/run-stream';
import { refuseAccess } from './access';
import { accountExceeded, type LimitedAccount, roomIn } from './accounts';
import { actor } from './actor';
import type { Estimate } from './estimate';
import { idleGuard } from './idle-guard';
import { type Refusal, refusals } from './refusal';

/** A facade that dies leaves its reservation; after this time it is taken for spent. */
const reservationTtlMs = 30 * 60_000;

export interface AdmissionRequest {
  readonly reservationId: string;
  readonly generation: number;
  readonly estimate: Estimate;
  /** Answers without progress that the policy lets pass; null = any number. */
  readonly idleMax?: number | null;
  /** The accounts with a limit, where they have refused the request before; else they are not looked at. */
  readonly accounts?: readonly LimitedAccount[];
  readonly now: number;
}
export interface Reservation {
  readonly reservationId: string;
  readonly tokens: number;
  readonly costMicroUsd: number | null;
  /** Of the accounts that hold it. */
  readonly month: string;
}
export type Admission =
  | { readonly kind: 'admitted'; readonly reservation: Reservation }
  /** It would fit if the open requests turn out cheaper than reserved. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/**
 * Spend is reserved before it happens. The events and the admission are decided from one version of the stream, so two requests never
 * both take the last of a budget. A sole claimant with anything left is admitted with what is left: otherwise an estimate larger than the
 * rest would stop a run that might well have fitted. It may write what that pays for (`outputWithin`), so the overspend is bounded by one
 * small answer.
 */
export function admit(run: RunState, request: AdmissionRequest): { events: readonly EventDraft[]; result: Admission } {
  const refused = refuseAccess(run, request.generation, request.now);
  if (refused !== null) return { events: [], result: { kind: 'refused', refusal: refused } };
  const spentUp = exhausted(run);
  if (spentUp !== null) return { events: [spentUp], result: { kind: 'refused', refusal: refusals.budgetExhausted(spentUp.data.budget) } };

  const stuck = idleGuard(run, request.idleMax ?? null);
  if (stuck?.type === 'guard.tripped')
    return { events: [stuck], result: { kind: 'refused', refusal: refusals.guardTripped(stuck.data.count) } };

  const { estimate } = request;
  const room = roomIn(request.accounts ?? [], estimate.costMicroUsd ?? 0);
  if (room.kind === 'spent') {
    const { scope, period } = room.account;
    return { events: [accountExceeded(room.account)], result: { kind: 'refused', refusal: refusals.accountExhausted(scope, period) } };
  }
  if (room.kind === 'held') return { events: [], result: { kind: 'wait' } };
  const rest = unspent(run);
  const held = reserved(run);
  const fits = (want: number, left: number | null, taken: number): boolean => left === null || want <= left - taken;
  const sole = run.reservations.size === 0;
  if (
    !sole &&
    !(fits(estimate.tokens, rest.tokens, held.tokens) && fits(estimate.costMicroUsd ?? 0, rest.costMicroUsd, held.costMicroUsd))
  ) {
    return { events: [], result: { kind: 'wait' } };
  }
  const reservation: Reservation = {
    reservationId: request.reservationId,
    tokens: Math.min(estimate.tokens, rest.tokens ?? estimate.tokens),
    costMicroUsd:
      estimate.costMicroUsd === null ? null : Math.min(estimate.costMicroUsd, rest.costMicroUsd ?? estimate.costMicroUsd, room.upTo),
    month: budgetMonthOf(request.now),
  };
  return {
    events: [
      ...(stuck === null ? [] : [stuck]),
      {
        type: 'budget.reserved',
        actor,
        data: {
          reservation_id: reservation.reservationId,
          tokens: reservation.tokens,
          cost_micro_usd: reservation.costMicroUsd,
          expires_at: new Date(request.now + reservationTtlMs).toISOString(),
          month: reservation.month,
        },
      },
    ],
    result: { kind: 'admitted', reservation },
  };
}

type BudgetExceeded = Extract<EventDraft, { type: 'budget.exceeded' }>;

/** Reaching a limit exactly is within it; asking for more then is not. */
function exhausted(run: RunState): BudgetExceeded | null {
  const rest = unspent(run);
  if (rest.tokens === 0) return exceededEvent('tokens', run.budgets.max_tokens, run.spent.tokens);
  if (rest.costMicroUsd === 0) return exceededEvent('cost_micro_usd', run.budgets.max_cost_micro_usd, run.spent.costMicroUsd);
  return null;
}

export const exceededEvent = (budget: 'tokens' | 'cost_micro_usd', limit: number | null, spent: number): BudgetExceeded => ({
  type: 'budget.exceeded',
  actor,
  data: { budget, limit: limit ?? 0, spent },
});
