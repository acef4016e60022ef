import { setTimeout as delay } from 'node:timers/promises';
import { failureOf, unavailable } from './errors';

const delayMsMax = 1_000;

/** Repeats work that may be repeated while the database does not answer: a restart costs callers time, not an error. After the bound, `unavailable`; a full disk is that at once. */
export async function untilAnswered<T>(doing: string, boundMs: number, work: () => Promise<T>): Promise<T> {
  const until = performance.now() + boundMs;
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const failure = failureOf(error);
      if (failure === 'refused') throw unavailable(doing, error);
      if (failure !== 'retry') throw error;
      if (performance.now() > until) throw unavailable(doing, error);
      await delay(Math.min(delayMsMax, 10 * 2 ** tries));
    }
  }
}
