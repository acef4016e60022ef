import type { DeliveryReason } from '@fluidbox/contracts';

/**
 * How long after attempt n the next one comes: 5 s, 30 s, 2 min, 10 min, 30 min, 2 h, 5 h, each a fifth more or less by chance, so that receivers that failed
 * together are not asked together again. Eight attempts over about eight hours, then a person decides.
 */
const waitsSecs = [5, 30, 120, 600, 1_800, 7_200, 18_000] as const;
export const attemptsMax = waitsSecs.length + 1;
/** The most that a receiver may ask us to wait. */
const retryAfterSecsMax = 3_600;
const jitter = 0.2;

/** What an attempt came to. */
export type Outcome =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterSecs: number | null }
  | { readonly kind: 'failed'; readonly reason: DeliveryReason };

export type Step =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly at: number; readonly reason: DeliveryReason }
  | { readonly kind: 'dead'; readonly reason: DeliveryReason; readonly disables: boolean };

export interface AttemptContext {
  /** Attempts of this schedule, the one that just ended included. */
  readonly tries: number;
  readonly now: number;
  /** From 0 to below 1. */
  readonly chance: number;
  /** After it the message tells of what is over; null: never. */
  readonly expiresAt: number | null;
}

export const isYes = (outcome: Outcome): boolean => outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300;

/** What comes after an attempt. Only 2xx is yes; 410 is no for ever; everything else may be mended on the other side. */
export function nextStep(outcome: Outcome, { tries, now, chance, expiresAt }: AttemptContext): Step {
  if (isYes(outcome)) return { kind: 'delivered' };
  if (outcome.kind === 'answered' && outcome.status === 410) return { kind: 'dead', reason: 'gone', disables: true };
  const reason = reasonOf(outcome);
  const wait = waitsSecs[tries - 1];
  if (wait === undefined) return { kind: 'dead', reason, disables: false };
  const backOff = wait * (1 - jitter + 2 * jitter * chance);
  const at = now + Math.round(1_000 * Math.max(backOff, askedToWait(outcome)));
  return expiresAt !== null && at >= expiresAt ? { kind: 'dead', reason: 'expired', disables: false } : { kind: 'retry', at, reason };
}

const reasonOf = (outcome: Outcome): DeliveryReason => {
  if (outcome.kind === 'failed') return outcome.reason;
  return outcome.status >= 300 && outcome.status < 400 ? 'redirect' : 'refused_status';
};

const askedToWait = (outcome: Outcome): number =>
  outcome.kind === 'answered' && (outcome.status === 429 || outcome.status === 503)
    ? Math.min(outcome.retryAfterSecs ?? 0, retryAfterSecsMax)
    : 0;

/** Seconds of a `Retry-After`: a number, or a date seen from `now`. What is neither says nothing. */
export function parseRetryAfter(text: string | undefined, now: number): number | null {
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text);
  // Only the date of HTTP: the parser takes nearly anything for a year.
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text.trim()) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, Math.ceil((date - now) / 1_000));
}
