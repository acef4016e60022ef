import { type ApprovalView, type ReadModelName, type RecordedEvent, runStream } from '@fluidbox/contracts';
import type { EventStore, SqlClient } from '@fluidbox/event-store';
import { approvalIdOf, evolveApproval } from '../domain/approval-view';
import type { ModelVersions } from '../domain/read-models';
import { type ArtifactRow, artifactRow, type CostDelta, costDeltas, type GateDelta, gateDeltas } from '../domain/rows';
import { type RunPicture, type RunRow, runRow } from '../domain/run-row';
import type { PageRuns } from './run-pictures';

/** The tables of the read models, written in the transaction that moves the position. */
export interface ReadTables {
  saveRuns(tx: SqlClient, version: number, rows: readonly RunRow[]): Promise<void>;
  loadApprovals(tx: SqlClient, version: number, ids: readonly string[]): Promise<ReadonlyMap<string, ApprovalView>>;
  saveApprovals(tx: SqlClient, version: number, rows: readonly ApprovalRow[]): Promise<void>;
  saveArtifacts(tx: SqlClient, version: number, rows: readonly ArtifactRow[]): Promise<void>;
  addCosts(tx: SqlClient, version: number, deltas: readonly CostDelta[]): Promise<void>;
  addDecisions(tx: SqlClient, version: number, deltas: readonly GateDelta[]): Promise<void>;
}
export interface ApprovalRow {
  readonly org: string;
  readonly view: ApprovalView;
}
export interface ProjectPorts {
  readonly pictures: PageRuns;
  readonly tables: ReadTables;
}

const runIdOf = (event: RecordedEvent): string => event.stream.slice('run-'.length);

interface Page {
  readonly events: readonly RecordedEvent[];
  readonly pictures: ReadonlyMap<string, RunPicture>;
  readonly tables: ReadTables;
  readonly tx: SqlClient;
}
const runOf = ({ pictures }: Page, event: RecordedEvent): RunPicture['run'] => {
  const picture = pictures.get(event.stream);
  if (picture === undefined) throw new Error(`${event.stream} is not among the runs of its page`);
  return picture.run;
};

const projections: { readonly [N in ReadModelName]: (page: Page, version: number) => Promise<void> } = {
  runs: ({ events, pictures, tables, tx }, version) => {
    const orgs = new Map(events.map((event) => [event.stream, event.org]));
    const rows = [...pictures].flatMap(([stream, picture]) => runRow(picture, orgs.get(stream) ?? '') ?? []);
    return tables.saveRuns(tx, version, rows);
  },
  approvals: async (page, version) => {
    const spoken = page.events.flatMap((event) => approvalIdOf(event) ?? []);
    if (spoken.length === 0) return;
    const stored = await page.tables.loadApprovals(page.tx, version, [...new Set(spoken)]);
    await page.tables.saveApprovals(page.tx, version, foldApprovals(page, stored));
  },
  artifacts: (page, version) => {
    const rows = page.events.flatMap(
      (event) => artifactRow(event, { runId: runIdOf(event), invokedBy: runOf(page, event).invokedBy }) ?? [],
    );
    return page.tables.saveArtifacts(page.tx, version, rows);
  },
  costs: (page, version) => {
    const deltas = costDeltas(page.events.map((event) => ({ event, agent: runOf(page, event).agent })));
    return page.tables.addCosts(page.tx, version, deltas);
  },
  gate: (page, version) => {
    const identity = (event: RecordedEvent) => {
      const { agent, policy, policyVersion } = runOf(page, event);
      return { agent, policy, policyVersion };
    };
    return page.tables.addDecisions(page.tx, version, gateDeltas(page.events.map((event) => ({ event, run: identity(event) }))));
  },
};

/** One page of the log becomes rows of these models. Sums are added, so the caller hands over each event once: it keeps the position in `tx`. */
export async function projectPage(
  ports: ProjectPorts,
  models: ModelVersions,
  events: readonly RecordedEvent[],
  tx: SqlClient,
): Promise<void> {
  const page = { events, pictures: await ports.pictures.after(events), tables: ports.tables, tx };
  for (const [name, version] of models) await projections[name](page, version);
}

/** An event that was parked, long after those behind it were projected. Only approvals mind the order: they are folded again from their run. */
export async function projectParked(
  ports: ProjectPorts & { readonly store: Pick<EventStore, 'read'> },
  models: ModelVersions,
  event: RecordedEvent,
  tx: SqlClient,
): Promise<void> {
  const page = { events: [event], pictures: await ports.pictures.after([event]), tables: ports.tables, tx };
  for (const [name, version] of models) {
    if (name !== 'approvals') await projections[name](page, version);
    else if (approvalIdOf(event) !== null)
      await ports.tables.saveApprovals(tx, version, foldApprovals({ ...page, events: await wholeRun(ports.store, event) }, new Map()));
  }
}

async function wholeRun(store: Pick<EventStore, 'read'>, { stream, org }: RecordedEvent): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for (;;) {
    const page = await store.read(runStream(stream.slice('run-'.length), org), { after: events.length });
    if (page.length === 0) return events;
    events.push(...page);
  }
}

function foldApprovals(page: Page, stored: ReadonlyMap<string, ApprovalView>): ApprovalRow[] {
  const views = new Map<string, ApprovalView | null>(stored);
  const changed = new Map<string, ApprovalRow>();
  for (const event of page.events) {
    const id = approvalIdOf(event);
    if (id === null) continue;
    const before = views.get(id) ?? null;
    const view = evolveApproval(before, event, { runId: runIdOf(event), agent: runOf(page, event).agent });
    views.set(id, view);
    if (view !== null && view !== before) changed.set(id, { org: event.org, view });
  }
  return [...changed.values()];
}
