import { isTerminal, type RunState } from '@fluidbox/run-stream';
import type { SandboxState } from './sandbox-state';

/**
 * What the scheduler must do next for a run, from its stream and from what is true on this host, and nothing else: recovery after a crash
 * is the same question. A driver performs the step and asks again until it is told to wait.
 *
 *   created, provisioning, initializing   launch (generation, workspace, sandbox) ▸ record_started
 *   running, cancelling                   keep the lease file current, record_exit when the sandbox is gone
 *   finalizing                            stop ▸ record_exit ▸ collect
 *   terminal                              clean
 */
export type Step =
  | { readonly do: 'launch' | 'record_started' | 'record_exit' | 'stop' | 'collect' | 'clean' }
  /** null = until the stream moves. */
  | { readonly do: 'wait'; readonly afterMs: number | null };

/** How often a sandbox is looked at: its end shows in files, not in the stream. */
const lookEveryMs = 1_000;
const startingMs = 100;

export function nextStep(run: RunState, sandbox: SandboxState): Step {
  // A folder is made only for a run that exists: without one it is an orphan of a ledger that is gone.
  if (run.runId === null || isTerminal(run)) return { do: 'clean' };
  switch (run.status) {
    case 'created':
    case 'provisioning':
    case 'initializing':
      return launchingStep(run, sandbox);
    case 'running':
    case 'cancelling':
      return runningStep(run, sandbox);
    default:
      return finalizingStep(run, sandbox);
  }
}

const wait = (afterMs: number | null): Step => ({ do: 'wait', afterMs });
const exitRecorded = (run: RunState): boolean => run.sandbox?.exited === true && run.sandbox.generation === run.generation;
const startRecorded = (run: RunState): boolean => run.sandbox !== null && run.sandbox.generation === run.generation;

function launchingStep(run: RunState, sandbox: SandboxState): Step {
  if (exitRecorded(run)) return wait(null);
  // The generation that was launched last; a sandbox of an older one sees the lease file and ends by itself.
  const current = run.generation > 0 && generationOf(sandbox) === run.generation;
  if (!current) return { do: 'launch' };
  switch (sandbox.status) {
    case 'none':
      return { do: 'launch' };
    case 'starting':
      return wait(startingMs);
    case 'live':
      return startRecorded(run) ? wait(lookEveryMs) : { do: 'record_started' };
    case 'ended':
    case 'lost':
      return { do: 'record_exit' };
  }
}

function runningStep(run: RunState, sandbox: SandboxState): Step {
  if (exitRecorded(run)) return wait(null);
  // A sandbox that is not here any more, its folder included, is as gone as one that ended.
  return sandbox.status === 'live' || sandbox.status === 'starting' ? wait(lookEveryMs) : { do: 'record_exit' };
}

function finalizingStep(run: RunState, sandbox: SandboxState): Step {
  if (sandbox.status === 'live' || sandbox.status === 'starting') return { do: 'stop' };
  if (startRecorded(run) && !exitRecorded(run)) return { do: 'record_exit' };
  // Never launched: runs needs nothing from here.
  if (run.generation > 0 && run.diff === null) return { do: 'collect' };
  return wait(null);
}

const generationOf = (sandbox: SandboxState): number => {
  switch (sandbox.status) {
    case 'none':
      return 0;
    case 'ended':
      return sandbox.exit.generation;
    default:
      return sandbox.generation;
  }
};

/** Whether a sandbox may still be started for the run. */
export const launchable = (run: RunState): boolean =>
  run.status === 'created' || run.status === 'provisioning' || run.status === 'initializing';
