import type { RecordedEvent, StreamRef } from '@fluidbox/contracts';
import type { EventStore } from '../api';

const pageSize = 1_000;
/** Asked for while a page of a long stream is folded: the database reads one and another is on its way. */
const pagesAhead = 2;

type Page = readonly RecordedEvent[];

/** The events of a stream after `after`, page by page to its head. Nearly every stream is one page, and nothing is asked for behind that. */
export async function* pagesOf(store: Pick<EventStore, 'read'>, stream: StreamRef, after: number): AsyncGenerator<Page> {
  const coming: Promise<Page>[] = [];
  let asked = after;
  const ask = (): void => {
    const page = store.read(stream, { after: asked, limit: pageSize });
    // Whoever comes to this page hears of its failure; one that nobody comes to any more is nobody's.
    page.catch(() => undefined);
    coming.push(page);
    asked += pageSize;
  };
  ask();
  for (let page = await coming.shift(); page !== undefined; page = await coming.shift()) {
    while (page.length === pageSize && coming.length < pagesAhead) ask();
    yield page;
    if (page.length < pageSize) return;
  }
}
