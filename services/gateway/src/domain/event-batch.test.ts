import type { EventView } from '@fluidbox/contracts';
import { EventBatch, endFrame } from './event-batch';

const event = (seq: number, type = 'agent.message', data: Record<string, unknown> = {}, text = 'grün'): EventView => ({
  seq,
  type,
  version: 1,
  actor: 'runner',
  occurred_at: '2026-01-01T00:00:00.000Z',
  data,
  content: { text },
  hash: 'h',
});
const frame = (each: EventView): string => `id: ${each.seq}\ndata: ${JSON.stringify(each)}\n\n`;

describe('a batch of events', () => {
  const events = [event(5), event(6, 'run.dreamt', { of: 'sheep' }), event(7)];
  const batch = new EventBatch(events);

  it('is the events one after the other, those of an unknown type too', () => {
    expect(batch.bytes.toString()).toBe(events.map(frame).join(''));
    expect([batch.first, batch.last, batch.ends]).toEqual([5, 7, false]);
  });

  it('gives everybody what is new to them, and to who has all before it the very same bytes', () => {
    expect(batch.after(4)).toBe(batch.bytes);
    expect(batch.after(5).toString()).toBe(events.slice(1).map(frame).join(''));
    expect(batch.after(7)).toHaveLength(0);
    expect([3, 4, 6, 7].map((seq) => batch.continues(seq))).toEqual([false, true, true, false]);
  });

  it('ends with the terminal event, not with one that only looks like it', () => {
    expect(new EventBatch([event(8, 'run.result', { outcome: 'failed' })]).ends).toBe(true);
    expect(new EventBatch([event(8, 'run.result', { outcome: 'dreaming' })]).ends).toBe(false);
  });

  it('has a last word that is an event of its own kind', () => {
    expect(endFrame('unauthorized', 'over').toString()).toBe('event: end\ndata: {"code":"unauthorized","detail":"over"}\n\n');
  });
});
