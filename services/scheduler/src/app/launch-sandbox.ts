import { type LaunchRun, Problem, parseOrProblem, type ReplyOf, RunSpec, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { launchable } from '../domain/next-step';
import type { Ports, RunPlace, WorkspaceFacts } from './ports';
import { reasonOf, recordFact } from './record';
import { recordStarted } from './record-sandbox';

/** Next generation → workspace → sandbox. What goes wrong on the way is the run's failure, recorded with its reason; nothing is retried silently. */
export async function launchSandbox(ports: Ports, stream: StreamRef): Promise<void> {
  const answer = await askForLaunch(ports, stream);
  if (answer === null) return;
  ports.keyring.grant(streamNameOf(stream), answer.keys);
  try {
    await bringUp(ports, stream, answer);
  } catch (error) {
    await recordFact(ports, stream, answer.generation, {
      type: 'sandbox.exited',
      data: {
        generation: answer.generation,
        sandbox_id: sandboxId(stream, answer.generation),
        exit_code: null,
        signal: null,
        cause: 'failed',
      },
      content: { stderr_tail: reasonOf(error) },
    });
  }
}

/** A run that meanwhile ended, or that somebody else launched, needs nothing from here. */
async function askForLaunch(ports: Ports, stream: StreamRef): Promise<ReplyOf<typeof LaunchRun> | null> {
  try {
    return await ports.launch(stream);
  } catch (error) {
    if (error instanceof Problem && ['run_not_active', 'conflict', 'not_found'].includes(error.code)) return null;
    throw error;
  }
}

async function bringUp(ports: Ports, stream: StreamRef, answer: ReplyOf<typeof LaunchRun>): Promise<void> {
  const { generation, tokens } = answer;
  const place = ports.places.take(stream);
  // First of all: from here on a supervisor of an older generation, even one that is just starting, ends by itself.
  ports.sandboxes.writeLease(place, { generation, valid_until: answer.valid_until, stop: false });
  const spec = await readSpec(ports, answer.spec_digest);
  const plan = ports.sandboxes.plan(place, spec, generation);
  const key = Buffer.from(answer.keys.rest, 'base64');
  const workspace =
    ports.workspaces.find(place) ??
    (await ports.workspaces.prepare(place, spec.workspace, (archive) => ports.blobs.put(stream.id, key, archive)));
  await recordWorkspace(ports, stream, generation, workspace);
  // Preparing takes a while, and a run that was cancelled meanwhile must not start an agent.
  if (!(await stillLaunching(ports, stream, generation))) return;
  const state = await ports.sandboxes.start(plan, {
    tool: tokens.tool,
    control: tokens.control,
    llm: tokens.llm,
    task: answer.task,
    system_prompt: answer.system_prompt,
  });
  if (state.status === 'live') await recordStarted(ports, stream, state.started, spec.runner_digest);
  else await refuseFailedStart(ports, place);
}

/** A sandbox that ended at once has written why; the driver records it as the exit it is. */
async function refuseFailedStart(ports: Ports, place: RunPlace): Promise<void> {
  const state = ports.sandboxes.look(place);
  if (state.status === 'ended') throw new Error(`the sandbox did not start: ${state.exit.stderr_tail}`);
  throw new Error('the sandbox did not start: its supervisor is gone');
}

async function readSpec(ports: Ports, digest: string): Promise<RunSpec> {
  const bytes = await ports.ledger.store.document(digest);
  if (bytes === null) throw new Error(`the specification ${digest} of the run is not stored`);
  return parseOrProblem(RunSpec, JSON.parse(bytes.toString('utf8')), 'internal');
}

async function recordWorkspace(ports: Ports, stream: StreamRef, generation: number, workspace: WorkspaceFacts): Promise<void> {
  const { commit } = workspace;
  await recordFact(
    ports,
    stream,
    generation,
    {
      type: 'workspace.initialized',
      data: {
        kind: workspace.kind,
        base_digest: workspace.baseDigest,
        archive_digest: workspace.archiveDigest,
        archive_bytes: workspace.archiveBytes,
        files: workspace.files,
        bytes: workspace.bytes,
        skipped: workspace.skipped,
        ...(commit === undefined ? {} : { commit }),
      },
    },
    // One workspace per run, whichever generation prepared it.
    0,
  );
}

async function stillLaunching(ports: Ports, stream: StreamRef, generation: number): Promise<boolean> {
  const { state: run } = await ports.ledger.state(runFold, stream, { fresh: true });
  return launchable(run) && run.generation === generation;
}

export const sandboxId = (stream: StreamRef, generation: number): string => `local-${stream.id}-${generation}`;
