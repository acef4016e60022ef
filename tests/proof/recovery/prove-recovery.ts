import { until } from '@fluidbox/testing';
import {
  type BusyRun,
  busyScript,
  killPart,
  type Moment,
  moments,
  type Part,
  parts,
  prepareBusyRuns,
  startBusyRun,
} from '../../system/support/recovery/busy-run';
import { supervisorOf } from '../../system/support/recovery/processes-of-run';
import { type SystemStack, startSystemStack } from '../../system/support/stack';
import { typesOf } from '../../system/support/wire-run';
import { stopOnInterruption } from '../interruption';
import { type RecoveryRow, recoveryTable } from './table';

type Victim = Part | 'supervisor' | 'up (kill -9)' | 'up (SIGTERM)';
interface Hit {
  readonly victim: Victim;
  readonly moment: Moment;
  /** What must come of it; a supervisor takes its sandbox with it. */
  readonly outcome: 'completed' | 'failed';
}

const hit =
  (outcome: Hit['outcome']) =>
  (victim: Victim) =>
  (moment: Moment): Hit => ({ victim, moment, outcome });
const partHits: readonly Hit[] = parts.flatMap((part) => moments.map(hit('completed')(part)));
const withSandbox: readonly Moment[] = [
  'supervisor runs, sandbox not started',
  'model stream open',
  'call waits for approval',
  'just approved',
];
const supervisorHits: readonly Hit[] = withSandbox.map(hit('failed')('supervisor'));
const upHits: readonly Hit[] = (['up (kill -9)', 'up (SIGTERM)'] as const).flatMap((up) => moments.map(hit('completed')(up)));

/** One run of the real agent program for every victim and moment. Answers the exit code: 1 when something did not hold. */
export async function proveRecovery(say: (text: string) => void, print: (text: string) => void, json: boolean): Promise<number> {
  const rows = [...(await hitAll('processes', [...partHits, ...supervisorHits], say)), ...(await hitAll('all-in-one', upHits, say))];
  print(json ? JSON.stringify({ rows }) : recoveryTable(rows));
  return rows.every(({ faults }) => faults.length === 0) ? 0 : 1;
}

async function hitAll(mode: 'processes' | 'all-in-one', hits: readonly Hit[], say: (text: string) => void): Promise<RecoveryRow[]> {
  say(`starting a stack, ${mode}`);
  const stack = await startSystemStack({ mode, script: busyScript });
  const stopOn = stopOnInterruption(() => stack.stop());
  const rows: RecoveryRow[] = [];
  try {
    await prepareBusyRuns(stack);
    for (const [index, each] of hits.entries()) {
      const row = await hitOnce(stack, each, `${mode} ${index}`);
      say(`${index + 1}/${hits.length} ${row.victim}, ${row.moment}: ${row.outcome}${row.faults.map((fault) => `; ${fault}`).join('')}`);
      rows.push(row);
    }
    return rows;
  } finally {
    stopOn.dispose();
    await stack.stop();
  }
}

async function hitOnce(stack: SystemStack, { victim, moment, outcome }: Hit, name: string): Promise<RecoveryRow> {
  const run = await startBusyRun(stack, name);
  const startedAt = Date.now();
  try {
    if (!(await run.reached(moment))) throw new Error('the moment was missed');
    await strike(stack, victim, run);
    const events = await finish(run, outcome);
    const result = events.at(-1)?.data;
    // An answer that was lost with its facade leaves its calls unnamed.
    const coverage = typesOf(events, 'budget.settled').some(({ data }) => data.lost === true) ? 'unknown' : 'full';
    const unexpected = [
      ...(result?.outcome === outcome ? [] : [`expected ${outcome}`]),
      ...(outcome === 'completed' && result?.coverage !== coverage ? [`coverage is ${String(result?.coverage)}, not ${coverage}`] : []),
    ];
    const came = `${String(result?.outcome)} (${String(result?.reason)})`;
    return { victim, moment, outcome: came, secs: secsSince(startedAt), faults: [...unexpected, ...(await run.faults())] };
  } catch (error) {
    const reason = error instanceof Error ? `${error.message} ${String(error.cause ?? '')}` : String(error);
    return { victim, moment, outcome: 'no end', secs: secsSince(startedAt), faults: [reason.trim()] };
  } finally {
    run.stop();
  }
}

const secsSince = (startedAt: number): number => Math.round((Date.now() - startedAt) / 100) / 10;

/** A run that goes on still has its call to be decided; one that failed may be over before anybody can. */
async function finish(run: BusyRun, outcome: Hit['outcome']) {
  if (outcome === 'completed') await run.approve();
  return run.over();
}

/** Kills the victim and waits until it is back; nobody starts a supervisor again. */
async function strike(stack: SystemStack, victim: Victim, run: BusyRun): Promise<void> {
  switch (victim) {
    case 'supervisor':
      process.kill(await until(() => supervisorOf(stack.home, run.id)), 'SIGKILL');
      return;
    case 'up (kill -9)':
    case 'up (SIGTERM)':
      await stack.end(victim === 'up (SIGTERM)' ? 'SIGTERM' : 'SIGKILL');
      return stack.startAgain();
    default:
      return killPart(stack, victim)();
  }
}
