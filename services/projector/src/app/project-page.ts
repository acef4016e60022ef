import type { ApprovalView, RecordedEvent } from '@fluidbox/contracts';
import { runStream } from '@fluidbox/contracts';
import type { Ledger, SqlClient } from '@fluidbox/event-store';
import { approvalIdOf, evolveApproval } from '../domain/approval-view';
import { type ArtifactRow, artifactRow, type CostDelta, costDeltas } from '../domain/rows';
import { type RunPicture, type RunRow, runPicture, runRow } from '../domain/run-row';

/** The tables of one version of the read models, written in the follower's transaction. */
export interface ReadTables {
  saveRuns(tx: SqlClient, rows: readonly RunRow[]): Promise<void>;
  loadApprovals(tx: SqlClient, ids: readonly string[]): Promise<ReadonlyMap<string, ApprovalView>>;
  saveApprovals(tx: SqlClient, rows: readonly { readonly org: string; readonly view: ApprovalView }[]): Promise<void>;
  saveArtifacts(tx: SqlClient, rows: readonly ArtifactRow[]): Promise<void>;
  addCosts(tx: SqlClient, deltas: readonly CostDelta[]): Promise<void>;
}
export interface ProjectPorts {
  readonly ledger: Pick<Ledger, 'state'>;
  readonly tables: ReadTables;
}

const runIdOf = (event: RecordedEvent): string => event.stream.slice('run-'.length);

/** One page of the log becomes rows. A run's row shows the newest state, which may be ahead of the page; later pages then change nothing. */
export async function projectPage(ports: ProjectPorts, events: readonly RecordedEvent[], tx: SqlClient): Promise<void> {
  const pictures = await picturesOf(ports, events);
  const agentOf = (event: RecordedEvent): string => pictures.get(event.stream)?.run.agent ?? '';
  const rows = [...pictures].flatMap(([stream, picture]) => {
    const org = events.find((event) => event.stream === stream)?.org ?? '';
    return runRow(picture, org) ?? [];
  });
  await ports.tables.saveRuns(tx, rows);
  await projectApprovals(ports, events, agentOf, tx);
  await ports.tables.saveArtifacts(
    tx,
    events.flatMap((event) => artifactRow(event, runIdOf(event)) ?? []),
  );
  await ports.tables.addCosts(tx, costDeltas(events.map((event) => ({ event, agent: agentOf(event) }))));
}

async function picturesOf(ports: ProjectPorts, events: readonly RecordedEvent[]): Promise<Map<string, RunPicture>> {
  const needed = new Map<string, RecordedEvent>();
  for (const event of events) {
    const known = needed.get(event.stream);
    if (known === undefined || known.seq < event.seq) needed.set(event.stream, event);
  }
  const pictures = new Map<string, RunPicture>();
  for (const [stream, last] of needed) {
    const ref = runStream(runIdOf(last), last.org);
    const cached = await ports.ledger.state(runPicture, ref);
    // The log may not have told this process yet of what the page holds.
    const current = cached.version >= last.seq ? cached : await ports.ledger.state(runPicture, ref, { fresh: true });
    pictures.set(stream, current.state);
  }
  return pictures;
}

async function projectApprovals(
  ports: ProjectPorts,
  events: readonly RecordedEvent[],
  agentOf: (event: RecordedEvent) => string,
  tx: SqlClient,
): Promise<void> {
  const spoken = events.flatMap((event) => {
    const id = approvalIdOf(event);
    return id === null ? [] : [{ id, event }];
  });
  if (spoken.length === 0) return;
  const views = new Map<string, ApprovalView | null>(await ports.tables.loadApprovals(tx, [...new Set(spoken.map(({ id }) => id))]));
  const changed = new Map<string, { org: string; view: ApprovalView }>();
  for (const { id, event } of spoken) {
    const view = evolveApproval(views.get(id) ?? null, event, { runId: runIdOf(event), agent: agentOf(event) });
    views.set(id, view);
    if (view !== null) changed.set(id, { org: event.org, view });
  }
  await ports.tables.saveApprovals(tx, [...changed.values()]);
}
