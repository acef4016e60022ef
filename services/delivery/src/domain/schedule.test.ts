import { attemptsMax, nextStep, type Outcome, parseRetryAfter } from './schedule';

const now = Date.parse('2026-01-01T00:00:00.000Z');
const after = (outcome: Outcome, tries = 1, more: { chance?: number; expiresAt?: number } = {}) =>
  nextStep(outcome, { tries, now, chance: more.chance ?? 0.5, expiresAt: more.expiresAt ?? null });
const answered = (status: number, retryAfterSecs: number | null = null): Outcome => ({ kind: 'answered', status, retryAfterSecs });
const silent: Outcome = { kind: 'failed', reason: 'timeout' };
const waitSecs = (step: ReturnType<typeof after>): number => (step.kind === 'retry' ? (step.at - now) / 1_000 : Number.NaN);

describe('what comes after an attempt', () => {
  it.each([200, 201, 204, 299])('%i is delivered', (status) => expect(after(answered(status))).toEqual({ kind: 'delivered' }));
  it.each([
    [100, 'refused_status'],
    [199, 'refused_status'],
    [300, 'redirect'],
    [301, 'redirect'],
    [308, 'redirect'],
    [400, 'refused_status'],
    [404, 'refused_status'],
    [409, 'refused_status'],
    [411, 'refused_status'],
    [500, 'refused_status'],
  ])('%i is tried again: %s', (status, reason) => expect(after(answered(status))).toMatchObject({ kind: 'retry', reason }));

  it('is nothing more for the whole webhook after 410, whichever attempt it was', () => {
    for (const tries of [1, attemptsMax]) expect(after(answered(410), tries)).toEqual({ kind: 'dead', reason: 'gone', disables: true });
  });

  it('[WEBHOOK-3] waits by the documented schedule and then is dead, with the reason of the last attempt', () => {
    const waits = Array.from({ length: attemptsMax - 1 }, (_, index) => waitSecs(after(silent, index + 1)));
    expect(waits).toEqual([5, 30, 120, 600, 1_800, 7_200, 18_000]);
    expect(after(silent, attemptsMax)).toEqual({ kind: 'dead', reason: 'timeout', disables: false });
    expect(after(answered(500), attemptsMax)).toMatchObject({ kind: 'dead', reason: 'refused_status' });
  });

  it('spreads by a fifth to both sides', () => {
    expect(waitSecs(after(silent, 2, { chance: 0 }))).toBe(24);
    expect(waitSecs(after(silent, 2, { chance: 0.999_999 }))).toBeCloseTo(36, 3);
  });

  it('waits as long as a 429 or 503 asks, up to an hour, and never shorter than the schedule', () => {
    expect(waitSecs(after(answered(429, 90)))).toBe(90);
    expect(waitSecs(after(answered(503, 90)))).toBe(90);
    expect(waitSecs(after(answered(503, 999_999)))).toBe(3_600);
    expect(waitSecs(after(answered(503, 1), 3))).toBe(120);
    // Of other answers it is no request to us.
    expect(waitSecs(after(answered(500, 90)))).toBe(5);
  });

  it('ends when the next attempt would tell of what is over', () => {
    expect(after(silent, 1, { expiresAt: now + 5_000 })).toEqual({ kind: 'dead', reason: 'expired', disables: false });
    expect(after(silent, 1, { expiresAt: now + 5_001 })).toMatchObject({ kind: 'retry' });
    expect(after(answered(200), 1, { expiresAt: now - 1 })).toEqual({ kind: 'delivered' });
  });
});

describe('Retry-After', () => {
  it.each([
    ['120', 120],
    ['0', 0],
    [' 7 ', 7],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60],
    ['Thu, 01 Jan 2025 00:01:00 GMT', 0],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['2027', 2_027],
    ['2027-01-01', null],
    ['', null],
    ['99999999999999999999', null],
  ])('%j is %j seconds', (text, secs) => expect(parseRetryAfter(text, now)).toBe(secs));
  it('may be missing', () => expect(parseRetryAfter(undefined, now)).toBeNull());
});
