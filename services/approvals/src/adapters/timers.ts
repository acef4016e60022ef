import { type EventType, type LogMessage, runStream, type StreamRef, type TimelineEvent, terminalStatuses } from '@fluidbox/contracts';
import type { LogFollower, SqlClient } from '@fluidbox/event-store';
import { mentions, type StreamLoop } from '@fluidbox/service-kit';

/** After these a run may accept no work any more, and what is pending must be refused. */
const endingTypes: readonly EventType[] = ['session.status_changed', 'budget.exceeded', 'guard.tripped', 'coverage.gap'];
const types: readonly EventType[] = ['approval.requested', 'approval.decided', ...endingTypes];

const streamOf = (event: TimelineEvent): StreamRef => runStream(event.stream.slice('run-'.length), event.org);

/** Fills `approvals.timers`, from which a restart knows which runs to attend, and wakes what moved. */
export const timersFollower = (loop: Pick<StreamLoop, 'wake' | 'wakeKnown'>): LogFollower => ({
  name: 'approvals.timers',
  categories: ['run'],
  types,
  async handle(events, tx) {
    for (const event of events as readonly TimelineEvent[]) {
      const stream = streamOf(event);
      if (event.type === 'approval.requested') {
        const { approval_id, expires_at } = event.data;
        await tx.query(
          'insert into approvals.timers (approval_id, run_id, org_id, expires_at) values ($1, $2, $3, $4) on conflict do nothing',
          [approval_id, stream.id, stream.org, expires_at],
        );
        loop.wake(stream, event.seq);
        continue;
      }
      if (event.type === 'approval.decided')
        await tx.query('delete from approvals.timers where approval_id = $1', [event.data.approval_id]);
      if (event.type === 'session.status_changed' && (terminalStatuses as readonly string[]).includes(event.data.to)) {
        await tx.query('delete from approvals.timers where run_id = $1', [stream.id]);
      }
      loop.wakeKnown(stream.id, event.seq);
    }
  },
});

/** A run is attended from its first approval on; before that, what happens to it is no matter of this service. */
export function wakeOnLog(loop: Pick<StreamLoop, 'wake' | 'wakeKnown'>): (message: LogMessage) => void {
  return (message) => {
    if (message.category !== 'run') return;
    if (mentions(message, ['approval.requested'])) loop.wake(runStream(message.id, message.org), message.lastSeq);
    else if (mentions(message, endingTypes)) loop.wakeKnown(message.id, message.lastSeq);
  };
}

export async function runsWithTimers(sql: SqlClient): Promise<readonly StreamRef[]> {
  const { rows } = await sql.query<{ run_id: string; org_id: string }>('select distinct run_id, org_id from approvals.timers');
  return rows.map((row) => runStream(row.run_id, row.org_id));
}
