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
  closed_pipe: 141,
} as const;

/** What the README and the help say of each. */
const meanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  ok: 'completed',
  run_failed: 'failed, or findings',
  usage: 'usage',
  auth: 'not permitted',
  not_found: 'not found',
  refused: 'refused',
  budget_exceeded: 'budget exceeded',
  timeout: 'out of time',
  cancelled: 'cancelled',
  unavailable: 'nothing answers',
  interrupted: 'interrupted',
  closed_pipe: 'nobody reads',
};

export const exitCodeLines = (): string[] =>
  Object.entries(meanings).map(([name, meaning]) => `${exitCodes[name as keyof typeof exitCodes]} ${meaning}`);

/** Of a run: its time is a budget like the others, but the one that a script may want to raise and try again. */
export function exitCodeOfOutcome(outcome: string | null, reason: string | null): number {
  switch (outcome) {
    case 'completed':
      return exitCodes.ok;
    case 'budget_exceeded':
      return reason === 'wall_clock' ? exitCodes.timeout : exitCodes.budget_exceeded;
    case 'cancelled':
      return exitCodes.cancelled;
    default:
      return exitCodes.run_failed;
  }
}

/** Of a request that the server refused. */
export function exitCodeOfStatus(status: number): number {
  if (status === 401 || status === 403) return exitCodes.auth;
  if (status === 404) return exitCodes.not_found;
  if (status === 409) return exitCodes.refused;
  return status >= 500 ? exitCodes.unavailable : exitCodes.usage;
}
