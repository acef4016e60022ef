import { Slots } from './slots';

describe('Slots', () => {
  it('gives at most its number and then serves in order', () => {
    const slots = new Slots(2);
    expect(['a', 'b', 'c', 'd'].map((run) => slots.take(run))).toEqual([true, true, false, false]);
    expect(slots.leave('a')).toBe('c');
    expect(slots.take('d')).toBe(false);
    expect(slots.take('c')).toBe(true);
    expect(slots.leave('b')).toBe('d');
  });
  it('lets the one who holds a slot ask again', () => {
    const slots = new Slots(1);
    expect([slots.take('a'), slots.take('a')]).toEqual([true, true]);
  });
  it('forgets one who leaves the queue', () => {
    const slots = new Slots(1);
    slots.take('a');
    slots.take('b');
    slots.take('c');
    slots.leave('b');
    expect(slots.leave('a')).toBe('c');
  });
  it('counts sandboxes that live already', () => {
    const slots = new Slots(1);
    slots.hold('adopted');
    expect(slots.take('a')).toBe(false);
    expect(slots.leave('adopted')).toBe('a');
  });
});
