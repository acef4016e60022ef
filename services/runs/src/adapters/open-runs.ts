import { type EventType, type RecordedEvent, runStream, terminalStatuses } from '@fluidbox/contracts';
import type { LogFollower, SqlClient } from '@fluidbox/event-store';
import type { StreamLoop } from '@fluidbox/service-kit';

/** What may give a run its next step. Live messages usually come first; this finds out what they missed. */
const types: readonly EventType[] = [
  'session.created',
  'session.status_changed',
  'workspace.initialized',
  'sandbox.started',
  'sandbox.exited',
  'artifact.collected',
  'artifact.missing',
  'budget.exceeded',
  'guard.tripped',
  'coverage.gap',
];
/** What else a run may wait for, soon enough found out by its own timer when a message is lost. */
export const wakingTypes: readonly EventType[] = [...types, 'approval.decided', 'budget.settled', 'budget.released'];

const idOf = (event: RecordedEvent): string => event.stream.slice('run-'.length);
const isEnd = (event: RecordedEvent): boolean =>
  event.type === 'session.status_changed' && (terminalStatuses as readonly unknown[]).includes(event.data.to);

/** Fills `runs.open_runs`, where recovery starts, and wakes each run that moved. */
export const openRunsFollower = (loop: Pick<StreamLoop, 'wake'>): LogFollower => ({
  name: 'runs.open-runs',
  categories: ['run'],
  types,
  async handle(events, tx) {
    for (const event of events) {
      if (event.type === 'session.created') {
        await tx.query('insert into runs.open_runs (run_id, org_id) values ($1, $2) on conflict do nothing', [idOf(event), event.org]);
      }
      if (isEnd(event)) {
        await tx.query('delete from runs.open_runs where run_id = $1', [idOf(event)]);
        await tx.query('delete from runs.heartbeats where run_id = $1', [idOf(event)]);
      } else loop.wake(runStream(idOf(event), event.org), event.seq);
    }
  },
});

export async function openRuns(sql: SqlClient): Promise<readonly { runId: string; org: string }[]> {
  const { rows } = await sql.query<{ run_id: string; org_id: string }>('select run_id, org_id from runs.open_runs');
  return rows.map((row) => ({ runId: row.run_id, org: row.org_id }));
}
