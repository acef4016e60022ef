import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { runStream, type StreamRef } from '@fluidbox/contracts';
import { recordedCalls } from '../../../services/run-specs/src/adapters/recorded-calls';
import { decision } from '../append-sides';
import { callOf } from '../rebuild/log';
import type { Servers } from '../support/servers';
import { flat, type GrowthRow, type Point } from './row';
import { medianMillis, runOf } from './run-of';

const sizes = { toy: [1e3, 1e4], usual: [1e4, 1e5, 5e5], full: [1e4, 1e5, 1e6, 1e7] };
const eventsOfRun = 200;
const insertRuns = 2_500;
const page = 100;

/** Ordered like those of services: the time in front. */
const uuidOf = (n: string): string => `(lpad(to_hex(${n}), 12, '0') || '70008000000000000000')::uuid`;

/** Events of other runs, as readers accept them, and their heads; only their chains are wrong. The fastest way to very many. */
async function addRuns(servers: Servers, templates: readonly [string, string], from: number, to: number): Promise<void> {
  const client = await servers.connect();
  for (let run = from / eventsOfRun; run < to / eventsOfRun; run += insertRuns) {
    const runs = [run, Math.min(run + insertRuns, Math.ceil(to / eventsOfRun)) - 1];
    await client.query(
      `insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash)
       select 'default', r.stream, 'run', s, e.id, case when s % 2 = 1 then 'tool.requested' else 'tool.decision' end, 1, 0, now(), 'service:gate', b.body, sha256(b.body), sha256(b.body), sha256(b.body)
       from (select 'run-' || ${uuidOf('n')} as stream, n from generate_series($1::integer, $2::integer) n) r, generate_series(1, $3::integer) s,
         lateral (select ${uuidOf(`r.n * 1000::bigint + s`)} as id) e,
         lateral (select convert_to(replace(replace(case when s % 2 = 1 then $4 else $5 end, '{stream}', r.stream), '{id}', e.id::text), 'UTF8') as body) b`,
      [...runs, eventsOfRun, ...templates],
    );
    await client.query(
      `insert into ledger.stream_heads (stream, org_id, category, seq, hash, closed)
       select 'run-' || ${uuidOf('n')}, 'default', 'run', $3, sha256(n::text::bytea), true from generate_series($1::integer, $2::integer) n`,
      [...runs, eventsOfRun],
    );
  }
  // What so much writing leaves to be done would be done while the table is measured: it belongs to the filling, not to the size.
  await client.query('vacuum (analyze) ledger.events, ledger.stream_heads');
  await client.query('checkpoint');
  await client.end();
}

/** Bodies of a call and of its decision as the ledger stores them, with places for what differs. */
async function templatesOf(servers: Servers): Promise<readonly [string, string]> {
  const gate = await servers.context('gate');
  const stream = runStream(randomUUID(), 'default');
  await gate.ledger.record(stream, callOf(1));
  const [call, decided] = (await gate.store.readWithHashes(stream)).map((event) =>
    event.body.replaceAll(event.stream, '{stream}').replaceAll(event.eventId, '{id}'),
  );
  if (call === undefined || decided === undefined) throw new Error('an event is missing');
  return [call, decided];
}

/** What services ask of the ledger while they work, each about one run or one page of the log. */
async function questions(servers: Servers, one: StreamRef, rows: number): Promise<() => Promise<void>> {
  const [{ store }, { sql, keyring }] = [await servers.context('gate'), await servers.context('run-specs')];
  const gateway = await servers.context('gateway');
  const history = recordedCalls(sql, keyring);
  const seen = { runs: 0, erased: 0, unreadable: 0, complete: true };
  const expect = (what: string, found: number, wanted: number): void => {
    if (found !== wanted) throw new Error(`${what}: ${found}, not ${wanted}`);
  };
  return async () => {
    expect('a page of a run', (await store.read(one, { after: 50, limit: page })).length, page);
    expect('a page with its content', (await gateway.store.readSealed(one, { after: 50, limit: page })).length, page);
    expect('the head', (await store.head(one))?.version ?? 0, eventsOfRun);
    expect('heads', (await store.heads('default', [`run-${one.id}`])).size, 1);
    expect('a page of the log', (await store.scan({ after: Math.floor(rows / 2), limit: page, categories: ['run'] })).events.length, page);
    // Their content was never there: what is asked is where the newest calls stand.
    const before = seen.erased;
    for await (const call of history.read('default', { calls: page, since: null, ofPolicy: null }, seen))
      throw new Error(`opened ${call.callId}`);
    expect('calls', seen.erased - before, page);
  };
}

/** What it did to the tables of the ledger: whole scans of a table that grows would be the end of the law. */
async function scansOf(servers: Servers): Promise<() => Promise<string[]>> {
  const client = await servers.connect();
  const count = async (): Promise<Map<string, number>> => {
    // An idle session tells of its last scans within ten seconds.
    await delay(11_000);
    const { rows } = await client.query<{ relname: string; seq_scan: string }>(
      "select relname, seq_scan from pg_stat_user_tables where schemaname = 'ledger' and relname in ('events', 'stream_heads')",
    );
    return new Map(rows.map((row) => [row.relname, Number(row.seq_scan)]));
  };
  const before = await count();
  return async () => [...(await count())].filter(([table, scans]) => scans > (before.get(table) ?? 0)).map(([table]) => table);
}

interface ByTable {
  readonly append: Point[];
  readonly questions: Point[];
}
async function measureByTable(servers: Servers, wanted: readonly number[], times: number): Promise<ByTable> {
  const gate = await servers.context('gate');
  const templates = await templatesOf(servers);
  const points: ByTable = { append: [], questions: [] };
  let rows = 0;
  for (const events of wanted) {
    await addRuns(servers, templates, rows, events);
    rows = events;
    const one = await runOf(gate, eventsOfRun);
    const stream = await runOf(gate, 1);
    const ask = await questions(servers, one, rows);
    // A small table may be read whole.
    const scanned = events < 1e5 ? null : await scansOf(servers);
    points.append.push({ size: events, cost: await medianMillis(times, () => gate.ledger.record(stream, [decision(1)])) });
    points.questions.push({ size: events, cost: await medianMillis(times / 5, ask) });
    const tables = (await scanned?.()) ?? [];
    if (tables.length > 0) throw new Error(`with ${events} events ${tables.join(' and ')} were scanned from end to end`);
  }
  return points;
}

/** Both rows ask the same large table; filling it is most of the work. */
const measured = new WeakMap<Servers, Promise<ByTable>>();
async function byTable(servers: Servers, size: keyof typeof sizes): Promise<ByTable> {
  const measure = async (): Promise<ByTable> => {
    const apart = await servers.apart();
    try {
      return await measureByTable(apart, sizes[size], size === 'toy' ? 50 : 500);
    } finally {
      await apart.stop();
    }
  };
  const points = measured.get(servers) ?? measure();
  measured.set(servers, points);
  return points;
}

export const appendByTable: GrowthRow = {
  name: 'append by table',
  what: 'ms of an append, over the events of all runs together',
  exponentMax: flat,
  measure: async (servers, size) => (await byTable(servers, size)).append,
};
export const askByTable: GrowthRow = {
  name: 'ask by table',
  what: 'ms of a page of a run, bare and with its content, its head, a page of the log and the newest calls, over the events of all runs together',
  exponentMax: flat,
  measure: async (servers, size) => (await byTable(servers, size)).questions,
};
