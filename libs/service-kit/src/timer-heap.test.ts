import fc from 'fast-check';
import { TimerHeap } from './timer-heap';

describe('TimerHeap', () => {
  it('fires what is due, earliest first, each key once and at its newest time', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 100 }))),
        fc.integer({ min: 0, max: 100 }),
        (sets, now) => {
          const clock = { now: -1 };
          const fired: number[] = [];
          const heap = new TimerHeap<number>(
            () => clock.now,
            (key) => fired.push(key),
          );
          for (const [key, at] of sets) heap.set(key, at);
          clock.now = now;
          heap.poll();
          const newest = new Map(sets);
          const due = [...newest].filter(([, at]) => at <= now);
          expect(new Set(fired)).toEqual(new Set(due.map(([key]) => key)));
          expect(fired).toHaveLength(due.length);
          const times = fired.map((key) => newest.get(key) ?? 0);
          expect(times).toEqual([...times].sort((a, b) => a - b));
          expect(heap.size).toBe(newest.size - due.length);
          heap.stop();
        },
      ),
    );
  });

  it('does not fire a deleted key, and fires a key that is set again while it fires', () => {
    const fired: string[] = [];
    const heap: TimerHeap<string> = new TimerHeap(
      () => 10,
      (key) => {
        fired.push(key);
        if (fired.length === 1) heap.set(key, 11);
      },
    );
    heap.set('a', 1);
    heap.set('b', 2);
    heap.delete('b');
    heap.poll();
    expect([fired, heap.size]).toEqual([['a'], 1]);
    heap.stop();
  });

  it('arms a real timer', async () => {
    const fired = await new Promise<string>((resolve) => {
      const heap = new TimerHeap<string>(Date.now, resolve);
      heap.set('late', Date.now() + 60_000);
      heap.set('soon', Date.now() + 5);
    });
    expect(fired).toBe('soon');
  });
});
