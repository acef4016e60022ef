import type { RecordedEvent } from '@fluidbox/contracts';
import { newRun } from '../fixtures/events';
import { pagesOf } from './pages-of';

const run = newRun();

/** A stream of so many events, each page of which is given when the test says so. */
function streamOf(events: number) {
  const asked: { after: number; give: (error?: Error) => void }[] = [];
  const read = (_stream: unknown, page?: { after?: number; limit?: number }) => {
    const { after = 0, limit = 0 } = page ?? {};
    const seqs = Array.from({ length: Math.max(0, Math.min(limit, events - after)) }, (_, i) => after + i + 1);
    return new Promise<RecordedEvent[]>((resolve, reject) => {
      const give = (error?: Error): void => (error === undefined ? resolve(seqs.map((seq) => ({ seq }) as RecordedEvent)) : reject(error));
      asked.push({ after, give });
    });
  };
  return { asked, pages: pagesOf({ read }, run, 0) };
}
const afters = (asked: readonly { after: number }[]) => asked.map(({ after }) => after);

describe('the pages of a stream', () => {
  it.each([0, 1, 999])('are one, and nothing else is asked for, where it has %i events', async (events) => {
    const { asked, pages } = streamOf(events);
    const first = pages.next();
    asked[0]?.give();
    expect((await first).value).toHaveLength(events);
    expect((await pages.next()).done).toBe(true);
    expect(afters(asked)).toEqual([0]);
  });

  it('come in order, the next two asked for before the first of them is folded', async () => {
    const { asked, pages } = streamOf(2_500);
    const seqs: number[] = [];
    const take = async (): Promise<void> => {
      for (const { seq } of (await pages.next()).value ?? []) seqs.push(seq);
    };
    const first = take();
    asked[0]?.give();
    await first;
    expect(afters(asked)).toEqual([0, 1_000, 2_000]);
    const second = take();
    // The later one is there first.
    asked[2]?.give();
    asked[1]?.give();
    await second;
    await take();
    expect((await pages.next()).done).toBe(true);
    expect(seqs).toEqual(Array.from({ length: 2_500 }, (_, i) => i + 1));
  });

  it('end with the failure of one that is reached, and of none that is not', async () => {
    const { asked, pages } = streamOf(5_000);
    const first = pages.next();
    asked[0]?.give();
    await first;
    asked[2]?.give(new Error('that nobody came to'));
    asked[1]?.give(new Error('the database is gone'));
    await expect(pages.next()).rejects.toThrow('the database is gone');
    expect((await pages.next()).done).toBe(true);
  });
});
