import type { Reply } from './transport';

/**
 * What one attempt means. `fatal` is the one answer that must never be read as a generic denial: a runner that keeps
 * looping on it spends model money without control.
 */
export type Attempt = { readonly kind: 'answered'; readonly reply: Reply } | { readonly kind: 'failed'; readonly reason: string };
export type Judgement = 'final' | 'retry' | 'wrong_audience';

const transientStatuses = new Set([408, 425, 429]);

function isWrongAudience({ status, body }: Reply): boolean {
  return (status === 401 || status === 403) && body.includes('wrong_audience');
}

export function judge(attempt: Attempt): Judgement {
  if (attempt.kind === 'failed') return 'retry';
  if (isWrongAudience(attempt.reply)) return 'wrong_audience';
  const { status } = attempt.reply;
  return status >= 500 || transientStatuses.has(status) ? 'retry' : 'final';
}

/** Pause after the n-th failed attempt (from 1): linear, so that a short restart costs little. */
export const callBackoffMs = (failures: number): number => Math.min(2_000 * failures, 8_000);

/** A permission call is retried for ever; the first retries are quick because a listener restarts in about a second. */
export const permissionBackoffMs = (failures: number): number => Math.min(250 * 2 ** Math.min(failures - 1, 6), 10_000);
