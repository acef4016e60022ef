import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import type { StreamRef } from '@fluidbox/contracts';
import { appendOurs, decision, newRuns, rate, verifyAcknowledged } from './append-sides';
import type { Bench, Round } from './support/measure';
import type { Servers } from './support/servers';

const callers = 64;
const hashes = 20_000;

/** Milliseconds of processor that the sessions of the gate have used, from /proc. */
async function sessionsMs(servers: Servers): Promise<number> {
  const client = await servers.connect();
  const { rows } = await client.query<{ pid: number }>("select pid from pg_stat_activity where usename like '%gate'");
  const ticks = rows.map(({ pid }) => {
    const fields = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  });
  return ticks.reduce((sum, each) => sum + each, 0) * 10;
}

/** Microseconds for everything that an event is hashed for: its body here and, as the database checks it, there; its link of the chain there. */
async function hashingMicros(servers: Servers): Promise<number> {
  const body = JSON.stringify({ ...decision(1), event_id: randomBytes(16).toString('hex'), org: 'default', occurred_at: new Date() });
  const here = performance.now();
  for (let i = 0; i < hashes; i += 1) createHash('sha256').update(body).digest();
  const hereMs = performance.now() - here;
  const client = await servers.connect();
  const time = async (expression: string): Promise<number> => {
    const { rows } = await client.query<{ 'QUERY PLAN': readonly { 'Execution Time': number }[] }>({
      text: `explain (analyze, timing off, format json) select count(${expression}) from generate_series(1, ${hashes}) n`,
    });
    return rows[0]?.['QUERY PLAN'][0]?.['Execution Time'] ?? Number.NaN;
  };
  const link = await time("sha256(sha256(int8send(n)) || int8send(n) || '\\x00'::bytea)");
  const there = await time(`sha256(convert_to('${body.replaceAll("'", "''")}' || n, 'UTF8'))`);
  return ((hereMs + link + there) * 1_000) / hashes;
}

export const appendChain: Bench = {
  id: 'A5',
  what: 'share of the hash chain in the processor time of an append',
  unit: 'µs of processor per event',
  sides: {
    hashing: 'digest of the body (here and again in the database) and the link of the chain',
    append: 'everything, this process and its sessions',
  },
  checks: [{ name: 'hashing / append', op: '<=', goal: 0.1, stretch: 0.05, ours: 'hashing', peer: 'append' }],
  async run(plan, start) {
    const servers = await start();
    const gate = await servers.context('gate');
    const acknowledged = new Map<StreamRef, number>();
    const drive = rate('append', newRuns(callers), appendOurs(gate, acknowledged));
    await drive(plan.warmUpMs);
    const rounds: Round[] = [];
    for (let round = 0; round < plan.rounds; round += 1) {
      const [cpu, sessions, events] = [process.cpuUsage(), await sessionsMs(servers), sum(acknowledged)];
      await drive(plan.sliceMs);
      const used = process.cpuUsage(cpu);
      const micros = used.user + used.system + ((await sessionsMs(servers)) - sessions) * 1_000;
      rounds.push({ append: micros / (sum(acknowledged) - events), hashing: await hashingMicros(servers) });
    }
    return { rounds, verified: await verifyAcknowledged(gate, acknowledged), settings: await servers.settings() };
  },
};

const sum = (counts: ReadonlyMap<StreamRef, number>): number => [...counts.values()].reduce((total, count) => total + count, 0);
