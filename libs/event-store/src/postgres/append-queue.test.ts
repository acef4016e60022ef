import type { StreamRef } from '@fluidbox/contracts';
import type { AppendGroup } from '../api';
import { groupOf, newRun } from '../fixtures/events';
import { AppendQueue, defaultLimits, type PlannedUnit, type QueueLimits } from './append-queue';

const none: ReadonlySet<string> = new Set();
const queueOf = (groups: readonly AppendGroup[], limits: Partial<QueueLimits> = {}): AppendQueue => {
  const queue = new AppendQueue({ ...defaultLimits, ...limits });
  queue.add(groups);
  return queue;
};
const name = (run: StreamRef): string => `run-${run.id}`;
const shape = (units: readonly PlannedUnit[]): [string, number][] => units.map((unit) => [unit.stream, unit.groups.length]);

describe('append queue', () => {
  it('plans a batch in stream order, whatever order the groups came in: this is the order of the locks', () => {
    const runs = Array.from({ length: 20 }, () => newRun());
    const planned = queueOf(runs.map((run) => groupOf(run, 'any')))
      .next(none)
      .map((unit) => unit.stream);
    expect(planned).toEqual(runs.map(name).sort());
    expect(planned).not.toEqual(runs.map(name));
  });

  it('joins facts of a stream that are fenced alike; everything else of that stream waits, in its order', () => {
    const run = newRun();
    const queue = queueOf([
      groupOf(run, 'any'),
      groupOf(run, 'any'),
      groupOf(run, 'any', 1, { generation: 1 }),
      groupOf(run, 'any'),
      groupOf(run, 5),
    ]);
    const counts: number[] = [];
    while (!queue.empty) counts.push(...queue.next(none).map((unit) => unit.groups.length));
    expect(counts).toEqual([2, 1, 1, 1]);
  });

  it('leaves the streams of a batch that is under way, and takes the others', () => {
    const [a, b] = [newRun(), newRun()];
    const queue = queueOf([groupOf(a, 'any'), groupOf(b, 'any')]);
    expect(shape(queue.next(new Set([name(a)])))).toEqual([[name(b), 1]]);
    expect(queue.next(new Set([name(a)]))).toEqual([]);
    expect(shape(queue.next(none))).toEqual([[name(a), 1]]);
  });

  it('never puts an event id into a batch twice', () => {
    const run = newRun();
    const group = groupOf(run, 'any');
    const queue = queueOf([group, group]);
    expect(shape(queue.next(none))).toEqual([[name(run), 1]]);
    expect(shape(queue.next(none))).toEqual([[name(run), 1]]);
  });

  it('keeps to the bounds of a batch, but takes one group that is larger alone', () => {
    const runs = [newRun(), newRun(), newRun()];
    const queue = queueOf(
      runs.map((run, i) => groupOf(run, 'any', i === 0 ? 5 : 2)),
      { batchEventsMax: 4 },
    );
    expect([queue.next(none), queue.next(none)].map((units) => units.length)).toEqual([1, 2]);
    const byBytes = queueOf(
      runs.map((run) => groupOf(run, 'any')),
      { batchBytesMax: 1 },
    );
    expect([byBytes.next(none), byBytes.next(none), byBytes.next(none)].map((units) => units.length)).toEqual([1, 1, 1]);
  });

  it('leaves the other half for a connection that is free, unless there is too little to share', () => {
    const runs = Array.from({ length: 64 }, () => newRun());
    const queue = queueOf(runs.map((run) => groupOf(run, 'any')));
    expect([queue.next(none, 2), queue.next(none, 1)].map((units) => units.length)).toEqual([32, 32]);
    const few = queueOf(runs.slice(0, 12).map((run) => groupOf(run, 'any')));
    expect(few.next(none, 2)).toHaveLength(12);
  });

  it('refuses a call whole when it does not fit, and takes it when there is room again', () => {
    const [a, b] = [newRun(), newRun()];
    const queue = queueOf([groupOf(a, 'any', 3)], { queuedEventsMax: 4 });
    expect(() => queue.add([groupOf(b, 'any'), groupOf(b, 'any')])).toThrow(expect.objectContaining({ code: 'overloaded' }));
    queue.next(none);
    expect(queue.empty).toBe(true);
    queue.add([groupOf(b, 'any'), groupOf(b, 'any')]);
    expect(shape(queue.next(none))).toEqual([[name(b), 2]]);
  });
});
