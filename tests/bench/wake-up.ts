import { performance } from 'node:perf_hooks';
import { startApprovalProcesses } from './support/approval-processes';
import { type Bench, measureRounds, quantile, type Round } from './support/measure';

/** Calls that stay blocked meanwhile, so that one is woken out of many. */
const others = 200;

export const wakeUp: Bench = {
  id: 'C5',
  what: 'approval: a decision is committed → the blocked call has its answer, gate, approvals and runner-gateway as processes of their own',
  unit: 'ms',
  sides: {
    p50: 'commit → answer at the runner’s socket, median',
    p99: 'the slowest of 100',
    'decide p50': 'the person’s request is sent → answer at the runner’s socket, with the commit (control)',
  },
  checks: [
    { name: 'p50', op: '<=', goal: 10, stretch: 5, ours: 'p50', peer: 1 },
    { name: 'p99', op: '<=', goal: 100, stretch: 50, ours: 'p99', peer: 1 },
  ],
  async run(plan, start) {
    const servers = await start();
    const world = await startApprovalProcesses(servers);
    try {
      // The log speaks after the commit, and so does the answer to the person: whichever is heard first bounds when it was.
      const committed = new Map<string, number>();
      const note = (toolCallId: string): void => {
        if (!committed.has(toolCallId)) committed.set(toolCallId, performance.now());
      };
      await world.onDecided(note);
      const blocked = await world.newRun();
      const waiting = Array.from({ length: plan.size === 'toy' ? 5 : others }, (_, i) => blocked.open(`other_${i}`));
      await Promise.all(waiting.map((call) => call.parked));
      let calls = 0;
      const slice = async (ms: number): Promise<Round> => {
        const run = await world.newRun();
        const times: number[] = [];
        const fromRequest: number[] = [];
        for (const until = performance.now() + ms; performance.now() < until || times.length === 0; ) {
          const id = `call_${calls++}`;
          const call = run.open(id);
          await call.parked;
          const sent = performance.now();
          const approved = world.approve(run.id, id).then(() => note(id));
          const { body, at } = await call.answered;
          await approved;
          if (body !== '{"decision":"allow"}') throw new Error(`${id} was answered ${body}`);
          times.push(Math.max(0, at - (committed.get(id) ?? Number.NaN)));
          fromRequest.push(at - sent);
          committed.delete(id);
        }
        return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), 'decide p50': quantile(fromRequest, 0.5) };
      };
      const rounds = await measureRounds(plan, { wake: slice });
      for (const call of waiting) call.leave();
      const verified = `${calls} calls blocked, approved and answered allow; ${waiting.length} others stayed blocked`;
      return { rounds, verified, settings: { ...(await servers.settings()), 'blocked meanwhile': String(waiting.length) } };
    } finally {
      await world.stop();
    }
  },
};
