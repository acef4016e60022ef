/** How asking one upstream ended. `lost`: its connection broke, or its answer is of no use, when nobody knows whether it had begun to work. */
export type AttemptEnd =
  | { readonly kind: 'not_sent' }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'answered'; readonly status: number };

/**
 * What follows. `next`: the upstream after it is asked, and this one can have charged nothing. `next_charged`: the same, but it had the request and may
 * charge it in full. `done`: the runner gets what there is.
 */
export type Verdict = 'done' | 'next' | 'next_charged';

/** The upstream is in trouble, not the request. A 429 is none: the runner waits as it is told, because another key is no way around a limit. */
const troubled: ReadonlySet<number> = new Set([500, 502, 503, 504, 529]);

export function verdictOn(end: AttemptEnd): Verdict {
  switch (end.kind) {
    case 'not_sent':
      return 'next';
    case 'timeout':
      return 'next_charged';
    case 'lost':
      return 'done';
    case 'answered':
      return troubled.has(end.status) ? 'next' : 'done';
  }
}

/** How long an upstream may take to begin, while another one stands behind it; and all of them together. */
export interface FailoverTimes {
  /** A stream begins with the work. */
  readonly streamMs: number;
  /** An answer in one piece begins when it is written. */
  readonly wholeMs: number;
  readonly totalMs: number;
}
export const failoverTimes: FailoverTimes = { streamMs: 120_000, wholeMs: 600_000, totalMs: 900_000 };
