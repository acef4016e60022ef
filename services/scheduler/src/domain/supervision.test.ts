import { leaseDeadMs, reasonToEnd } from './supervision';

const validUntil = '2026-01-01T00:00:00.000Z';
const lease = { generation: 2, valid_until: validUntil, stop: false };
const at = (ms: number): number => Date.parse(validUntil) + ms;

describe('reasonToEnd', () => {
  it('lets a sandbox live through a lease that is over but not yet dead', () => {
    expect(reasonToEnd(lease, 2, at(leaseDeadMs))).toBeNull();
  });
  it('ends it when the lease has been dead for ten minutes', () => {
    expect(reasonToEnd(lease, 2, at(leaseDeadMs + 1))).toBe('lease_dead');
  });
  it('ends it when told to stop', () => {
    expect(reasonToEnd({ ...lease, stop: true }, 2, at(-1000))).toBe('stopped');
  });
  it('ends an older generation', () => {
    expect(reasonToEnd(lease, 1, at(-1000))).toBe('stopped');
  });
  it('does nothing while the file cannot be read', () => {
    expect(reasonToEnd(null, 1, at(leaseDeadMs * 2))).toBeNull();
  });
});
