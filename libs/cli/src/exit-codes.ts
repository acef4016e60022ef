import { ApiError } from './api/client';

/** Exit codes of every command, by outcome. They are part of the interface: scripts branch on them. */
export const exitCodes = {
  ok: 0,
  run_failed: 1,
  usage: 2,
  auth: 3,
  not_found: 4,
  refused: 5,
  budget_exceeded: 6,
  timeout: 7,
  cancelled: 8,
  unavailable: 9,
  interrupted: 130,
} as const;

export function exitCodeOfOutcome(outcome: string | null): number {
  switch (outcome) {
    case 'completed':
      return exitCodes.ok;
    case 'budget_exceeded':
      return exitCodes.budget_exceeded;
    case 'cancelled':
      return exitCodes.cancelled;
    default:
      return exitCodes.run_failed;
  }
}

export function exitCodeOfError(error: unknown): number {
  if (!(error instanceof ApiError)) return error instanceof TypeError ? exitCodes.unavailable : exitCodes.run_failed;
  if (error.status === 401 || error.status === 403) return exitCodes.auth;
  if (error.status === 404) return exitCodes.not_found;
  if (error.status === 409) return exitCodes.refused;
  return error.status >= 500 ? exitCodes.unavailable : exitCodes.usage;
}
