import {
  actionableEvent,
  type RecordedEvent,
  runStream,
  type StreamRef,
  timelineEvent,
  type WebhookEvent,
  webhookEvents,
} from '@fluidbox/contracts';
import type { EventStore, LogFollower, SqlClient } from '@fluidbox/event-store';
import { uuidV5 } from '@fluidbox/seal';
import type { Clock } from '@fluidbox/service-kit';
import type { DeliveryTable, NewDelivery } from '../app/ports';
import { type ApprovalRequested, approvalMessage, type RunResult, resultMessage } from '../domain/message';

export interface FollowerPorts {
  readonly sql: SqlClient;
  readonly store: Pick<EventStore, 'read' | 'readWithHashes'>;
  readonly deliveries: Pick<DeliveryTable, 'add'>;
  readonly clock: Clock;
  readonly publicUrl: string;
  readonly wake: () => void;
}

type Told = ApprovalRequested | RunResult;

interface Subscriber {
  id: string;
  org_id: string;
  agent: string | null;
  events: WebhookEvent[];
  created_at: Date;
}

/**
 * Makes a delivery for everybody who subscribed, in the transaction of the position. What a delivery needs of the run is read before, so that the transaction
 * is short. Its id follows from webhook and event: made again it is the same one.
 */
export const deliveriesFollower = (ports: FollowerPorts): LogFollower => ({
  name: 'delivery.deliveries',
  categories: ['run'],
  types: webhookEvents,
  async handle(events, tx) {
    const made = await deliveriesOf(ports, events);
    if (made.length > 0) await ports.deliveries.add(made, ports.clock.now(), tx);
  },
  committed: ports.wake,
});

async function deliveriesOf(ports: FollowerPorts, events: readonly RecordedEvent[]): Promise<NewDelivery[]> {
  const { rows: subscribers } = await ports.sql.query<Subscriber>(
    `select id, org_id, agent, events, created_at from delivery.webhooks
     where org_id = any ($1) and removed_at is null and disabled_at is null`,
    [[...new Set(events.map((event) => event.org))]],
  );
  const made: NewDelivery[] = [];
  for (const each of subscribers.length === 0 ? [] : events) {
    const event = actionableEvent(each);
    if (event.type !== 'approval.requested' && event.type !== 'run.result') continue;
    // Whoever subscribes is told of what comes after, also when the follower is behind.
    const asked = subscribers.filter(
      (one) => one.org_id === event.org && one.events.includes(event.type) && one.created_at.getTime() <= Date.parse(event.occurredAt),
    );
    if (asked.length > 0) made.push(...(await deliveriesFor(ports, event, asked)));
  }
  return made;
}

async function deliveriesFor(ports: FollowerPorts, event: Told, asked: readonly Subscriber[]): Promise<NewDelivery[]> {
  const stream = runStream(event.stream.slice('run-'.length), event.org);
  const agent = await agentOf(ports.store, stream);
  const wanted = asked.filter((each) => each.agent === null || each.agent === agent);
  if (wanted.length === 0) return [];
  const run = { runId: stream.id, agent };
  const message =
    event.type === 'approval.requested'
      ? approvalMessage(event, run, ports.publicUrl)
      : resultMessage(event, run, await hashOf(ports.store, stream, event.seq));
  return wanted.map((each) => ({
    id: uuidV5(event.org, 'delivery', `${each.id} ${event.eventId}`),
    webhookId: each.id,
    org: event.org,
    type: event.type,
    runId: stream.id,
    eventId: event.eventId,
    message,
    expiresAt: event.type === 'approval.requested' ? event.data.expires_at : null,
  }));
}

async function agentOf(store: FollowerPorts['store'], stream: StreamRef): Promise<string> {
  const [first] = await store.read(stream, { limit: 1 });
  const created = first === undefined ? null : timelineEvent(first);
  if (created?.type !== 'session.created') throw new Error(`run ${stream.id} does not begin with session.created`);
  return created.data.agent;
}

async function hashOf(store: FollowerPorts['store'], stream: StreamRef, seq: number): Promise<string> {
  const [event] = await store.readWithHashes(stream, { after: seq - 1, limit: 1 });
  if (event?.seq !== seq) throw new Error(`event ${seq} of run ${stream.id} is not there`);
  return event.hash;
}
