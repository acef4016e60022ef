import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type EventType, eventTypes, isEventType, upcast, versionOf } from '@fluidbox/contracts';
import { type RunState, runFold } from '@fluidbox/run-stream';
import { z } from 'zod';

const Sample = z.strictObject({
  type: z.string(),
  version: z.number().int().min(1),
  data: z.record(z.string(), z.unknown()),
  content: z.unknown().optional(),
  projection: z.unknown().optional(),
});
const folder = path.join(__dirname, 'event-samples');
const files = readdirSync(folder).sort();
const read = (file: string) => Sample.parse(JSON.parse(readFileSync(path.join(folder, file), 'utf8')));

/** An event that was stored once is stored for ever: what could be read then must be readable now. */
describe('stored events', () => {
  it('have a sample of every version of every type, and of no other', () => {
    const wanted = (Object.keys(eventTypes) as EventType[]).flatMap((type) =>
      Array.from({ length: versionOf(type) }, (_, index) => `${type}.v${index + 1}.json`),
    );
    expect(files).toEqual(wanted.sort());
  });

  it.each(files)('%s is read by its schema, in the shape of today', (file) => {
    const { type, version, data: stored, content } = read(file);
    expect(file).toBe(`${type}.v${version}.json`);
    if (!isEventType(type)) throw new Error(`${type}: a type that was stored once must stay known`);
    const { data } = upcast({ type, version, data: stored });
    const schema: { data: z.ZodType; content?: z.ZodType } = eventTypes[type as EventType];
    expect(schema.data.safeParse(data)).toEqual({ success: true, data });
    if (content === undefined) expect(schema.content === undefined || allowsNoContent.has(type)).toBe(true);
    else expect(schema.content?.safeParse(content)).toEqual({ success: true, data: content });
  });

  it('are folded, whatever comes before or after them', () => {
    const events = files.map((file, index) => {
      const { type, version, data } = read(file);
      return upcast({ ...place(index + 1), type, version, data });
    });
    for (const order of [events, [...events].reverse()]) {
      const state = order.reduce<RunState>(
        (folded, event, index) => runFold.evolve(folded, { ...event, seq: index + 1 }),
        runFold.initial(),
      );
      expect(state.version).toBe(events.length);
    }
  });
});

/** Their content comes only with some of their uses. */
const allowsNoContent: ReadonlySet<string> = new Set(['session.status_changed', 'artifact.missing']);

const place = (seq: number) => ({
  seq,
  globalPosition: seq,
  eventId: '0198b3a0-0000-7000-8000-0000000000bb',
  org: 'default',
  stream: 'run-0198b3a0-0000-7000-8000-000000000001',
  actor: 'service:test',
  occurredAt: '2026-01-05T10:00:00.000Z',
});
