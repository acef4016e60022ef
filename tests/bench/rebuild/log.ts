import { randomUUID } from 'node:crypto';
import { type EventDraft, type ReadModelName, runStream } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { createdRun } from '@fluidbox/testing';
import { postgresReadTables } from '../../../services/projector/src/adapters/read-tables';
import { askForRebuild, postgresRebuilds, readModels } from '../../../services/projector/src/adapters/rebuild-table';
import { rebuild } from '../../../services/projector/src/app/rebuild';
import { liveFollowerName } from '../../../services/projector/src/domain/read-models';
import type { Servers } from '../support/servers';

export const eventsPerRun = 200;
const tools = ['Bash', 'Read', 'Edit', 'Write', 'Grep'] as const;
const digest = `sha256:${'ab'.repeat(32)}`;

/** A call and its decision: what most events of a run are. */
export const callOf = (call: number): EventDraft[] => {
  const about = { tool_call_id: `call_${call}`, tool: tools[call % tools.length] ?? 'Bash', input_digest: digest };
  return [
    { type: 'tool.requested', actor: 'runner', data: { ...about, generation: 1 } },
    {
      type: 'tool.decision',
      actor: 'service:gate',
      data: { ...about, verdict: 'allow', source: 'policy', code: 'policy_allow', rule: { index: call % 7 }, policy_digest: digest },
    },
  ];
};

/** Runs of `eventsPerRun` events, written as their services write them. Answers how many events that were. */
export async function writeRuns(servers: Servers, runs: number): Promise<number> {
  const [owner, gate] = [await servers.context('runs'), await servers.context('gate')];
  const calls = (eventsPerRun - 2) / 2;
  const one = async (): Promise<void> => {
    const stream = runStream(randomUUID(), 'default');
    const created: EventDraft = { type: 'session.created', actor: 'principal:ada', data: createdRun(stream.id) };
    const lease: EventDraft = {
      type: 'lease.granted',
      actor: 'service:runs',
      data: { generation: 1, valid_until: '2026-11-29T12:15:00.000Z' },
    };
    await owner.ledger.decide(runFold, stream, () => ({ events: [created, lease], result: undefined }));
    for (let call = 0; call < calls; call += 33) {
      const group = Array.from({ length: Math.min(33, calls - call) }, (_, i) => callOf(call + i)).flat();
      await gate.ledger.record(stream, group);
    }
  };
  for (let done = 0; done < runs; done += 32) await Promise.all(Array.from({ length: Math.min(32, runs - done) }, one));
  return runs * eventsPerRun;
}

/** Where the live follower would stand, at the end of this share of the log: it is not what is measured. Answers the events up to there. */
export async function liveAfter(servers: Servers, share = 1): Promise<number> {
  const client = await servers.connect();
  const { rows } = await client.query<{ position: string }>(
    `insert into ledger.positions (name, position) select $1, ceil(max(global_position) * $2::float8) from ledger.events
     on conflict (name) do update set position = excluded.position returning position`,
    [liveFollowerName, share],
  );
  const counted = await client.query<{ n: string }>(
    "select count(*) as n from ledger.events where category = 'run' and global_position <= $1",
    [rows[0]?.position],
  );
  return Number(counted.rows[0]?.n);
}

/** Fills the next version from the beginning, switches, and removes the old rows: all of `fluidbox rebuild`. Answers the seconds. */
export async function rebuildModel(servers: Servers, name: ReadModelName): Promise<number> {
  const { sql, store } = await servers.context('projector');
  await askForRebuild(sql, name);
  const started = performance.now();
  await rebuild({ store, tables: postgresReadTables, rebuilds: postgresRebuilds(sql) }, name, () => false);
  const seconds = (performance.now() - started) / 1_000;
  const [model] = (await readModels(sql)).filter((each) => each.name === name);
  if (model?.rebuilding !== null) throw new Error(`${name} was not switched: ${JSON.stringify(model)}`);
  return seconds;
}
