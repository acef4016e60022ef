import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunId } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { until } from '@fluidbox/testing';
import { frozenRules } from '../../../services/gate/src/adapters/frozen-rules';
import { requestPermission } from '../../../services/gate/src/app/request-permission';
import { type ApprovalProcesses, approvalServices, type CallingRun, startApprovalProcesses } from '../../bench/support/approval-processes';
import { quantile } from '../../bench/support/measure';
import { commandOf, type ParkedCall } from '../../bench/support/parked-call';
import { type Servers, startServers } from '../../bench/support/servers';
import { stopOnInterruption } from '../interruption';

export interface Size {
  /** Calls that wait for a person. */
  readonly pending: number;
  /** Of those, calls whose runner holds a connection. */
  readonly blocked: number;
  readonly decided: number;
}
const fullSize: Size = { pending: 100_000, blocked: 10_000, decided: 500 };

interface Row {
  readonly what: string;
  readonly figure: number;
  readonly unit: string;
  /** What it must not exceed. */
  readonly bound: number;
}

const callsPerRun = 100;
const shortTtlSecs = 8;
/** How late an approval may expire whose process was killed: its start, and a look at the ledger. */
const lateMsMax = 10_000;
/** What one service may hold in all, however much is asked of it: its pool, two batches of appends, two locked appends. */
const connectionsPerService = 8 + 2 + 2;
/** The three services, and this process, which asks as the gate does. */
const connectionsMax = connectionsPerService * (approvalServices.length + 1);
const looksMax = 100;
const hurried = `name: test
approvals: { default_ttl_secs: ${shortTtlSecs} }
tools:
  - { match: [Bash], action: ask }
`;

/** What it costs when very many people are slow: memory, connections, a restart, and the answer to those who decide after all. */
export async function proveApprovals(say: (text: string) => void, print: (text: string) => void, json: boolean): Promise<number> {
  const rows = await growApprovals(fullSize, say);
  const failed = rows.filter(({ figure, bound }) => !(figure <= bound));
  const line = ({ what, figure, unit, bound }: Row): string =>
    `${figure <= bound ? 'holds ' : 'FAILS '} ${what.padEnd(64)} ${figure.toFixed(1).padStart(10)} ${unit} (at most ${bound})`;
  print(json ? JSON.stringify({ size: fullSize, rows, failed }) : rows.map(line).join('\n'));
  return failed.length === 0 ? 0 : 1;
}

export async function growApprovals(size: Size, say: (text: string) => void): Promise<Row[]> {
  const servers = await startServers();
  const stopOn = stopOnInterruption(() => servers.stop());
  try {
    const world = await startApprovalProcesses(servers);
    try {
      return await grow(size, servers, world, say);
    } finally {
      await world.stop();
    }
  } finally {
    stopOn.dispose();
    await servers.stop();
  }
}

async function grow(size: Size, servers: Servers, world: ApprovalProcesses, say: (text: string) => void): Promise<Row[]> {
  const rows: Row[] = [];
  const row = (what: string, figure: number, unit: string, bound: number): void => {
    rows.push({ what, figure, unit, bound });
    say(`${what}: ${figure.toFixed(1)} ${unit}`);
  };
  const sql = await servers.connect();
  const count = async (text: string): Promise<number> => Number((await sql.query<{ n: string }>(text)).rows[0]?.n);
  const timers = () => count('select count(*) as n from approvals.timers');
  const services = `usename like any (array['%gate', '%approvals', '%runner_gateway'])`;
  const connections = () => count(`select count(*) as n from pg_stat_activity where ${services}`);
  const busy = () => count(`select count(*) as n from pg_stat_activity where ${services} and state <> 'idle'`);
  // Whoever holds a connection while it waits holds it at every look; what the services do besides is over at one of them.
  const alwaysBusy = async (): Promise<number> => {
    let fewest = await busy();
    for (let look = 1; look < looksMax && fewest > 0; look += 1) {
      await pause(20);
      fewest = Math.min(fewest, await busy());
    }
    return fewest;
  };
  const ask = await asking(servers);

  say(`${size.pending} calls ask for approval`);
  const runs: CallingRun[] = [];
  for (let left = size.pending; left > 0; left -= callsPerRun) {
    const run = await world.newRun();
    runs.push(run);
    await Promise.all(Array.from({ length: Math.min(callsPerRun, left) }, (_, i) => ask(run.id, `call_${i}`)));
  }
  await until(async () => (await timers()) === size.pending, { timeoutMs: 300_000, everyMs: 250 });

  // What a process needs once, for its first calls, is no cost of the ones after.
  const warm = await park(await Promise.all(Array.from({ length: 4 }, () => world.newRun())), Math.min(400, size.blocked));
  for (const call of warm) call.leave();
  await pause(1_000);
  const memory = () => approvalServices.reduce((sum, name) => sum + world.processes[name].memory(), 0);
  const memoryBefore = memory();
  say(`${size.blocked} of them block`);
  const calls = await park(runs, size.blocked);
  // A pool gives up what it does not use and opens it again when it is needed: only what the pools may hold in all says something.
  const held = await connections();
  if (held === 0) throw new Error('no database connection of the services was found: nobody looked at the right ones');
  row('database connections while they block, whatever their number', held, '', connectionsMax);
  row('of those, at work all the time', await alwaysBusy(), '', 0);
  await pause(3_000);
  row('memory of gate, approvals and runner-gateway per blocked call', (memory() - memoryBefore) / size.blocked / 1024, 'KB', 20);

  const short = await world.newRun({ policy: hurried });
  const asked = Date.now();
  await Promise.all(Array.from({ length: 20 }, (_, i) => ask(short.id, `call_${i}`)));
  await until(async () => (await timers()) >= size.pending + 20 + warm.length, { timeoutMs: 30_000 });
  say('approvals is killed and starts again');
  const killed = performance.now();
  await world.restart('approvals', 'SIGKILL');
  row('approvals killed → ready again, its timers set', (performance.now() - killed) / 1_000, 's', 30);
  const owner = await servers.context('runs');
  const waiting = async () =>
    (await owner.ledger.state(runFold, { category: 'run', id: short.id, org: 'default' }, { fresh: true })).state.pendingApprovals.size;
  await until(async () => (await waiting()) === 0, { timeoutMs: 120_000 });
  row('the last of 20 approvals expired late by', Date.now() - asked - shortTtlSecs * 1_000, 'ms', lateMsMax);

  say(`${size.decided} are decided`);
  const times: number[] = [];
  const step = Math.max(1, Math.floor(calls.length / size.decided));
  const chosen = calls.filter((_, i) => i % step === 0).slice(0, size.decided);
  for (const call of chosen) {
    const sent = performance.now();
    const approved = world.approve(call.runId, call.toolCallId);
    const { body, at } = await call.answered;
    await approved;
    if (body !== '{"decision":"allow"}') throw new Error(`${call.toolCallId} of ${call.runId} was answered ${body}`);
    times.push(at - sent);
  }
  row('request to decide → answer of the blocked call, p50', quantile(times, 0.5), 'ms', 50);
  row('request to decide → answer of the blocked call, p99', quantile(times, 0.99), 'ms', 500);
  row('database connections at work all the time when all is said', await alwaysBusy(), '', 0);
  row('calls answered that nobody decided', calls.filter((call) => call.ended && !chosen.includes(call)).length, '', 0);
  for (const call of calls) call.leave();
  return rows;
}

/** The gate's own use case in this process: to ask is not what is measured. */
async function asking(servers: Servers): Promise<(runId: RunId, toolCallId: string) => Promise<void>> {
  const gate = await servers.context('gate');
  const ports = { ledger: gate.ledger, clock: gate.clock, rulesOf: frozenRules(gate.store) };
  return async (runId, toolCallId) => {
    const answer = await requestPermission(ports, {
      run_id: runId,
      org: 'default',
      generation: 1,
      tool_call_id: toolCallId,
      tool: 'Bash',
      input: { command: commandOf(toolCallId) },
      mended: false,
    });
    if (answer.status !== 'pending') throw new Error(`${toolCallId} of ${runId} did not wait`);
  };
}

/** The runners ask (again): those calls are parked that wait already, others are new. */
async function park(runs: readonly CallingRun[], count: number): Promise<ParkedCall[]> {
  const calls: ParkedCall[] = [];
  for (const run of runs) {
    const some = Array.from({ length: Math.min(callsPerRun, count - calls.length) }, (_, i) => run.open(`call_${i}`));
    await Promise.all(some.map((call) => call.parked));
    calls.push(...some);
    if (calls.length >= count) break;
  }
  return calls;
}
