import { Problem } from '@fluidbox/contracts';
import { isReservedName, mayCancelRun, mayGiveRole, maySeeRun } from './authority';
import { decodeCursor, encodeCursor } from './cursor';

const principal = (name: string, role: 'member' | 'approver' | 'admin') => ({ name, role, org: 'default' });
const run = { invokedBy: 'ann', org: 'default' };

describe('authority', () => {
  it('shows a run to its invoker and to approvers, to no other member and to no other organisation', () => {
    expect(maySeeRun(principal('ann', 'member'), run)).toBe(true);
    expect(maySeeRun(principal('bob', 'approver'), run)).toBe(true);
    expect(maySeeRun(principal('bob', 'member'), run)).toBe(false);
    expect(maySeeRun({ ...principal('ann', 'admin'), org: 'other' }, run)).toBe(false);
  });

  it('lets the invoker and an admin cancel, not an approver', () => {
    expect(mayCancelRun(principal('ann', 'member'), run)).toBe(true);
    expect(mayCancelRun(principal('root', 'admin'), run)).toBe(true);
    expect(mayCancelRun(principal('bob', 'approver'), run)).toBe(false);
  });

  it('keeps the names that stand for the bootstrap token and for nobody', () => {
    expect(['admin', 'Admin', 'timeout', 'run_ended', 'retention'].map(isReservedName)).toEqual(Array(5).fill(true));
    expect(['ann', 'admin2', 'time-out'].map(isReservedName)).toEqual([false, false, false]);
  });

  it('lets only an admin make tokens', () => {
    expect(mayGiveRole(principal('root', 'admin'), 'approver')).toBe(true);
    expect(mayGiveRole(principal('bob', 'approver'), 'member')).toBe(false);
  });
});

describe('cursor', () => {
  it('comes back as it went out', () => {
    const cursor = { createdAt: '2026-11-29T10:00:00.123Z', id: '0198c0de-0000-7000-8000-000000000001' };
    expect(decodeCursor(encodeCursor(cursor))).toEqual(cursor);
  });

  it('refuses what we never gave out', () => {
    expect(() => decodeCursor('garbage')).toThrow(Problem);
    expect(() => decodeCursor("2026-11-29T10:00:00.123Z~'; drop table")).toThrow(Problem);
  });
});
