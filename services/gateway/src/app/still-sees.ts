import { Problem } from '@fluidbox/contracts';
import { maySeeRun } from '../domain/authority';
import type { Authenticate } from './authenticate';

/**
 * Whether who opened a stream may still read it: the token is looked up again, at most once in `everyMs`. A revoked or expired token
 * ends it, and so does a lesser role.
 */
export function stillSees(
  deps: { authenticate: Authenticate; now: () => Date },
  opened: { authorization: string | undefined; run: { invokedBy: string; org: string } },
  everyMs: number,
): () => Promise<boolean> {
  let checkedAt = deps.now().getTime();
  return async () => {
    const now = deps.now().getTime();
    if (now - checkedAt < everyMs) return true;
    checkedAt = now;
    try {
      return maySeeRun(await deps.authenticate(opened.authorization), opened.run);
    } catch (error) {
      if (error instanceof Problem && error.code === 'unauthorized') return false;
      throw error;
    }
  };
}
