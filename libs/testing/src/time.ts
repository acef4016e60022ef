import { setTimeout as delay } from 'node:timers/promises';

export interface FakeClock {
  now(): Date;
  /** Moves the time on; returns the new time. */
  advance(ms: number): Date;
  set(time: Date | string): void;
}

/** A clock that stands still until a test moves it. */
export function fakeClock(start: Date | string = '2026-01-01T00:00:00.000Z'): FakeClock {
  let now = new Date(start).getTime();
  return {
    now: () => new Date(now),
    advance: (ms) => {
      now += ms;
      return new Date(now);
    },
    set: (time) => {
      now = new Date(time).getTime();
    },
  };
}

/** Ids that are valid UUIDs (version 7), ascending and the same in every run: `00000000-0000-7000-8000-000000000001`, … */
export function sequentialIds(start = 1): { uuid(): string } {
  let next = start;
  return { uuid: () => `00000000-0000-7000-8000-${(next++).toString(16).padStart(12, '0')}` };
}

/** Waits until the condition holds (truthy; a throw counts as "not yet") and returns its value. Fails with its last error after `timeoutMs`, which is there for what never comes. */
export async function until<T>(condition: () => T | Promise<T>, { timeoutMs = 60_000, everyMs = 10 } = {}): Promise<NonNullable<T>> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown = new Error('the condition stayed false');
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
      last = new Error(`the condition stayed ${String(value)}`);
    } catch (error) {
      last = error;
    }
    if (Date.now() >= deadline) throw new Error(`waited ${timeoutMs} ms in vain`, { cause: last });
    await delay(everyMs);
  }
}
