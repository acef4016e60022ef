import { type RecordedEvent, type StreamRef, terminalStatuses, timelineEvent } from '@fluidbox/contracts';
import type { Clock, EventStore, LogFollower } from '@fluidbox/event-store';
import { type ProjectPorts, projectPage, projectParked } from '../app/project-page';
import { type RepublishPorts, refOf, republishGaps } from '../app/republish-gaps';
import { type CheckpointPorts, signCheckpoints } from '../app/sign-checkpoint';
import { liveFollowerName } from '../domain/read-models';
import { liveVersions, versionsWithout } from './rebuild-table';

/** Rows of the live versions and the position, in one transaction. */
export const readModelFollower = (ports: ProjectPorts & { readonly store: Pick<EventStore, 'read'> }): LogFollower => ({
  name: liveFollowerName,
  categories: ['run'],
  async handle(events, tx) {
    const models = await liveVersions(tx);
    // Sums are added: what stands before the position is in them, whoever hands it over again.
    const { rows } = await tx.query<{ position: string }>('select position from ledger.positions where name = $1 for update', [
      liveFollowerName,
    ]);
    const position = Number(rows[0]?.position ?? 0);
    const fresh = events.filter((event) => event.globalPosition > position);
    if (fresh.length > 0) await projectPage(ports, models, fresh, tx);
  },
  replay: async (event, tx) => projectParked(ports, await versionsWithout(tx, liveFollowerName, event.globalPosition), event, tx),
});

const endsRun = (recorded: RecordedEvent): boolean => {
  const event = timelineEvent(recorded);
  // Both stand in the closing group, in this order: a page may end between them.
  return (
    recorded.type === 'run.result' ||
    (event?.type === 'session.status_changed' && (terminalStatuses as readonly string[]).includes(event.data.to))
  );
};

/** Signs at the end of a run and what was erased of it, in the transaction that moves the position; notes which live runs moved. */
export const checkpointFollower = (ports: CheckpointPorts, clock: Clock): LogFollower => ({
  name: 'projector.checkpoints',
  categories: ['run', 'erasure'],
  async handle(events, tx) {
    const now = clock.now().getTime();
    const due = new Map<string, StreamRef>();
    for (const event of events) {
      const ref = refOf(event);
      if (ref.category === 'erasure' || endsRun(event)) due.set(event.stream, ref);
      else ports.live.moved(ref.id, event.org, now);
    }
    await signCheckpoints(ports, [...due.values()], tx);
  },
});

export const republishFollower = (ports: RepublishPorts): LogFollower => ({
  name: 'projector.republish',
  categories: ['run', 'agent', 'policy', 'erasure', 'webhook', 'delivery'],
  handle: (events) => republishGaps(ports, events),
});
