import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { getPostgreSQLEventStore } from '@event-driven-io/emmett-postgresql';
import { type EventDraft, runStream, type StreamRef } from '@fluidbox/contracts';
import { verifyChain } from '@fluidbox/event-store';
import { type ServiceContext, uuidV7Ids } from '@fluidbox/service-kit';
import pg, { type Client } from 'pg';
import { quantile, type Round, type Side } from './support/measure';
import type { Servers } from './support/servers';

/** As many as keep a peer's connections from being what is measured. */
export const peerConnections = 16;

export const decision = (call: number): EventDraft => ({
  type: 'tool.decision',
  actor: 'service:gate',
  data: {
    tool_call_id: `call_${call}`,
    tool: 'Bash',
    verdict: 'allow',
    source: 'policy',
    input_digest: `sha256:${'ab'.repeat(32)}`,
    code: 'policy_allow',
    rule: { index: 3, line: 12 },
    policy_digest: `sha256:${'cd'.repeat(32)}`,
    engine_version: '1',
  },
});

export type Append = (stream: StreamRef) => Promise<void>;

/** Each caller has a run of its own. */
export const newRuns = (count: number): StreamRef[] => Array.from({ length: count }, () => runStream(randomUUID(), 'default'));

/** Our appender as a service has it: redacted, chained, group-committed, published to NATS. */
export function appendOurs(gate: ServiceContext, acknowledged: Map<StreamRef, number>): Append {
  return async (stream) => {
    const seq = (acknowledged.get(stream) ?? 0) + 1;
    const stored = await gate.ledger.record(stream, [decision(seq)]);
    if (stored?.lastSeq !== seq) throw new Error(`expected seq ${seq} of ${stream.id}, got ${JSON.stringify(stored)}`);
    acknowledged.set(stream, seq);
  };
}

/** The usual shape: one event per transaction, the head locked, NOTIFY inside. */
export async function appendWithNotify(servers: Servers): Promise<Append> {
  const clients = await Promise.all(Array.from({ length: peerConnections }, () => servers.connect()));
  await clients[0]?.query(`
    create schema if not exists bench;
    create table if not exists bench.heads (stream text primary key, seq bigint not null);
    create table if not exists bench.events (stream text, seq bigint, event_id uuid not null unique, body text not null, primary key (stream, seq))`);
  const idle = [...clients];
  const waiting: ((client: Client) => void)[] = [];
  const take = (): Promise<Client> => {
    const client = idle.pop();
    return client === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(client);
  };
  const give = (client: Client): void => {
    const next = waiting.shift();
    if (next === undefined) idle.push(client);
    else next(client);
  };
  return async (stream) => {
    const client = await take();
    try {
      await client.query('begin');
      const { rows } = await client.query<{ seq: string }>(
        'insert into bench.heads values ($1, 1) on conflict (stream) do update set seq = heads.seq + 1 returning seq',
        [stream.id],
      );
      const seq = rows[0]?.seq ?? '0';
      const body = JSON.stringify(decision(Number(seq)));
      await client.query('insert into bench.events values ($1, $2, $3, $4)', [stream.id, seq, randomUUID(), body]);
      await client.query("select pg_notify('bench', $1)", [`${stream.id}:${seq}`]);
      await client.query('commit');
    } finally {
      give(client);
    }
  };
}

/** The event store that a Node project would take from npm, with a pool as large as the other peer's. */
export async function appendWithEmmett(servers: Servers): Promise<{ append: Append; close(): Promise<void> }> {
  const pool = new pg.Pool({ connectionString: servers.url, max: peerConnections });
  const store = getPostgreSQLEventStore(servers.url, { connectionOptions: { pool } });
  await store.schema.migrate();
  let calls = 0;
  return {
    append: async (stream) => {
      const { type, data } = decision(calls++);
      await store.appendToStream(`run-${stream.id}`, [{ type, data: { ...data } }]);
    },
    close: async () => {
      await store.close();
      await pool.end();
    },
  };
}

/** One row, one durable commit, one caller: what the disk allows. */
export async function bareCommit(servers: Servers): Promise<() => Promise<void>> {
  const client = await servers.connect();
  await client.query('create schema if not exists bench; create table if not exists bench.commits (at timestamptz)');
  return async () => {
    await client.query('insert into bench.commits values (now())');
  };
}

/**
 * A row of the ledger's size in a table with the ledger's three unique indexes, prepared, and nothing else: no head, no chain, no row security, no
 * redaction. What is left between it and `bareCommit` is what no append that keeps places and ids unique can save.
 */
export async function bareRow(servers: Servers): Promise<() => Promise<void>> {
  const client = await servers.connect();
  await client.query(`
    create schema if not exists bench;
    create table if not exists bench.rows (like ledger.events including defaults including identity);
    create unique index if not exists rows_place on bench.rows (stream, seq);
    create unique index if not exists rows_event_id on bench.rows (event_id);
    create unique index if not exists rows_position on bench.rows (global_position)`);
  const text = `insert into bench.rows (org_id, stream, category, generation, seq, prev_hash, hash, event_id, type, event_version, occurred_at, actor, body, body_digest)
    values ('default', $1, 'run', 1, $2, $3, $3, $4, 'tool.decision', 1, now(), 'service:gate', $5, $3) returning global_position`;
  const stream = `run-${randomUUID()}`;
  const hash = Buffer.alloc(32);
  const ids = uuidV7Ids();
  let seq = 0;
  return async () => {
    seq++;
    const body = Buffer.from(JSON.stringify({ ...decision(seq), event_id: stream, occurred_at: stream, stream }));
    await client.query({ name: 'bench-row', text, values: [stream, seq, hash, ids.uuid(), body] });
  };
}

/** All callers at once, each with its next event when the last is acknowledged: events per second, and what 99 of 100 did not wait longer than. */
export const rate =
  (name: string, streams: readonly StreamRef[], append: Append): Side =>
  async (ms): Promise<Round> => {
    const times: number[] = [];
    const started = performance.now();
    const until = started + ms;
    await Promise.all(
      streams.map(async (stream) => {
        let at = performance.now();
        do {
          await append(stream);
          const now = performance.now();
          times.push(now - at);
          at = now;
        } while (at < until);
      }),
    );
    return { [name]: times.length / ((performance.now() - started) / 1_000), [`${name} p99`]: quantile(times, 0.99) };
  };

/** Every acknowledged event is there, gapless, and its chain holds. */
export async function verifyAcknowledged(gate: ServiceContext, acknowledged: ReadonlyMap<StreamRef, number>): Promise<string> {
  let events = 0;
  for (const [stream, expected] of acknowledged) {
    const rows = await allOf(gate, stream);
    const chain = verifyChain(rows);
    if (rows.length !== expected || rows.some(({ seq }, index) => seq !== index + 1) || !chain.ok)
      throw new Error(`${stream.id}: ${rows.length} of ${expected} acknowledged events, chain ${JSON.stringify(chain)}`);
    events += rows.length;
  }
  return `${events} acknowledged events in ${acknowledged.size} runs: all there, gapless, chains hold`;
}

type Rows = Awaited<ReturnType<ServiceContext['store']['readWithHashes']>>;
export async function allOf(gate: Pick<ServiceContext, 'store'>, stream: StreamRef): Promise<Rows[number][]> {
  const rows: Rows[number][] = [];
  for (let page: Rows = await gate.store.readWithHashes(stream); page.length > 0; ) {
    rows.push(...page);
    page = await gate.store.readWithHashes(stream, { after: rows.at(-1)?.seq ?? 0 });
  }
  return rows;
}
