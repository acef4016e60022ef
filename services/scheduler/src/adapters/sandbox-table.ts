import { type EventType, type LogMessage, type RecordedEvent, runStream, type StreamRef } from '@fluidbox/contracts';
import type { LogFollower, SqlClient } from '@fluidbox/event-store';
import { mentions, type StreamLoop } from '@fluidbox/service-kit';
import type { ArtifactRow } from '../app/ports';

const types: readonly EventType[] = ['session.created', 'session.status_changed', 'lease.granted'];
const streamOf = (event: RecordedEvent): StreamRef => runStream(event.stream.slice('run-'.length), event.org);

/** Fills `scheduler.sandboxes`, where recovery starts: a run stands in it from its creation until its folder is cleaned up. */
export const sandboxesFollower = (loop: Pick<StreamLoop, 'wake' | 'wakeKnown'>): LogFollower => ({
  name: 'scheduler.sandboxes',
  categories: ['run'],
  types,
  async handle(events, tx) {
    for (const event of events) {
      const stream = streamOf(event);
      if (event.type === 'session.created') {
        await tx.query(
          "insert into scheduler.sandboxes (run_id, org_id, generation, sandbox_id, dir, state) values ($1, $2, 0, '', '', 'wanted') on conflict do nothing",
          [stream.id, stream.org],
        );
        loop.wake(stream, event.seq);
      } else loop.wakeKnown(stream.id, event.seq);
    }
  },
});

/** A created run is launched at once; the follower only makes sure that it is not forgotten. */
export function wakeOnLog(loop: Pick<StreamLoop, 'wake' | 'wakeKnown'>): (message: LogMessage) => void {
  return (message) => {
    if (message.category !== 'run') return;
    if (mentions(message, ['session.created'])) loop.wake(runStream(message.id, message.org), message.lastSeq);
    else if (mentions(message, types)) loop.wakeKnown(message.id, message.lastSeq);
  };
}

export async function runsOfTable(sql: SqlClient): Promise<readonly StreamRef[]> {
  const { rows } = await sql.query<{ run_id: string; org_id: string }>(
    'select run_id, org_id from scheduler.sandboxes order by created_at',
  );
  return rows.map((row) => runStream(row.run_id, row.org_id));
}

export async function forgetRun(sql: SqlClient, stream: StreamRef): Promise<void> {
  await sql.query('delete from scheduler.sandboxes where run_id = $1', [stream.id]);
}

/** For people who look: what a restart needs is in the run's folder. */
export async function noteSandbox(
  sql: SqlClient,
  stream: StreamRef,
  sandbox: { generation: number; sandboxId: string; dir: string; pid: number },
): Promise<void> {
  await sql.query(
    "update scheduler.sandboxes set generation = $2, sandbox_id = $3, dir = $4, supervisor_pid = $5, state = 'live', updated_at = now() where run_id = $1",
    [stream.id, sandbox.generation, sandbox.sandboxId, sandbox.dir, sandbox.pid],
  );
}

export async function saveArtifact(sql: SqlClient, artifact: ArtifactRow): Promise<void> {
  await sql.query(
    'insert into ledger.artifacts (id, run_id, org_id, kind, name, content_type, bytes, sha256, truncated) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing',
    [
      artifact.id,
      artifact.run.id,
      artifact.run.org,
      artifact.kind,
      artifact.name,
      artifact.contentType,
      artifact.bytes,
      artifact.sha256,
      artifact.truncated,
    ],
  );
}
