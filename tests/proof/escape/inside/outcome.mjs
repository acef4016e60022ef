// What an attempt may come to. `works` and `broken` are for what must be possible: a sandbox in which nothing works proves nothing.

export const blocked = (detail) => ({ result: 'blocked', detail: String(detail) });
export const through = (detail) => ({ result: 'through', detail: String(detail) });
/** Something about the host can be read that opens nothing: known, said, and not closed. */
export const disclosed = (detail) => ({ result: 'disclosed', detail: String(detail) });
export const notTried = (detail) => ({ result: 'not tried', detail: String(detail) });
export const works = (detail) => ({ result: 'works', detail: String(detail) });
export const broken = (detail) => ({ result: 'broken', detail: String(detail) });

export const codeOf = (error) => (error instanceof Error && 'code' in error ? String(error.code) : String(error));

/** What the system says when it refuses or does not have what was asked for. Anything else is a fault of the attempt itself. */
const refusal = /^E(?!RR_)[A-Z_0-9]+$/;

/** One row of the table. `run` answers an outcome; what it throws is what stopped it. */
export const attempt = (group, name, closedBy, run) => ({ group, name, closedBy, run });

export async function outcomeOf({ run }) {
  try {
    return await run();
  } catch (error) {
    return refusal.test(codeOf(error)) ? blocked(codeOf(error)) : broken(error.stack ?? error);
  }
}
