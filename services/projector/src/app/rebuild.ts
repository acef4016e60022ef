import type { ReadModelName, RecordedEvent } from '@fluidbox/contracts';
import type { EventStore, SqlClient } from '@fluidbox/event-store';
import { modelRevisions, typesOfModel } from '../domain/read-models';
import { type ProjectPorts, projectPage } from './project-page';
import { RunBeginnings, RunPictures } from './run-pictures';

/** `read.models` and `read.rebuilds`: which version of a model is live, and which is being filled. */
export interface RebuildTable {
  find(name: ReadModelName): Promise<{ readonly version: number; readonly position: number } | null>;
  /** False when somebody else moved it meanwhile. */
  moveOn(tx: SqlClient, name: ReadModelName, from: number, to: number): Promise<boolean>;
  /** Holds back the live follower, which shares this row in each of its pages. */
  lockModel(tx: SqlClient, name: ReadModelName): Promise<void>;
  switchTo(tx: SqlClient, name: ReadModelName, version: number, revision: number): Promise<void>;
  /** Where the follower stands that writes the live versions. */
  livePosition(sql?: SqlClient): Promise<number>;
  /** Rows of versions before the live one, some at a time; answers how many went. */
  dropOldRows(name: ReadModelName): Promise<number>;
  transaction<T>(work: (tx: SqlClient) => Promise<T>): Promise<T>;
}
export interface RebuildPorts {
  readonly store: Pick<EventStore, 'scan' | 'read'>;
  readonly tables: ProjectPorts['tables'];
  readonly rebuilds: RebuildTable;
}

const pageSize = 1_000;

/**
 * Fills the next version of a model from the beginning of the log, beside the live one, and switches when it has caught up. It never runs ahead of the live
 * follower: the last page is read and written while the live follower waits, so that it goes on in the new version exactly where this one ends. Rows and
 * position are one transaction, so a crash anywhere goes on from the last page. Ends early, with nothing lost, when `stopped`.
 */
export async function rebuild(ports: RebuildPorts, name: ReadModelName, stopped: () => boolean): Promise<void> {
  const { rebuilds } = ports;
  const pictures = typesOfModel[name] === null ? new RunPictures(ports.store) : new RunBeginnings(ports.store);
  const writing: ProjectPorts = { tables: ports.tables, pictures };
  for (let done = false; !done && !stopped(); ) {
    const row = await rebuilds.find(name);
    if (row === null) break;
    await fill(ports, writing, name, row, stopped);
    done = await switchOver(ports, writing, name);
  }
  while (!stopped() && (await rebuilds.dropOldRows(name)) > 0);
}

/** Whole pages, as long as the live follower is more than one ahead. The next page is read while one is written. */
async function fill(
  ports: RebuildPorts,
  writing: ProjectPorts,
  name: ReadModelName,
  row: { readonly version: number; readonly position: number },
  stopped: () => boolean,
): Promise<void> {
  const models = new Map([[name, row.version]]);
  let { position } = row;
  let live = await ports.rebuilds.livePosition();
  let next = live - position > pageSize ? pageAfter(ports, name, position, live) : null;
  while (next !== null && !stopped()) {
    const page = await next;
    const from = position;
    position = page.position;
    if (live - position <= pageSize) live = await ports.rebuilds.livePosition();
    next = live - position > pageSize ? pageAfter(ports, name, position, live) : null;
    // Awaited below or in the next turn; a failure of this turn must not leave it unheard.
    next?.catch(() => undefined);
    const moved = await ports.rebuilds.transaction(async (tx) => {
      if (!(await ports.rebuilds.moveOn(tx, name, from, page.position))) return false;
      await projectPage(writing, models, page.events, tx);
      return true;
    });
    if (!moved) return;
  }
}

/** The rest and the switch, while the live follower waits. False when there is no rest any more that is small enough, or another process moved on. */
async function switchOver(ports: RebuildPorts, writing: ProjectPorts, name: ReadModelName): Promise<boolean> {
  const row = await ports.rebuilds.find(name);
  if (row === null) return true;
  return ports.rebuilds.transaction(async (tx) => {
    await ports.rebuilds.lockModel(tx, name);
    const live = await ports.rebuilds.livePosition(tx);
    if (live - row.position > pageSize || !(await ports.rebuilds.moveOn(tx, name, row.position, live))) return false;
    const page = live > row.position ? await pageAfter(ports, name, row.position, live) : { events: [], position: live };
    if (page.position !== live) throw new Error(`the log ends at ${page.position}, before the live position ${live}`);
    if (page.events.length > 0) await projectPage(writing, new Map([[name, row.version]]), page.events, tx);
    await ports.rebuilds.switchTo(tx, name, row.version, modelRevisions[name]);
    return true;
  });
}

function pageAfter(
  { store }: RebuildPorts,
  name: ReadModelName,
  after: number,
  upTo: number,
): Promise<{ events: readonly RecordedEvent[]; position: number }> {
  const types = typesOfModel[name];
  return store.scan({ after, limit: pageSize, categories: ['run'], upTo, ...(types === null ? {} : { types }) });
}
