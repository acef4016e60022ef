import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { type EventDraft, runStream, type StreamRef } from '@fluidbox/contracts';
import { verifyChain } from '@fluidbox/event-store';
import type { ServiceContext } from '@fluidbox/service-kit';
import type { Client } from 'pg';
import { type Bench, type Figures, measureRounds, medianTime, type Round, type Side } from './support/measure';
import type { Servers } from './support/servers';

const connections = 16;

const decision = (call: number): EventDraft => ({
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

/** Our appender as a service has it: redacted, chained, group-committed, published to NATS. Each caller writes its own run. */
function ours(gate: ServiceContext, acknowledged: Map<StreamRef, number>) {
  return async (stream: StreamRef): Promise<void> => {
    const seq = (acknowledged.get(stream) ?? 0) + 1;
    const stored = await gate.ledger.record(stream, [decision(seq)]);
    if (stored?.lastSeq !== seq) throw new Error(`expected seq ${seq} of ${stream.id}, got ${JSON.stringify(stored)}`);
    acknowledged.set(stream, seq);
  };
}

/** The usual shape: one event per transaction, the head locked, NOTIFY inside. */
async function peer(servers: Servers): Promise<(stream: StreamRef) => Promise<void>> {
  const clients = await Promise.all(Array.from({ length: connections }, () => servers.connect()));
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

/** One row, one durable commit, one caller: what the disk allows. */
export async function bareCommit(servers: Servers): Promise<() => Promise<void>> {
  const client = await servers.connect();
  await client.query('create schema if not exists bench; create table if not exists bench.commits (at timestamptz)');
  return async () => {
    await client.query('insert into bench.commits values (now())');
  };
}

const perSecond =
  (streams: readonly StreamRef[], append: (stream: StreamRef) => Promise<void>): Side =>
  async (ms) => {
    let events = 0;
    const started = performance.now();
    const until = started + ms;
    await Promise.all(
      streams.map(async (stream) => {
        for (; performance.now() < until; events++) await append(stream);
      }),
    );
    return events / ((performance.now() - started) / 1_000);
  };

async function withSides(callers: number, servers: Servers, work: (sides: AppendSides) => Promise<readonly Round[]>): Promise<Figures> {
  const gate = await servers.context('gate');
  const acknowledged = new Map<StreamRef, number>();
  const rounds = await work({
    streams: Array.from({ length: callers }, () => runStream(randomUUID(), 'default')),
    ours: ours(gate, acknowledged),
    theirs: await peer(servers),
    commit: await bareCommit(servers),
  });
  const verified = await verify(gate, acknowledged);
  return {
    rounds,
    verified,
    settings: { ...(await servers.settings()), callers: String(callers), 'peer connections': String(connections) },
  };
}

interface AppendSides {
  readonly streams: readonly StreamRef[];
  readonly ours: (stream: StreamRef) => Promise<void>;
  readonly theirs: (stream: StreamRef) => Promise<void>;
  readonly commit: () => Promise<void>;
}

/** Every acknowledged event is there, gapless, and its chain holds. */
async function verify(gate: ServiceContext, acknowledged: ReadonlyMap<StreamRef, number>): Promise<string> {
  let events = 0;
  for (const [stream, expected] of acknowledged) {
    const rows = [];
    for (
      let page = await gate.store.readWithHashes(stream);
      page.length > 0;
      page = await gate.store.readWithHashes(stream, { after: rows.length })
    )
      rows.push(...page);
    const chain = verifyChain(rows);
    if (rows.length !== expected || rows.some(({ seq }, index) => seq !== index + 1) || !chain.ok)
      throw new Error(`${stream.id}: ${rows.length} of ${expected} acknowledged events, chain ${JSON.stringify(chain)}`);
    events += rows.length;
  }
  return `${events} acknowledged events in ${acknowledged.size} runs: all there, gapless, chains hold`;
}

export const appendMany: Bench = {
  id: 'A2',
  what: 'append, 64 callers: events per second',
  unit: 'events/s',
  sides: {
    ours: 'the appender of a service',
    theirs: 'one event per transaction, NOTIFY inside',
    control: 'bare one-row commits, 1 caller',
  },
  checks: [{ name: 'ours / NOTIFY', op: '>=', goal: 6, stretch: 10, ours: 'ours', peer: 'theirs' }],
  run: async (plan, start) =>
    withSides(64, await start(), ({ streams, ours, theirs, commit }) =>
      measureRounds(plan, {
        ours: perSecond(streams, ours),
        theirs: perSecond(streams, theirs),
        control: perSecond(streams.slice(0, 1), () => commit()),
      }),
    ),
};

export const appendOne: Bench = {
  id: 'A4',
  what: 'append, 1 caller: median time',
  unit: 'ms',
  sides: { ours: 'the appender of a service', theirs: 'a bare one-row commit', control: 'one event per transaction, NOTIFY inside' },
  checks: [{ name: 'ours / commit', op: '<=', goal: 1.3, stretch: 1.1, ours: 'ours', peer: 'theirs' }],
  run: async (plan, start) =>
    withSides(1, await start(), ({ streams, ours, theirs, commit }) => {
      const [stream] = streams as [StreamRef];
      return measureRounds(plan, {
        ours: (ms) => medianTime(ms, () => ours(stream)),
        theirs: (ms) => medianTime(ms, commit),
        control: (ms) => medianTime(ms, () => theirs(stream)),
      });
    }),
};
