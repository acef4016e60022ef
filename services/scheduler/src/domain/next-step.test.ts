import { initialRun, type RunState } from '@fluidbox/run-stream';
import { nextStep } from './next-step';
import type { SandboxState } from './sandbox-state';

const runAt = (status: RunState['status'], more: Partial<RunState> = {}): RunState => ({
  ...initialRun(),
  runId: 'r',
  status,
  generation: status === 'created' ? 0 : 2,
  ...more,
});
const recorded = { sandbox: { generation: 2, sandboxId: 's', exited: false, cause: null, exitSeq: null } };
const exitRecorded = { sandbox: { generation: 2, sandboxId: 's', exited: true, cause: 'exited', exitSeq: null } };
const exit = (generation = 2): SandboxState => ({
  status: 'ended',
  exit: { generation, sandbox_id: 's', cause: 'exited', exit_code: 0, signal: null, stderr_tail: '' },
});
const started = (generation: number) => ({
  generation,
  sandbox_id: 's',
  init_pid: 1,
  isolation: { namespaces: true, seccomp: true, unprivileged_uid: true, limits: 'cgroup2' as const },
});
const live = (generation = 2): SandboxState => ({ status: 'live', generation, pid: 1, started: started(generation) });
const starting = (generation = 2): SandboxState => ({ status: 'starting', generation, pid: 1 });
const lost: SandboxState = { status: 'lost', generation: 2, sandboxId: 's' };
const none: SandboxState = { status: 'none' };

describe('nextStep', () => {
  it.each([
    ['a new run is launched', runAt('created'), none, 'launch'],
    ['a launch that a crash cut short is asked for again', runAt('provisioning'), none, 'launch'],
    ['the sandbox of an older generation is no reason not to launch', runAt('provisioning'), live(1), 'launch'],
    ['nor is the exit of one', runAt('provisioning'), exit(1), 'launch'],
    ['a sandbox that is just starting is waited for, not doubled', runAt('initializing'), starting(), 'wait'],
    ['a live sandbox nobody recorded is adopted', runAt('initializing'), live(), 'record_started'],
    ['a recorded one is left alone', runAt('initializing', recorded), live(), 'wait'],
    ['one that died before it was recorded', runAt('initializing'), exit(), 'record_exit'],
    ['one that failed is not tried again', runAt('initializing', exitRecorded), exit(), 'wait'],
    ['a running sandbox is watched', runAt('running', recorded), live(), 'wait'],
    ['its exit is recorded', runAt('running', recorded), exit(), 'record_exit'],
    ['its loss is recorded', runAt('running', recorded), lost, 'record_exit'],
    ['a vanished run folder is a loss', runAt('running', recorded), none, 'record_exit'],
    ['an exit is recorded once', runAt('running', exitRecorded), exit(), 'wait'],
    ['a run that is being cancelled keeps its sandbox until it is finalized', runAt('cancelling', recorded), live(), 'wait'],
    ['then it is stopped', runAt('finalizing', recorded), live(), 'stop'],
    ['even when it is just starting', runAt('finalizing'), starting(), 'stop'],
    ['then its exit is recorded', runAt('finalizing', recorded), exit(), 'record_exit'],
    ['then the diff is collected', runAt('finalizing', exitRecorded), exit(), 'collect'],
    ['also when no sandbox was ever started', runAt('finalizing'), none, 'collect'],
    ['once', runAt('finalizing', { ...exitRecorded, diff: 'missing' }), exit(), 'wait'],
    ['never for a run that was not launched', runAt('finalizing', { generation: 0 }), none, 'wait'],
    ['a finished run is cleaned up', runAt('completed', exitRecorded), exit(), 'clean'],
  ] as const)('%s', (_what, run, sandbox, expected) => {
    expect(nextStep(run, sandbox).do).toBe(expected);
  });

  it('ends and cleans up what belongs to no run', () => {
    expect(nextStep(initialRun(), live())).toEqual({ do: 'clean' });
  });
});
