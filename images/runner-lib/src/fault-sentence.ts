import { z } from 'zod';

/** A fault in words for people. The message of a schema error is its issues as JSON; here every issue is `path: what is wrong`. */
export function faultSentence(error: unknown): string {
  if (error instanceof z.ZodError) {
    const issues = error.issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));
    return `not as agreed: ${issues.join('; ')}`;
  }
  return error instanceof Error ? error.message : String(error);
}
