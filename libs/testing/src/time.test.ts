import { fakeClock, sequentialIds, until } from './time';

describe('until', () => {
  it('answers the value once there is one, and takes a throw for "not yet"', async () => {
    let tries = 0;
    const value = await until(() => {
      tries += 1;
      if (tries === 1) throw new Error('not yet');
      return tries < 3 ? undefined : 'there';
    });
    expect([value, tries]).toEqual(['there', 3]);
  });
  it('fails with its last error', async () => {
    await expect(until(() => Promise.reject(new Error('why')), { timeoutMs: 30 })).rejects.toMatchObject({ cause: { message: 'why' } });
  });
});

describe('clock and ids', () => {
  it('stand still until they are moved', () => {
    const clock = fakeClock('2026-01-01T00:00:00.000Z');
    expect(clock.now()).toEqual(clock.now());
    expect(clock.advance(1_500).toISOString()).toBe('2026-01-01T00:00:01.500Z');
    const ids = sequentialIds();
    expect([ids.uuid(), ids.uuid()]).toEqual(['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002']);
  });
});
