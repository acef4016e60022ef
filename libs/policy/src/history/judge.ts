import type { ConditionHistory, HistoryCondition, HistoryKind, PolicyHistory } from '@fluidbox/contracts';
import type { PartVerdict } from '../shell/judge';
import type { CompiledCondition } from './condition';

/** What the run has done so far, and the time of this decision in milliseconds since 1970. */
export interface HistoryContext {
  readonly history: PolicyHistory;
  readonly now: number;
}
/** The first call of a run. */
export const noHistory: HistoryContext = { history: {}, now: 0 };

export interface HistoryFinding {
  readonly condition: HistoryCondition;
  readonly kind: HistoryKind;
  readonly met: boolean;
  /** For people. */
  readonly text: string;
}

const nothingYet: ConditionHistory = { allowed: [], total: 0, pending: 0 };

/**
 * A condition that is not met denies: a person who approved the call would approve past it, and the agent can do something about it
 * (run the tests, wait). Without any context nobody knows what the run did, and nothing is met.
 */
export function judgeHistory(conditions: readonly CompiledCondition[], context: HistoryContext | null): HistoryFinding[] {
  return conditions.map((condition) => {
    const { name, kind } = condition;
    if (context === null) return { condition: name, kind, met: false, text: 'what the run did before is not known here' };
    return { condition: name, kind, ...judge(condition, context.history[name] ?? nothingYet, context.now) };
  });
}

type Judged = Pick<HistoryFinding, 'met' | 'text'>;

function judge(condition: CompiledCondition, seen: ConditionHistory, now: number): Judged {
  switch (condition.kind) {
    case 'requires': {
      const { call, ok, withinMs } = condition;
      const met = seen.allowed.some((entry) => (ok === null || entry.ok === ok) && (withinMs === null || entry.at >= now - withinMs));
      const wanted = `${call.text} before it${ok === null ? '' : `, reported by the runner as ${ok ? 'successful' : 'failed'}`}${withinMs === null ? '' : `, at most ${withinMs / 1000} s ago`}`;
      return { met, text: met ? `there was ${wanted}` : `it needs ${wanted}` };
    }
    case 'forbid_after': {
      const { text } = condition.call;
      if (seen.total > 0) return { met: false, text: `it is not allowed after ${text}, which may have run` };
      // It could run before this call does.
      if (seen.pending > 0) return { met: false, text: `it is not allowed after ${text}, which waits for approval` };
      return { met: true, text: `${text} has not run` };
    }
    case 'rate': {
      const { max, perMs } = condition;
      const recent = seen.allowed.filter((entry) => entry.at > now - perMs).length + seen.pending;
      return { met: recent < max, text: `${used(recent, max, seen.pending)} in ${perMs / 1000} s` };
    }
    case 'count': {
      const taken = seen.total + seen.pending;
      return { met: taken < condition.max, text: `${used(taken, condition.max, seen.pending)} in this run` };
    }
  }
}

const used = (taken: number, max: number, pending: number): string =>
  `${taken} of ${max} calls of this rule ${pending > 0 ? `(${pending} waiting for approval) ` : ''}are taken`;

export const historyParts = (tool: string, findings: readonly HistoryFinding[]): PartVerdict[] =>
  findings
    .filter((finding) => !finding.met)
    .map(({ kind, text }) => ({ command: tool, verdict: 'deny', rule: `history.${kind}`, reason: text, node: null }));
