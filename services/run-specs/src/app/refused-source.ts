import { Problem } from '@fluidbox/contracts';

/** A document that is not one, with the place of each thing that is wrong. */
export function refusedSource(details: readonly string[]): Problem {
  const errors = details.slice(0, 16).map((detail) => ({ pointer: '/source', detail }));
  return new Problem('unprocessable', `/source: ${details[0] ?? 'does not parse'}`, { errors });
}
