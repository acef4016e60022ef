import type { LogMessage, RecordedEvent } from '@fluidbox/contracts';
import fc from 'fast-check';
import type { Fold } from '../api';
import { FoldCache } from './fold-cache';

const sum: Fold<{ seqs: number[] }> = { initial: () => ({ seqs: [] }), evolve: (state, event) => ({ seqs: [...state.seqs, event.seq] }) };
const event = (seq: number, stream = 's'): RecordedEvent => ({
  seq,
  globalPosition: seq,
  eventId: `e${seq}`,
  org: 'default',
  stream,
  type: 'lease.granted',
  version: 1,
  actor: 'a',
  occurredAt: '2026-11-29T12:00:00.000Z',
  data: {},
});
const message = (firstSeq: number, lastSeq: number): LogMessage => ({
  stream: 's',
  category: 'run',
  org: 'default',
  id: 's',
  firstSeq,
  lastSeq,
  generation: 0,
  events: null,
});

describe('fold cache', () => {
  it('holds a prefix of the stream, in order and once, whatever arrives in whatever order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 60 }), (order) => {
        const cache = new FoldCache(10);
        cache.start('s', sum);
        for (const seq of order) cache.apply('s', [event(seq)]);
        cache.caughtUp('s', cache.heard('s'));
        const { state, version } = cache.get('s', sum) ?? { state: { seqs: [-1] }, version: -1 };
        expect(state.seqs).toEqual(Array.from({ length: version }, (_, i) => i + 1));
      }),
    );
  });

  it('wants to be read after a jump, and not after a repeat', () => {
    const cache = new FoldCache(10);
    cache.start('s', sum);
    cache.apply('s', [event(1), event(2)]);
    cache.applyMessage(message(1, 2));
    expect(cache.get('s', sum)?.version).toBe(2);
    cache.applyMessage(message(4, 5));
    expect(cache.get('s', sum)).toBeNull();
    expect(cache.readAfter('s', sum)).toBe(2);
    cache.apply('s', [event(3), event(4), event(5)]);
    expect(cache.get('s', sum)?.version).toBe(5);
  });

  it('keeps the streams that were used last', () => {
    const cache = new FoldCache(2);
    for (const stream of ['a', 'b']) {
      cache.start(stream, sum);
      cache.apply(stream, [event(1, stream)]);
    }
    cache.get('a', sum);
    cache.start('c', sum);
    expect(cache.get('a', sum)?.version).toBe(1);
    expect(cache.get('b', sum)).toBeNull();
  });
});
