import type { Verdict } from '@fluidbox/contracts';

const force: Record<Verdict, number> = { allow: 0, ask: 1, deny: 2 };

export const strictest = (...verdicts: readonly Verdict[]): Verdict =>
  verdicts.reduce<Verdict>((worst, next) => (force[next] > force[worst] ? next : worst), 'allow');
