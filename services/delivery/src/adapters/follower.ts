import { actionableEvent, type RecordedEvent, timelineEvent, type WebhookEvent, webhookEvents } from '@fluidbox/contracts';
import type { EventStore, LogFollower, SqlClient } from '@fluidbox/event-store';
import { uuidV5 } from '@fluidbox/seal';
import type { Clock } from '@fluidbox/service-kit';
import type { DeliveryTable, NewDelivery } from '../app/ports';
import { type ApprovalRequested, approvalMessage, type RunResult, resultMessage } from '../domain/message';

export interface FollowerPorts {
  readonly sql: SqlClient;
  readonly store: Pick<EventStore, 'eventsAt'>;
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
  const asked: Asked[] = [];
  for (const each of subscribers.length === 0 ? [] : events) {
    const event = actionableEvent(each);
    if (event.type !== 'approval.requested' && event.type !== 'run.result') continue;
    // Whoever subscribes is told of what comes after, also when the follower is behind.
    const by = subscribers.filter(
      (one) => one.org_id === event.org && one.events.includes(event.type) && one.created_at.getTime() <= Date.parse(event.occurredAt),
    );
    if (by.length > 0) asked.push({ event, by });
  }
  const known = await lookUp(ports.store, asked);
  return asked.flatMap((each) => deliveriesFor(ports, each, known));
}

/** An event, and who asked for such. */
interface Asked {
  readonly event: Told;
  readonly by: readonly Subscriber[];
}

function deliveriesFor(ports: FollowerPorts, { event, by }: Asked, known: Known): NewDelivery[] {
  const runId = event.stream.slice('run-'.length);
  const agent = agentOf(known(event.stream, 1));
  const run = { runId, agent };
  const message =
    event.type === 'approval.requested'
      ? approvalMessage(event, run, ports.publicUrl)
      : resultMessage(event, run, known(event.stream, event.seq).hash);
  const wanted = by.filter((each) => each.agent === null || each.agent === agent);
  return wanted.map((each) => ({
    id: uuidV5(event.org, 'delivery', `${each.id} ${event.eventId}`),
    webhookId: each.id,
    org: event.org,
    type: event.type,
    runId,
    eventId: event.eventId,
    message,
    expiresAt: event.type === 'approval.requested' ? event.data.expires_at : null,
  }));
}

type Known = (stream: string, seq: number) => RecordedEvent & { readonly hash: string };

/** The first event of each run, which names its agent, and those that are told of, for their hashes: one query for each organisation, not two for each event. */
async function lookUp(store: FollowerPorts['store'], asked: readonly Asked[]): Promise<Known> {
  const found = new Map<string, RecordedEvent & { readonly hash: string }>();
  for (const org of new Set(asked.map(({ event }) => event.org))) {
    const places = asked
      .filter(({ event }) => event.org === org)
      .flatMap(({ event: { stream, seq } }) => [
        { stream, seq: 1 },
        { stream, seq },
      ]);
    for (const event of await store.eventsAt(org, places)) found.set(`${event.stream} ${event.seq}`, event);
  }
  return (stream, seq) => {
    const event = found.get(`${stream} ${seq}`);
    if (event === undefined) throw new Error(`event ${seq} of ${stream} is not there`);
    return event;
  };
}

function agentOf(first: RecordedEvent): string {
  const created = timelineEvent(first);
  if (created?.type !== 'session.created') throw new Error(`${first.stream} does not begin with session.created`);
  return created.data.agent;
}
