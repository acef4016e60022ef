import type { Bus } from '@fluidbox/bus';
import { callMapEntries, type LogMessage, type ServiceName } from '@fluidbox/contracts';
import { type EventStore, type Ledger, type LogFollower, type RunningFollower, startFollower } from '@fluidbox/event-store';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Stops } from './stops';

/** After a commit the batch goes to the log. */
export function publishCommits(store: EventStore, bus: Bus): void {
  store.onCommitted((message) => bus.publishLog(message));
}

/** Batches of other processes reach the cached folds and whoever waits for them; after an outage everything cached is doubted. */
export function applyLog(
  name: ServiceName,
  bus: Bus,
  ledger: Ledger,
  listeners: readonly ((message: LogMessage) => void)[],
  stops: Stops,
): void {
  const { follows } = callMapEntries[name];
  if (follows.length === 0) return;
  const subscription = bus.followLog(follows, (message) => {
    ledger.apply(message);
    for (const listener of listeners) listener(message);
  });
  bus.onReconnect(() => ledger.doubt());
  stops.add('log', () => subscription.drain());
}

export interface FollowerWiring {
  readonly pool: Pool;
  readonly store: EventStore;
  readonly bus: Bus;
  readonly log: Logger;
}

/** Durable followers; the log only wakes them. */
export function startFollowers(followers: readonly LogFollower[], wiring: FollowerWiring, stops: Stops): readonly RunningFollower[] {
  const { pool, store, bus, log } = wiring;
  const running = followers.map((follower) =>
    startFollower({
      pool,
      follower,
      store,
      onProblem: (message, { error, ...detail }) => log.error({ err: error, ...detail }, message),
    }),
  );
  bus.onReconnect(() => {
    for (const follower of running) follower.wake();
  });
  if (running.length > 0) stops.add('followers', async () => void (await Promise.all(running.map((follower) => follower.stop()))));
  return running;
}
