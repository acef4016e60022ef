import { randomBytes, randomUUID } from 'node:crypto';
import { type EventDraft, type EventType, eventTypes, serviceNames } from '@fluidbox/contracts';
import { redactionMark } from '@fluidbox/redaction';
import { createRunKeys, kekFromBytes } from '@fluidbox/seal';
import { mayAppend } from './domain/appenders';
import { clock, ids, newRun, prepared } from './fixtures/events';
import { contentAad, prepareEvent } from './prepare';

const run = newRun();
const name = `run-${run.id}`;
const { keys } = createRunKeys(kekFromBytes(randomBytes(32)), name);
const context = { stream: run, keys, clock, ids };
const message = (text: string): EventDraft => ({
  type: 'run.error',
  data: { code: 'x', reported_by: 'runner' },
  content: { message: text },
  actor: 'runner',
});

describe('prepareEvent', () => {
  it('makes canonical bytes with every field the chain must cover, and no content', () => {
    const eventId = randomUUID();
    const event = prepareEvent({ ...message('hello'), eventId }, context);
    expect(event.ledger.body()).toEqual({
      event_id: eventId,
      org: 'default',
      stream: name,
      type: 'run.error',
      version: 1,
      actor: 'runner',
      occurred_at: '2026-11-29T12:00:00.000Z',
      data: { code: 'x', reported_by: 'runner' },
      content: { rest: keys.digest({ message: 'hello' }) },
    });
    expect(event.ledger.bytes().toString()).not.toContain('hello');
  });

  it('seals content for its own event only', () => {
    const event = prepareEvent(message('hello'), context);
    const sealed = event.content.rest ?? Buffer.alloc(0);
    expect(keys.open('rest', sealed, contentAad('default', name, 'rest', event.eventId))?.toString()).toBe('{"message":"hello"}');
    expect(() => keys.open('rest', sealed, contentAad('default', name, 'rest', randomUUID()))).toThrow();
  });

  it('scrubs a secret from content before it is sealed and digested', () => {
    const event = prepareEvent(message(`token ghp_${'a1B2'.repeat(9)}`), context);
    const plain = keys.open('rest', event.content.rest ?? Buffer.alloc(0), contentAad('default', name, 'rest', event.eventId))?.toString();
    expect(plain).toContain(redactionMark);
    expect(event.ledger.body().content?.rest).toBe(keys.digest(JSON.parse(plain ?? '')));
  });

  it('H-DB-01 · takes NUL in a text and in a key as it is, six visible characters too, and refuses what is no text', () => {
    const text = 'a\u0000b \\u0000';
    const draft: EventDraft = {
      type: 'tool.requested',
      data: { tool_call_id: 'toolu_01', tool: 'Bash', input_digest: `sha256:${'e'.repeat(64)}`, generation: 1 },
      content: { input: { 'k\u0000': text }, summary: text },
      actor: 'service:gate',
    };
    const event = prepareEvent(draft, context);
    const plain = keys.open('rest', event.content.rest ?? Buffer.alloc(0), contentAad('default', name, 'rest', event.eventId));
    expect(JSON.parse(plain?.toString('utf8') ?? '')).toEqual({ input: { 'k\u0000': text }, summary: text });
    expect(() => prepareEvent(message('\ud800'), context)).toThrow(expect.objectContaining({ code: 'unprocessable' }));
  });

  it('refuses content without keys, and takes an event without content', () => {
    expect(() => prepareEvent(message('x'), { ...context, keys: null })).toThrow('no keys to seal it');
    expect(prepared(run).content).toEqual({});
  });

  it('refuses data that is not of the event type: what a person wrote cannot slip into the ledger', () => {
    const smuggled = {
      type: 'run.error',
      data: { code: 'x', reported_by: 'runner', text: 'what the agent said' },
      actor: 'runner',
    } as const;
    expect(() => prepareEvent(smuggled, context)).toThrow(/text/);
  });

  it('refuses an event or a content that is too large, by name', () => {
    const large: EventDraft = { type: 'policy.created', data: { name: 'n'.repeat(70_000), by: 'x' }, actor: 'service:run-specs' };
    expect(() => prepareEvent(large, context)).toThrow('a ledger event has at most 65536');
    expect(() => prepareEvent(message('m'.repeat(4 * 1024 * 1024)), context)).toThrow('at most 4194304 are stored');
  });
});

describe('mayAppend', () => {
  it('knows only services as appenders, and at least one of every type', () => {
    const words = new Set(Object.values(eventTypes).flatMap((row) => row.appender.split(/, | or /)));
    expect([...words].filter((word) => !(serviceNames as readonly string[]).includes(word))).toEqual([]);
    for (const type of Object.keys(eventTypes) as EventType[]) expect(serviceNames.some((service) => mayAppend(service, type))).toBe(true);
  });

  it('names the ones of the contract and no other', () => {
    const appenders = (type: EventType) => serviceNames.filter((service) => mayAppend(service, type));
    expect(appenders('tool.decision')).toEqual(['gate', 'approvals']);
    expect(appenders('budget.exceeded').sort()).toEqual(['gate', 'llm-facade', 'runs']);
    expect(appenders('session.created')).toEqual(['runs']);
  });
});
