import type { PolicyVerdict } from './evaluate';

/** A verdict for a run that nobody watches. `originalVerdict` is set when it was rewritten; both are recorded. */
export interface AutonomyVerdict {
  readonly verdict: PolicyVerdict['verdict'];
  readonly originalVerdict: 'ask' | null;
  readonly reason: string;
}

/** Nobody can answer an ask of an autonomous run, so the rule's `on_autonomous`, else the policy's fallback, takes its place. */
export function rewriteForAutonomy(verdict: PolicyVerdict, autonomy: 'supervised' | 'autonomous'): AutonomyVerdict {
  if (autonomy === 'supervised' || verdict.verdict !== 'ask')
    return { verdict: verdict.verdict, originalVerdict: null, reason: verdict.reason };
  return {
    verdict: verdict.onAutonomous,
    originalVerdict: 'ask',
    reason:
      verdict.onAutonomous === 'deny'
        ? `approval is required and nobody is there to give it: ${verdict.reason}`
        : `approval would be required, the policy allows it in autonomous runs: ${verdict.reason}`,
  };
}
