/** Limits of a run's life; times in milliseconds. */
export const limits = {
  /** From `created` to `running`; counted from creation, so nothing can refresh it. */
  launchStalledMs: 30 * 60_000,
  /** A runner that winds down gets this long before its sandbox is ended. */
  quiesceMs: 30_000,
  /** Wait in `finalizing` for open reservations and pending approvals. */
  settleWaitMs: 30_000,
  /** A lease that lost no more than this since it was granted is as good as new. */
  leaseSlackMs: 60_000,
  /** What a runner may report. An honest one stays far below; a hostile one must not fill the ledger, which is kept for ever. */
  reportedEventsMax: 20_000,
  reportedCharsMax: 32 * 1024 * 1024,
  /** How often a run that waits for another service is looked at again without being woken. */
  lookAgainMs: 60_000,
} as const;
