import {
  actionableEvent,
  type EventType,
  type LogMessage,
  type RunStatus,
  runStream,
  type StreamRef,
  type TimelineEvent,
  terminalStatuses,
} from '@fluidbox/contracts';
import type { LogFollower, SqlClient } from '@fluidbox/event-store';
import { mentions, type StreamLoop } from '@fluidbox/service-kit';

/** After these a run may accept no work any more, and what is pending must be refused. */
const endingTypes: readonly EventType[] = ['session.status_changed', 'budget.exceeded', 'guard.tripped', 'coverage.gap'];
/** Of the statuses, these leave a run at work. */
const runningOn: ReadonlySet<RunStatus> = new Set<RunStatus>(['created', 'provisioning', 'initializing', 'running']);
const types: readonly EventType[] = ['approval.requested', 'approval.decided', ...endingTypes];

const streamOf = (event: TimelineEvent): StreamRef => runStream(event.stream.slice('run-'.length), event.org);

/**
 * Fills `approvals.timers`, from which a restart knows which runs to attend and when, and wakes what moved. What a run's end makes due is written down as
 * due: a process that dies before it has refused it is followed by one that finds it.
 */
export const timersFollower = (loop: Pick<StreamLoop, 'wake' | 'wakeKnown'>): LogFollower => ({
  name: 'approvals.timers',
  categories: ['run'],
  types,
  async handle(events, tx) {
    for (const event of events.map((each) => actionableEvent(each))) {
      const stream = streamOf(event);
      switch (event.type) {
        case 'approval.requested': {
          const { approval_id, expires_at } = event.data;
          await tx.query(
            'insert into approvals.timers (approval_id, run_id, org_id, expires_at) values ($1, $2, $3, $4) on conflict do nothing',
            [approval_id, stream.id, stream.org, expires_at],
          );
          loop.wake(stream, event.seq);
          break;
        }
        case 'approval.decided':
          await tx.query('delete from approvals.timers where approval_id = $1', [event.data.approval_id]);
          loop.wakeKnown(stream.id, event.seq);
          break;
        default:
          await endOfWork(event, stream, tx, loop);
      }
    }
  },
});

async function endOfWork(
  event: TimelineEvent,
  stream: StreamRef,
  tx: SqlClient,
  loop: Pick<StreamLoop, 'wake' | 'wakeKnown'>,
): Promise<void> {
  if (event.type === 'session.status_changed') {
    if (runningOn.has(event.data.to)) return;
    if ((terminalStatuses as readonly string[]).includes(event.data.to)) {
      await tx.query('delete from approvals.timers where run_id = $1', [stream.id]);
      loop.wakeKnown(stream.id, event.seq);
      return;
    }
  }
  const { rowCount } = await tx.query('update approvals.timers set expires_at = least(expires_at, now()) where run_id = $1', [stream.id]);
  if (rowCount > 0) loop.wake(stream, event.seq);
}

/** A run is attended from its first approval on; before that, what happens to it is no matter of this service. */
export function wakeOnLog(loop: Pick<StreamLoop, 'wake' | 'wakeKnown'>): (message: LogMessage) => void {
  return (message) => {
    if (message.category !== 'run') return;
    if (mentions(message, ['approval.requested'])) loop.wake(runStream(message.id, message.org), message.lastSeq);
    else if (mentions(message, endingTypes)) loop.wakeKnown(message.id, message.lastSeq);
  };
}

/** The runs with a pending approval, and when the first of each is due. One row per run, however many wait. */
export async function runsWithTimers(sql: SqlClient): Promise<readonly { stream: StreamRef; dueAt: number }[]> {
  const { rows } = await sql.query<{ run_id: string; org_id: string; due_at: Date }>(
    'select run_id, org_id, min(expires_at) as due_at from approvals.timers group by run_id, org_id',
  );
  return rows.map((row) => ({ stream: runStream(row.run_id, row.org_id), dueAt: row.due_at.getTime() }));
}
