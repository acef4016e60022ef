import { type StreamRef, streamNameOf } from '@fluidbox/contracts';
import { type RunState, runFold } from '@fluidbox/run-stream';
import { nextStep, type Step } from '../domain/next-step';
import type { SandboxState } from '../domain/sandbox-state';
import type { Slots } from '../domain/slots';
import { collectDiff } from './collect-diff';
import { launchSandbox } from './launch-sandbox';
import type { Ports } from './ports';
import { adoptSandbox, recordExit } from './record-sandbox';

export interface DrivePorts extends Ports {
  readonly slots: Slots;
  readonly now: () => number;
  /** Tells people who look at the table. */
  readonly noteSandbox: (stream: StreamRef, sandbox: { generation: number; sandboxId: string; dir: string; pid: number }) => Promise<void>;
  /** Wakes the run whose turn for a slot has come. */
  readonly wakeNext: (runId: string) => void;
  /** The run is over and cleaned up: it is forgotten. */
  readonly forget: (stream: StreamRef) => Promise<void>;
}

/** More steps than any run needs in a row: a loop that does not come to rest is a bug and must not spin. */
const stepsMax = 12;
const queuedMs = 60_000;

/** Performs one step after the other until the run needs nothing at the moment. Answers when to look again; null when it is over. */
export async function driveRun(ports: DrivePorts, stream: StreamRef): Promise<number | null> {
  for (let steps = 0; steps < stepsMax; steps++) {
    const { state: run } = await ports.ledger.state(runFold, stream, { fresh: true });
    const place = ports.places.find(stream);
    const sandbox: SandboxState = place === null ? { status: 'none' } : ports.sandboxes.look(place);
    if (place !== null && run.generation > 0 && (sandbox.status === 'live' || sandbox.status === 'starting')) {
      ports.slots.hold(stream.id);
      ports.sandboxes.writeLease(place, {
        generation: run.generation,
        valid_until: new Date(run.leaseValidUntil).toISOString(),
        stop: false,
      });
    }
    const step = nextStep(run, sandbox);
    if (step.do === 'wait') return step.afterMs === null ? Number.POSITIVE_INFINITY : ports.now() + step.afterMs;
    if (step.do === 'launch' && !ports.slots.take(stream.id)) return ports.now() + queuedMs;
    if (step.do === 'clean') {
      await clean(ports, stream);
      return null;
    }
    await perform(ports, stream, run, sandbox, step);
  }
  throw new Error('a run did not come to rest');
}

async function perform(
  ports: DrivePorts,
  stream: StreamRef,
  run: RunState,
  sandbox: SandboxState,
  step: Exclude<Step, { do: 'wait' | 'clean' }>,
): Promise<void> {
  switch (step.do) {
    case 'launch':
      await launchSandbox(ports, stream);
      return note(ports, stream);
    case 'record_started':
      await adoptSandbox(ports, stream, run, sandbox);
      return note(ports, stream);
    case 'record_exit':
      return recordExit(ports, stream, run, sandbox);
    case 'stop': {
      const place = ports.places.find(stream);
      if (place !== null) await ports.sandboxes.stop(place);
      return;
    }
    case 'collect':
      await collectDiff(ports, stream, run);
      leaveSlot(ports, stream);
  }
}

async function note(ports: DrivePorts, stream: StreamRef): Promise<void> {
  const place = ports.places.find(stream);
  const sandbox = place === null ? null : ports.sandboxes.look(place);
  if (place === null || sandbox?.status !== 'live') return;
  await ports.noteSandbox(stream, {
    generation: sandbox.generation,
    sandboxId: sandbox.started.sandbox_id,
    dir: place.runDir,
    pid: sandbox.pid,
  });
}

async function clean(ports: DrivePorts, stream: StreamRef): Promise<void> {
  const place = ports.places.find(stream);
  if (place !== null) await ports.sandboxes.stop(place);
  await ports.places.clear(stream);
  ports.keyring.forget(streamNameOf(stream));
  leaveSlot(ports, stream);
  await ports.forget(stream);
}

function leaveSlot(ports: DrivePorts, stream: StreamRef): void {
  const next = ports.slots.leave(stream.id);
  if (next !== undefined) ports.wakeNext(next);
}
