import { fakeClock } from '@fluidbox/testing';
import { z } from 'zod';
import { uuidV7Ids } from './clock-and-ids';

describe('ids', () => {
  it('are UUIDs of version 7, different and ascending, also many in one millisecond and when the clock goes back', () => {
    const clock = fakeClock();
    const ids = uuidV7Ids(clock);
    const made = Array.from({ length: 10_000 }, (_, index) => {
      if (index === 5_000) clock.advance(1);
      if (index === 7_000) clock.advance(-50);
      return ids.uuid();
    });
    expect(made.every((id) => z.uuidv7().safeParse(id).success)).toBe(true);
    expect(new Set(made).size).toBe(made.length);
    expect([...made].sort()).toEqual(made);
  });

  it('begin with the time', () => {
    const id = uuidV7Ids(fakeClock('2026-01-01T00:00:00.000Z')).uuid();
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(Date.parse('2026-01-01T00:00:00.000Z'));
  });
});
