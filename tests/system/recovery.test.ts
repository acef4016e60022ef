import type { EventView } from '@fluidbox/contracts';
import { until } from '@fluidbox/testing';
import { type BusyRun, busyScript, killPart, type Moment, type Part, prepareBusyRuns, startBusyRun } from './support/recovery/busy-run';
import { untilCallIsParked } from './support/recovery/parked-calls';
import { liveSandboxes, processesOfRun, supervisorOf } from './support/recovery/processes-of-run';
import { type SystemStack, startSystemStack } from './support/stack';
import { typesOf } from './support/wire-run';

const resultOf = (events: readonly EventView[]) => events.at(-1)?.data;
const completed = { outcome: 'completed', coverage: 'full' };
const openReservations = (events: readonly EventView[]): number =>
  typesOf(events, 'budget.reserved').length - typesOf(events, 'budget.settled').length - typesOf(events, 'budget.released').length;

// Several hits per run keep this affordable; one run for every victim and moment is `npm run proof -- recovery`.
describe('kill -9 of a process of the stack under a run', () => {
  let stack: SystemStack;
  let run: BusyRun | undefined;

  beforeAll(async () => {
    stack = await startSystemStack({ mode: 'processes', script: busyScript });
    await prepareBusyRuns(stack);
  });
  afterEach(() => run?.stop());
  afterAll(() => stack?.stop());

  const plans: readonly (readonly [Part, Moment])[][] = [
    [
      ['run-specs', 'run created'],
      ['scheduler', 'supervisor runs, sandbox not started'],
      ['gateway', 'model stream open'],
      ['approvals', 'call waits for approval'],
      ['projector', 'run winds down'],
    ],
    [
      ['runs', 'workspace ready, sandbox not started'],
      ['postgres', 'model stream open'],
      ['runner-gateway', 'call waits for approval'],
      ['gate', 'just approved'],
      ['scheduler', 'run winds down'],
    ],
    [
      ['nats', 'call waits for approval'],
      ['runs', 'run winds down'],
    ],
  ];
  it.each(plans.map((plan) => [plan.map(([victim, moment]) => `${victim} (${moment})`).join(', '), plan] as const))(
    '[RECOVERY-1] [RECOVERY-2] %s: the run completes, each command ran once',
    async (name, plan) => {
      run = await startBusyRun(stack, name);
      const restarted: Promise<void>[] = [];
      for (const [victim, moment] of plan) {
        // Whether it is met or just missed, the run must come through; the proof hits each of them.
        await run.reached(moment);
        restarted.push(killPart(stack, victim)());
      }
      await run.approve();
      expect(resultOf(await run.over())).toMatchObject(completed);
      await Promise.all(restarted);
      expect(await run.faults()).toEqual([]);
    },
  );

  it('[RECOVERY-1] [COVERAGE-3] llm-facade (model stream open): the request is made again, what the lost one cost is settled at the end', async () => {
    run = await startBusyRun(stack, 'facade');
    await run.reached('model stream open');
    await killPart(stack, 'llm-facade')();
    await run.approve();
    const events = await run.over();
    // What its answer asked for was never written down, so nobody may say that everything was decided.
    expect(resultOf(events)).toMatchObject({ outcome: 'completed', coverage: 'unknown', lost_answers: 1 });
    expect(typesOf(events, 'budget.settled').map(({ data }) => data.basis)).toEqual(['usage', 'usage', 'usage', 'usage', 'pessimistic']);
    expect(await run.faults()).toEqual([]);
  });

  it('[RECOVERY-1] the supervisor of the sandbox: the tree dies with it and the run fails truthfully', async () => {
    run = await startBusyRun(stack, 'supervisor');
    await run.reached('call waits for approval');
    expect(liveSandboxes(stack.home, run.id)).toBe(1);
    process.kill(supervisorOf(stack.home, run.id) ?? 0, 'SIGKILL');
    const { id, events: eventsOfRun } = run;
    // Its end is recorded only when nothing of it lives.
    await until(async () => typesOf(await eventsOfRun(), 'sandbox.exited').length > 0);
    expect(processesOfRun(stack.home, id)).toEqual([]);
    const events = await run.over();
    expect(resultOf(events)).toMatchObject({ outcome: 'failed', reason: 'sandbox_exited' });
    expect(typesOf(events, 'sandbox.exited').map(({ data }) => data.cause)).toEqual(['lost']);
    expect(typesOf(events, 'approval.decided').map(({ data }) => data.decision)).not.toContain('approved');
    expect(await run.faults()).toEqual([]);
  });
});

describe('`up` itself ends under a run', () => {
  let stack: SystemStack;
  let run: BusyRun | undefined;

  beforeAll(async () => {
    stack = await startSystemStack({ script: busyScript });
    await prepareBusyRuns(stack);
  });
  afterEach(() => run?.stop());
  afterAll(() => stack?.stop());

  it('[APPROVAL-2] [RECOVERY-1] kill -9 while a person thinks: started again it adopts the sandbox, the approval is there once', async () => {
    const started = await startBusyRun(stack, 'killed');
    run = started;
    const { id } = run;
    await run.reached('call waits for approval');
    // The program may ask while the answer that holds the call is still being booked; one that was lost with its facade is another test's matter.
    await until(async () => openReservations(await started.events()) === 0);
    const pending = async () => (await stack.admin.approvals()).data.filter((approval) => approval.run_id === id);
    // The list follows the record by a moment.
    const [before] = await until(async () => {
      const found = await pending();
      return found.length > 0 ? found : null;
    });
    await stack.end('SIGKILL');
    expect(liveSandboxes(stack.home, id)).toBe(1);
    await stack.startAgain();
    expect(stack.output()).toMatch(/an earlier stack left behind: .*nats.*postgres/);
    await untilCallIsParked(stack.up.control_url);
    expect(await pending()).toEqual([before]);
    await run.approve();
    const events = await run.over();
    expect(resultOf(events)).toMatchObject(completed);
    expect(typesOf(events, 'approval.requested')).toHaveLength(1);
    expect(typesOf(events, 'sandbox.started').map(({ data }) => data.generation)).toEqual([1]);
    expect(await run.faults()).toEqual([]);
  });

  it('[RECOVERY-1] SIGTERM while the model answers: the run waits and goes on', async () => {
    run = await startBusyRun(stack, 'stopped');
    await run.reached('model stream open');
    await stack.end('SIGTERM');
    expect(liveSandboxes(stack.home, run.id)).toBe(1);
    await stack.startAgain();
    await run.approve();
    expect(resultOf(await run.over())).toMatchObject(completed);
    expect(await run.faults()).toEqual([]);
  });
});
