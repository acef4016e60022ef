import { createLedger, type Fold, type Ledger } from '@fluidbox/event-store';
import { runFold } from '@fluidbox/run-stream';
import { decision } from '../append-sides';
import { quantile } from '../support/measure';
import { flat, type GrowthRow, linear, type Point } from './row';
import { medianMillis, millis, runOf, runOfCalls } from './run-of';

const sizes = { toy: [50, 200, 800], usual: [1e2, 1e3, 1e4, 1e5], full: [1e2, 1e3, 1e4, 1e5] };
const tail = 10;
const newFold = (): Fold<{ decided: number }> => ({
  initial: () => ({ decided: 0 }),
  evolve: (state, event) => ({ decided: state.decided + (event.type === 'tool.decision' ? 1 : 0) }),
});

/** A process that has folded the run before reads on from there, however long the run is. */
export const resumeCached: GrowthRow = {
  name: 'resume',
  what: 'ms to bring a cached fold up to ten events of another process, over the events of the run',
  exponentMax: flat,
  async measure(servers, size) {
    const [gate, other] = [await servers.context('gate'), await servers.context('runs')];
    const points: Point[] = [];
    for (const events of sizes[size]) {
      const stream = await runOf(gate, events);
      const fold = newFold();
      await other.ledger.state(fold, stream);
      const taken: number[] = [];
      for (let round = 1; round <= 50; round += 1) {
        await gate.ledger.record(
          stream,
          Array.from({ length: tail }, (_, i) => decision(i)),
        );
        taken.push(await millis(() => other.ledger.state(fold, stream, { fresh: true })));
        const { state } = await other.ledger.state(fold, stream);
        if (state.decided !== events + round * tail) throw new Error(`resumed at ${state.decided} of ${events + round * tail}`);
      }
      points.push({ size: events, cost: quantile(taken, 0.5) });
    }
    return points;
  },
};

/** The fold that services share, of a run of calls and their decisions, in a ledger that has seen nothing before. */
export const foldCold: GrowthRow = {
  name: 'cold fold',
  what: 'ms to fold a run that this process has never seen, over its events; at most 3 ms for 1,000 of them',
  exponentMax: linear,
  async measure(servers, size) {
    const { store, keyring, clock, ids, name } = await servers.context('gate');
    const cold = (): Ledger => createLedger({ store, keyring, clock, ids, service: name });
    const points: Point[] = [];
    for (const events of sizes[size]) {
      const stream = await runOfCalls(cold(), events / 2);
      const cost = await medianMillis(5, async () => {
        const { state } = await cold().state(runFold, stream);
        if (state.version !== events || state.calls.size !== events / 2) throw new Error(`folded ${state.version} of ${events}`);
      });
      points.push({ size: events, cost });
    }
    return points;
  },
};
