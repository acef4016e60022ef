import type { EventDraft, RecordedEvent } from '@fluidbox/contracts';
import { evolveRun } from './evolve';
import { initialRun, type ReservationState, type RunState } from './state';

/** An account that several runs spend money from, and what a group of events does to it. The store changes all of a group's accounts or none. */
export interface AccountKey {
  readonly scope: string;
  readonly period: string;
}
export interface AccountDelta extends AccountKey {
  readonly reserve: number;
  readonly settle: number;
}

/** The period that holds the limit which every new month takes; nothing is charged to it. */
export const everyMonth = 'month';
export const orgAccount = (org: string): string => `org:${org}`;
export const agentAccount = (org: string, agent: string): string => `agent:${org}:${agent}`;

/** Where a run's money comes from in a month: its organisation and its agent, altogether and in that month. */
export const accountsOf = (run: Pick<RunState, 'agent'>, org: string, month: string): readonly AccountKey[] =>
  [orgAccount(org), agentAccount(org, run.agent)].flatMap((scope) => ['total', month].map((period) => ({ scope, period })));

/**
 * What the events of a group do to the accounts, from the state before it. A reservation is held and charged in the month it was made, whenever it is
 * settled; one without a month is older than the accounts. Facade and `runs` append with this, and a rebuild is the same function over the stream.
 */
export function accountChanges(run: RunState, org: string, events: readonly Pick<EventDraft, 'type' | 'data'>[]): readonly AccountDelta[] {
  return events.flatMap((event) => {
    const { reserve, settle, month } = changeOf(run.reservations, event as EventDraft);
    if (month === null || (reserve === 0 && settle === 0)) return [];
    return accountsOf(run, org, month).map((account) => ({ ...account, reserve, settle }));
  });
}

const nothing = { reserve: 0, settle: 0, month: null };

function changeOf(
  reservations: ReadonlyMap<string, ReservationState>,
  event: EventDraft,
): { reserve: number; settle: number; month: string | null } {
  switch (event.type) {
    case 'budget.reserved':
      return { reserve: event.data.cost_micro_usd ?? 0, settle: 0, month: event.data.month ?? null };
    case 'budget.settled':
    case 'budget.released': {
      const held = reservations.get(event.data.reservation_id);
      if (held === undefined) return nothing;
      const settle = event.type === 'budget.settled' ? (event.data.cost_micro_usd ?? 0) : 0;
      return { reserve: 0 - held.costMicroUsd, settle, month: held.month };
    }
    default:
      return nothing;
  }
}

export interface AccountTotal extends AccountKey {
  reserved: number;
  spent: number;
}
/** The accounts as the streams alone say they are. */
export function accountTotals(streams: Iterable<{ readonly org: string; readonly events: readonly RecordedEvent[] }>): AccountTotal[] {
  const totals = new Map<string, AccountTotal>();
  for (const { org, events } of streams) {
    let run = initialRun();
    for (const event of events) {
      for (const { scope, period, reserve, settle } of accountChanges(run, org, [event as unknown as EventDraft])) {
        const total = totals.get(`${scope} ${period}`) ?? { scope, period, reserved: 0, spent: 0 };
        total.reserved += reserve;
        total.spent += settle;
        totals.set(`${scope} ${period}`, total);
      }
      run = evolveRun(run, event);
    }
  }
  return [...totals.values()].sort((a, b) => (`${a.scope} ${a.period}` < `${b.scope} ${b.period}` ? -1 : 1));
}
