import { randomUUID } from 'node:crypto';
import { type OrgId, RunId, runStream } from '@fluidbox/contracts';
import { compilePolicy, evaluateProjection, gateProjection, parsePolicy } from '@fluidbox/policy';
import { runFold } from '@fluidbox/run-stream';
import { frozenRules } from '../../services/gate/src/adapters/frozen-rules';
import { requestPermission } from '../../services/gate/src/app/request-permission';
import { startRun, testPolicy } from '../../services/gate/src/app/running-run.fixture';
import { appendWithNotify, bareCommit, peerConnections, rate } from './append-sides';
import { type Bench, measureRounds } from './support/measure';

const callers = 64;

/** The usual gate: the same policy on the same call, then `requested` and `decided` each in a transaction of its own. */
export const permissionMany: Bench = {
  id: 'C4',
  what: `permission, ${callers} callers against a gate with one transaction per event`,
  unit: 'calls/s',
  sides: {
    ours: 'the gate’s use case: decided at the version it appends to, sealed, chained, published',
    theirs: `the same policy, two transactions with NOTIFY, ${peerConnections} connections`,
    commits: 'bare one-row commits, 1 caller (control)',
  },
  checks: [{ name: 'ours / one transaction per event', op: '>=', goal: 3, stretch: 6, ours: 'ours', peer: 'theirs' }],
  async run(plan, start) {
    const servers = await start();
    const [gate, runs] = [await servers.context('gate'), await servers.context('runs')];
    const ports = { ledger: gate.ledger, clock: gate.clock, rulesOf: frozenRules(gate.store) };
    const callsOf = new Map<string, number>();
    // A fresh run for each slice and caller, so that the folds are as long in the first round as in the last.
    const freshRuns = () =>
      Promise.all(
        Array.from({ length: callers }, async () => {
          const id = RunId.parse(randomUUID());
          await startRun(runs.ledger, { runId: id, now: Date.now(), maxToolCalls: 1_000_000 });
          return runStream(id, 'default');
        }),
      );
    const commandOf = (call: number) => ({ command: `echo ${call} && ls src/${call}` });
    const parsed = parsePolicy(testPolicy);
    if (!parsed.ok) throw new Error('the policy of the bench does not parse');
    const policy = compilePolicy(parsed.document);
    const notify = await appendWithNotify(servers);
    const commit = await bareCommit(servers);
    let theirCalls = 0;
    const rounds = await measureRounds(plan, {
      ours: async (ms) =>
        rate('ours', await freshRuns(), async (stream) => {
          const call = callsOf.get(stream.id) ?? 0;
          const answer = await requestPermission(ports, {
            run_id: RunId.parse(stream.id),
            org: stream.org as OrgId,
            generation: 1,
            tool_call_id: `toolu_${call}`,
            tool: 'Bash',
            input: commandOf(call),
            mended: false,
          });
          if (answer.status !== 'decided' || answer.answer.decision !== 'allow') throw new Error(`not allowed: ${JSON.stringify(answer)}`);
          callsOf.set(stream.id, call + 1);
        })(ms),
      theirs: async (ms) =>
        rate('theirs', await freshRuns(), async (stream) => {
          const { verdict } = evaluateProjection(policy, gateProjection({ tool: 'Bash', input: commandOf(theirCalls++) }));
          if (verdict !== 'allow') throw new Error(`not allowed: ${verdict}`);
          await notify(stream);
          await notify(stream);
        })(ms),
      commits: async (ms) => rate('commits', (await freshRuns()).slice(0, 1), commit)(ms),
    });
    let total = 0;
    for (const [id, calls] of callsOf) {
      const { state } = await gate.ledger.state(runFold, runStream(id, 'default'), { fresh: true });
      const decided = [...state.calls.values()].filter((call) => call.decision?.verdict === 'allow').length;
      if (decided !== calls) throw new Error(`${id}: ${decided} decisions for ${calls} calls`);
      total += calls;
    }
    const settings = { ...(await servers.settings()), callers: String(callers), 'peer connections': String(peerConnections) };
    return { rounds, verified: `${total} calls in ${callsOf.size} runs: each decided once`, settings };
  },
};
