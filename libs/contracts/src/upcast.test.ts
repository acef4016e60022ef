import type { RecordedEvent } from './timeline';
import { actionableEvent, timelineEvent, type Upcasts, upcast, versionOf } from './upcast';

const event = (type: string, version: number, data: Record<string, unknown> = {}): RecordedEvent => ({
  seq: 1,
  globalPosition: 1,
  eventId: 'e',
  org: 'default',
  stream: 'run-r',
  type,
  version,
  actor: 'service:test',
  occurredAt: '2026-01-01T00:00:00.000Z',
  data,
});
const table: Upcasts = {
  'run.error': [(data) => ({ ...data, kind: data.code }), ({ code: _, ...data }) => ({ ...data, severe: true })],
};

describe('upcasts', () => {
  it('bring every older version to the one of today, step by step, and change nothing else', () => {
    const [first, second] = [event('run.error', 1, { code: 'x' }), event('run.error', 2, { code: 'x', kind: 'y' })];
    expect(versionOf('run.error', table)).toBe(3);
    expect(upcast(first, table)).toEqual({ ...first, version: 3, data: { kind: 'x', severe: true } });
    expect(upcast(second, table)).toEqual({ ...second, version: 3, data: { kind: 'y', severe: true } });
    expect(upcast(event('tool.completed', 1), table)).toEqual(event('tool.completed', 1));
  });

  it('leave what is newer than this code as it was stored: a type, and a version of a known type', () => {
    for (const newer of [event('run.dreamt', 1, { of: 'sheep' }), event('run.error', 4, { other: 1 })]) {
      expect(upcast(newer, table)).toBe(newer);
      expect(timelineEvent(newer, table)).toBeNull();
    }
    expect(timelineEvent(event('run.error', 3), table)).not.toBeNull();
    expect(timelineEvent(event('run.error', 2))).toBeNull();
  });

  it('tell a follower that acts on each event what it does not understand, instead of leaving it out', () => {
    expect(actionableEvent(event('run.error', 3), table)).toMatchObject({ type: 'run.error', version: 3 });
    expect(() => actionableEvent(event('run.error', 4), table)).toThrow('run.error version 4 is newer than this process');
  });
});
