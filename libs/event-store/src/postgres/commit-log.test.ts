import type { LogMessage } from '@fluidbox/contracts';
import { joinedMessages } from '../domain/recorded';
import { CommitLog } from './commit-log';

const message = (stream: string, firstSeq: number, lastSeq: number, bodyBytes = 10): LogMessage => ({
  stream,
  category: 'run',
  org: 'default',
  id: stream,
  firstSeq,
  lastSeq,
  generation: lastSeq,
  events: Array.from({ length: lastSeq - firstSeq + 1 }, (_, i) => ({
    seq: firstSeq + i,
    globalPosition: firstSeq + i,
    body: 'x'.repeat(bodyBytes),
  })),
});
const ranges = (messages: readonly LogMessage[]): string[] =>
  messages.map(({ stream, firstSeq, lastSeq, events }) => `${stream} ${firstSeq}-${lastSeq}${events === null ? ' range' : ''}`);

describe('messages to the log', () => {
  it('of one stream that follow each other become one, with all events and the newest generation', () => {
    const [a, b] = joinedMessages([message('a', 1, 2), message('b', 5, 5), message('a', 3, 3)]);
    expect(ranges([a, b] as LogMessage[])).toEqual(['a 1-3', 'b 5-5']);
    expect(a?.events?.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(a?.generation).toBe(3);
  });
  it('stay apart where one is missing, and where together they would be too large to carry their events', () => {
    expect(ranges(joinedMessages([message('a', 1, 1), message('a', 3, 3)]))).toEqual(['a 1-1', 'a 3-3']);
    expect(ranges(joinedMessages([message('a', 1, 1, 200_000), message('a', 2, 2, 200_000)]))).toEqual(['a 1-1', 'a 2-2']);
    expect(ranges(joinedMessages([{ ...message('a', 1, 1), events: null }, message('a', 2, 2)]))).toEqual(['a 1-1 range', 'a 2-2']);
  });
});

describe('the commit log', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('sends what comes alone at once, and what follows closely together, in order', () => {
    const sent: LogMessage[] = [];
    const log = new CommitLog((each) => sent.push(each));
    log.add(message('a', 1, 1));
    log.turn();
    expect(ranges(sent)).toEqual(['a 1-1']);
    for (let seq = 2; seq <= 4; seq += 1) {
      log.add(message('a', seq, seq));
      log.turn();
    }
    expect(sent).toHaveLength(1);
    jest.runAllTimers();
    expect(ranges(sent)).toEqual(['a 1-1', 'a 2-4']);
  });
  it('sends everything when it is told to end', () => {
    const sent: LogMessage[] = [];
    const log = new CommitLog((each) => sent.push(each));
    log.add(message('a', 1, 1));
    log.turn();
    log.add(message('a', 2, 2));
    log.turn();
    log.flush();
    expect(ranges(sent)).toEqual(['a 1-1', 'a 2-2']);
  });
});
