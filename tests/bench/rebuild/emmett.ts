import { randomUUID } from 'node:crypto';
import { SQL } from '@event-driven-io/dumbo';
import type { Event } from '@event-driven-io/emmett';
import { getPostgreSQLEventStore, postgreSQLRawBatchSQLProjection, rebuildPostgreSQLProjections } from '@event-driven-io/emmett-postgresql';
import type { Client } from 'pg';
import type { Servers } from '../support/servers';
import { callOf, eventsPerRun } from './log';

// Names of their own: another bench may have left events of the ledger's names in Emmett's tables.
type Decided = Event<'rebuilt.tool.decision', { tool: string; verdict: string }>;
type Requested = Event<'rebuilt.tool.requested', { tool: string }>;

/** Emmett's shape of the same: the same events in its tables, a projection that sums decisions by batches of the same size. */
export async function emmettRebuild(
  servers: Servers,
  runs: number,
): Promise<{ rebuild(): Promise<number>; counted(): Promise<number>; close(): Promise<void> }> {
  const client: Client = await servers.connect();
  await client.query('create schema if not exists bench');
  await client.query('create table if not exists bench.decisions (tool text, verdict text, calls bigint, primary key (tool, verdict))');
  const store = getPostgreSQLEventStore(servers.url);
  await store.schema.migrate();
  const calls = eventsPerRun / 2;
  for (let run = 0; run < runs; run += 1) {
    const events = Array.from({ length: calls }, (_, call) => callOf(call)).flat();
    await store.appendToStream(
      `run-${randomUUID()}`,
      events.map(({ type, data }) => ({ type: `rebuilt.${type}`, data: { ...data } })),
    );
  }
  // A name of its own each time: under an old one it would go on where it ended.
  const projection = () =>
    postgreSQLRawBatchSQLProjection<Decided | Requested>({
      name: `decisions_${randomUUID()}`,
      canHandle: ['rebuilt.tool.decision', 'rebuilt.tool.requested'],
      evolve: (events) => {
        const counts = new Map<string, { tool: string; verdict: string; calls: number }>();
        for (const event of events) {
          if (event.type !== 'rebuilt.tool.decision') continue;
          const { tool, verdict } = event.data;
          const known = counts.get(`${tool} ${verdict}`) ?? { tool, verdict, calls: 0 };
          known.calls += 1;
          counts.set(`${tool} ${verdict}`, known);
        }
        return [...counts.values()].map(
          ({ tool, verdict, calls }) =>
            SQL`insert into bench.decisions values (${tool}, ${verdict}, ${calls}) on conflict (tool, verdict) do update set calls = decisions.calls + excluded.calls`,
        );
      },
    });
  return {
    async rebuild() {
      await client.query('truncate bench.decisions');
      const consumer = rebuildPostgreSQLProjections<Decided | Requested>({
        connectionString: servers.url,
        // Its default waits 50 ms between batches.
        pulling: { batchSize: 1_000, pullingFrequencyInMs: 1 },
        projections: [projection()],
      });
      const started = performance.now();
      await consumer.start();
      const seconds = (performance.now() - started) / 1_000;
      await consumer.close();
      return seconds;
    },
    async counted() {
      const { rows } = await client.query<{ n: string }>('select coalesce(sum(calls), 0) as n from bench.decisions');
      return Number(rows[0]?.n);
    },
    close: () => store.close(),
  };
}
