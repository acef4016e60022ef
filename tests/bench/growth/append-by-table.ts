import { decision } from '../append-sides';
import type { Servers } from '../support/servers';
import { flat, type GrowthRow, type Point } from './row';
import { medianMillis, runOf } from './run-of';

const sizes = { toy: [1e3, 1e4], usual: [1e4, 1e5, 5e5], full: [1e4, 1e5, 1e6, 1e7] };
const eventsOfRun = 200;
const insertRuns = 2_500;

/** Events of other runs, as rows only: no reader would accept them, so this row of the table comes last. */
async function addRows(servers: Servers, from: number, to: number): Promise<void> {
  const client = await servers.connect();
  for (let run = from / eventsOfRun; run < to / eventsOfRun; run += insertRuns) {
    await client.query(
      `insert into ledger.events (org_id, stream, category, seq, event_id, type, event_version, generation, occurred_at, actor, body, body_digest, prev_hash, hash)
       select 'default', 'run-' || md5(r::text)::uuid, 'run', s, gen_random_uuid(), 'tool.decision', 1, 0, now(), 'service:gate', b.body, sha256(b.body), sha256(b.body), sha256(b.body)
       from generate_series($1::integer, $2::integer - 1) r, generate_series(1, $3::integer) s, lateral (select convert_to(repeat(md5((r * 1000 + s)::text), 15), 'UTF8') as body) b`,
      [run, Math.min(run + insertRuns, Math.ceil(to / eventsOfRun)), eventsOfRun],
    );
  }
  await client.query('analyze ledger.events');
}

export const appendByTable: GrowthRow = {
  name: 'append by table',
  what: 'ms of an append, over the events of all runs together',
  exponentMax: flat,
  async measure(servers, size) {
    const gate = await servers.context('gate');
    const points: Point[] = [];
    let rows = 0;
    for (const events of sizes[size]) {
      await addRows(servers, rows, events);
      rows = events;
      const stream = await runOf(gate, 1);
      points.push({ size: events, cost: await medianMillis(500, () => gate.ledger.record(stream, [decision(1)])) });
    }
    return points;
  },
};
