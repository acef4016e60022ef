/** When to ask the gate again about a call that waits for a person, if nothing wakes us: at its expiry, then ever more rarely. */
const afterExpiryMs = [50, 1_000, 2_000, 5_000, 10_000] as const;
const afterExpiryMsMax = 30_000;
/** Longer timers overflow to zero. */
const timerMsMax = 2 ** 31 - 1;

/** `askedAfterExpiry`: how often it was asked since then. The owner of approvals settles the call; we only find out. */
export function nextQuestionMs(expiresAt: number, now: number, askedAfterExpiry: number): number {
  const wait = Math.max(0, expiresAt - now) + (afterExpiryMs[askedAfterExpiry] ?? afterExpiryMsMax);
  return Math.min(wait, timerMsMax);
}
