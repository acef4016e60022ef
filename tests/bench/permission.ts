import { randomUUID } from 'node:crypto';
import { RunId } from '@fluidbox/contracts';
import type { ServiceContext } from '@fluidbox/service-kit';
import { frozenRules } from '../../services/gate/src/adapters/frozen-rules';
import { requestPermission } from '../../services/gate/src/app/request-permission';
import { startRun } from '../../services/gate/src/app/running-run.fixture';
import { bareCommit, bareRow } from './append-sides';
import { type Bench, measureRounds, medianTime } from './support/measure';

/** Calls of one run before the next is taken: what a long run of an agent makes. */
const callsPerRun = 200;
const callsMax = 1_000;

export const permission: Bench = {
  id: 'C3',
  what: 'permission, 1 caller: median time of the gate’s use case, decision stored',
  unit: 'ms',
  sides: {
    ours: 'permission of an allowed command',
    theirs: 'a bare one-row commit',
    row: 'one row like an event’s with the same unique indexes, nothing else (control)',
    control: 'the same permission asked again (nothing is stored)',
  },
  checks: [{ name: 'permission / commit', op: '<=', goal: 1.5, stretch: 1.2, ours: 'ours', peer: 'theirs' }],
  async run(plan, start) {
    const servers = await start();
    const [gate, runs] = [await servers.context('gate'), await servers.context('runs')];
    const ports = { ledger: gate.ledger, clock: gate.clock, rulesOf: frozenRules(gate.store) };
    const nextRun = async (): Promise<RunId> => {
      const id = RunId.parse(randomUUID());
      await startRun(runs.ledger, { runId: id, now: Date.now(), maxToolCalls: callsMax });
      return id;
    };
    const ask = async (runId: RunId, call: number): Promise<void> => {
      const answer = await requestPermission(ports, {
        run_id: runId,
        org: 'default',
        generation: 1,
        tool_call_id: `toolu_${call}`,
        tool: 'Bash',
        input: { command: `echo ${call}` },
        mended: false,
      });
      if (answer.status !== 'decided' || answer.answer.decision !== 'allow') throw new Error(`not allowed: ${JSON.stringify(answer)}`);
    };
    let runId = await nextRun();
    let calls = 0;
    const decided = new Map<RunId, number>();
    const rounds = await measureRounds(plan, {
      ours: async (ms) => {
        // A fresh run for each slice, so that the fold is as long in the first round as in the last.
        runId = await nextRun();
        calls = 0;
        return medianTime(ms, async () => {
          // The change of run is not part of what is measured, but rare enough not to move a median.
          if (calls === callsPerRun) {
            runId = await nextRun();
            calls = 0;
          }
          await ask(runId, calls++);
          decided.set(runId, calls);
        });
      },
      theirs: await bareCommit(servers).then((commit) => (ms: number) => medianTime(ms, commit)),
      row: await bareRow(servers).then((row) => (ms: number) => medianTime(ms, row)),
      control: async (ms) => {
        if (calls === 0) {
          await ask(runId, calls++);
          decided.set(runId, calls);
        }
        return medianTime(ms, () => ask(runId, 0));
      },
    });
    const verified = await verify(gate, decided);
    return { rounds, verified, settings: { ...(await servers.settings()), 'calls per run': String(callsPerRun) } };
  },
};

/** Each answered call is requested and decided exactly once. */
async function verify(gate: ServiceContext, decided: ReadonlyMap<RunId, number>): Promise<string> {
  let total = 0;
  for (const [runId, calls] of decided) {
    const stream = { category: 'run', id: runId, org: 'default' } as const;
    let counted = 0;
    for (let after = 0; ; ) {
      const page = await gate.store.read(stream, { after });
      counted += page.filter(({ type }) => type === 'tool.decision').length;
      if (page.length === 0) break;
      after = page.at(-1)?.seq ?? after;
    }
    if (counted !== calls) throw new Error(`${runId}: ${counted} decisions for ${calls} calls`);
    total += calls;
  }
  return `${total} calls in ${decided.size} runs: each decided once`;
}
