import { type RecordedEvent, type TimelineEvent, terminalStatuses } from '@fluidbox/contracts';
import type { Clock, LogFollower } from '@fluidbox/event-store';
import { type ProjectPorts, projectPage } from '../app/project-page';
import { type RepublishPorts, republishGaps } from '../app/republish-gaps';
import { type CheckpointPorts, signCheckpoint } from '../app/sign-checkpoint';

/** Of the rows this version writes. A change of the rows is a new number, filled beside the live one. */
export const modelVersion = 1;

export const readModelFollower = (ports: ProjectPorts): LogFollower => ({
  name: `projector.read-models.${modelVersion}`,
  categories: ['run'],
  handle: (events, tx) => projectPage(ports, events, tx),
});

const endsRun = (recorded: RecordedEvent): boolean => {
  const event = recorded as TimelineEvent;
  // Both stand in the closing group, in this order: a page may end between them.
  return (
    event.type === 'run.result' ||
    (event.type === 'session.status_changed' && (terminalStatuses as readonly string[]).includes(event.data.to))
  );
};

/** Signs at the end of a run, in the transaction that moves the position; notes which live runs moved. */
export const checkpointFollower = (ports: CheckpointPorts, clock: Clock): LogFollower => ({
  name: 'projector.checkpoints',
  categories: ['run'],
  async handle(events, tx) {
    const now = clock.now().getTime();
    for (const event of events) {
      const runId = event.stream.slice('run-'.length);
      if (endsRun(event)) await signCheckpoint(ports, runId, event.org, tx);
      else ports.live.moved(runId, event.org, now);
    }
  },
});

export const republishFollower = (ports: RepublishPorts): LogFollower => ({
  name: 'projector.republish',
  categories: ['run', 'agent', 'policy'],
  handle: (events) => republishGaps(ports, events),
});
