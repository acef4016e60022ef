import { periodOf, summaryOf } from './reports';

describe('the period of a report', () => {
  const now = new Date('2026-03-01T00:30:00.000Z');

  it('is the last thirty days, or what was asked for', () => {
    expect(periodOf({}, now)).toEqual({ from: '2026-01-31', to: '2026-03-01' });
    expect(periodOf({ to: '2026-02-10' }, now)).toEqual({ from: '2026-01-12', to: '2026-02-10' });
    expect(periodOf({ from: '2026-03-01' }, now)).toEqual({ from: '2026-03-01', to: '2026-03-01' });
  });

  it('is neither upside down nor without end', () => {
    expect(() => periodOf({ from: '2026-03-02' }, now)).toThrow('from: is after to');
    expect(() => periodOf({ from: '2025-02-28' }, now)).toThrow('at most 366 days');
    expect(periodOf({ from: '2025-03-01' }, now)).toEqual({ from: '2025-03-01', to: '2026-03-01' });
  });

  it('says when there is more than it holds', () => {
    const groups = Array.from({ length: 1_001 }, (_, i) => i);
    expect(summaryOf('agent', periodOf({}, now), groups)).toMatchObject({ truncated: true, data: groups.slice(0, 1_000) });
    expect(summaryOf('agent', periodOf({}, now), [1])).toMatchObject({ truncated: false, data: [1] });
  });
});
