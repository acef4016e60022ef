import { runStream, type StreamRef } from '@fluidbox/contracts';
import { mentions, StreamLoop } from './stream-loop';

const stream = (n: number): StreamRef => runStream(`run-${n}`, 'default');

function loop(drive: (id: string, atLeast: number) => Promise<number | null> | number | null) {
  const clock = { now: 1_000 };
  const failures: unknown[] = [];
  const over: string[] = [];
  const made = new StreamLoop({
    now: () => clock.now,
    drive: async (ref, { atLeast }) => drive(ref.id, atLeast),
    onFailure: (_stream, error) => failures.push(error),
    onOver: (ref) => over.push(ref.id),
  });
  return { loop: made, clock, failures, over };
}

describe('StreamLoop', () => {
  it('drives a stream once at a time and once more when it moved meanwhile, at the newest version', async () => {
    const seen: number[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { loop: made } = loop(async (_id, atLeast) => {
      seen.push(atLeast);
      if (seen.length === 1) await held;
      return 2_000;
    });
    for (const version of [1, 2, 3]) made.wake(stream(1), version);
    release();
    await made.settled();
    expect(seen).toEqual([1, 3]);
    await made.stop();
  });

  it('looks again when the time comes, and forgets a stream that needs nothing more', async () => {
    let drives = 0;
    const { loop: made, clock, over } = loop(() => (++drives === 1 ? 5_000 : null));
    made.wake(stream(1), 1);
    await made.settled();
    clock.now = 5_000;
    made.poll();
    await made.settled();
    made.wakeKnown(stream(1).id, 9);
    await made.settled();
    expect([drives, over]).toEqual([2, [stream(1).id]]);
    await made.stop();
  });

  it('looks at what is due by the clock, also after that was set back', async () => {
    const seen: number[] = [];
    const { loop: made, clock } = loop(() => (seen.push(clock.now) === 1 ? 5_000 : null));
    made.wake(stream(1), 1);
    await made.settled();
    clock.now = -3_600_000;
    made.poll();
    await made.settled();
    expect(seen).toEqual([1_000]);
    clock.now = 5_000;
    made.poll();
    await made.settled();
    expect(seen).toEqual([1_000, 5_000]);
    await made.stop();
  });

  it('keeps a scheduled stream for its time, or for when it moves', async () => {
    const seen: string[] = [];
    const { loop: made, clock } = loop((id) => {
      seen.push(id);
      return null;
    });
    made.schedule(stream(1), 5_000);
    made.schedule(stream(2), 9_000);
    made.poll();
    await made.settled();
    expect(seen).toEqual([]);
    clock.now = 5_000;
    made.poll();
    made.wakeKnown(stream(2).id, 7);
    await made.settled();
    expect(seen.sort()).toEqual([stream(1).id, stream(2).id]);
    await made.stop();
  });

  it('tries again after a failure', async () => {
    let drives = 0;
    const {
      loop: made,
      clock,
      failures,
    } = loop(() => {
      drives += 1;
      if (drives === 1) throw new Error('database is down');
      return null;
    });
    made.wake(stream(1), 1);
    await made.settled();
    clock.now += 5_000;
    made.poll();
    await made.settled();
    expect([drives, failures.length]).toEqual([2, 1]);
    await made.stop();
  });

  it('gets through more streams than it drives at once', async () => {
    const seen = new Set<string>();
    const { loop: made } = loop(async (id) => {
      await Promise.resolve();
      seen.add(id);
      return null;
    });
    for (let n = 0; n < 100; n++) made.wake(stream(n), 0);
    await made.settled();
    expect(seen.size).toBe(100);
    await made.stop();
  });
});

describe('mentions', () => {
  const message = (events: { seq: number; globalPosition: number; body: string }[] | null) => ({
    stream: 's',
    category: 'run' as const,
    org: 'default',
    id: 'x',
    firstSeq: 1,
    lastSeq: 1,
    generation: 1,
    events,
  });
  it('finds a type, and takes a bare range for a yes', () => {
    const body = JSON.stringify({ type: 'sandbox.exited', data: {} });
    expect(mentions(message([{ seq: 1, globalPosition: 1, body }]), ['sandbox.exited'])).toBe(true);
    expect(mentions(message([{ seq: 1, globalPosition: 1, body }]), ['sandbox.started'])).toBe(false);
    expect(mentions(message(null), ['sandbox.started'])).toBe(true);
  });
});
