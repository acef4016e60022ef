import { type LaunchRun, Problem, parseOrProblem, type ReplyOf, RunSpec, type StreamRef, streamNameOf } from '@fluidbox/contracts';
import { runFold } from '@fluidbox/run-stream';
import { launchable } from '../domain/next-step';
import type { SandboxState } from '../domain/sandbox-state';
import type { StartedFile } from '../domain/supervision';
import type { Ports, RunPlace, WorkspaceFacts } from './ports';
import { reasonOf, recordFact } from './record';
import { recordStarted } from './record-sandbox';

const abandonedLookMs = 1_000;

/** The run cannot have its sandbox. Anything else, such as a database that is away, is tried again and no failure of the run. */
class LaunchFailed extends Error {
  constructor(cause: unknown) {
    super(reasonOf(cause), { cause });
    this.name = 'LaunchFailed';
  }
}

async function orFail<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new LaunchFailed(error);
  }
}

/** Next generation → workspace → sandbox. What cannot be had is the run's failure, recorded with its reason. */
export async function launchSandbox(ports: Ports, stream: StreamRef): Promise<void> {
  const answer = await askForLaunch(ports, stream);
  if (answer === null) return;
  ports.keyring.grant(streamNameOf(stream), answer.keys);
  try {
    await bringUp(ports, stream, answer);
  } catch (error) {
    if (!(error instanceof LaunchFailed)) throw error;
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
  const bytes = await ports.ledger.store.document(answer.spec_digest);
  const spec = await orFail(() => parseSpec(bytes, answer.spec_digest));
  const plan = await orFail(() => ports.sandboxes.plan(place, spec, generation));
  const workspace = ports.workspaces.find(place) ?? (await orFail(() => prepare(ports, stream, place, spec, answer)));
  await recordWorkspace(ports, stream, generation, workspace);
  // Preparing takes a while, and a run that was cancelled meanwhile must not start an agent.
  if (!(await stillLaunching(ports, stream, generation))) return;
  const { tool, control, llm } = tokens;
  const started = await orFail(async () =>
    standing(await ports.sandboxes.start(plan, { tool, control, llm, task: answer.task, system_prompt: answer.system_prompt })),
  );
  await recordStarted(ports, stream, started, spec.runner_digest);
}

function standing(state: SandboxState): StartedFile {
  if (state.status === 'live') return state.started;
  throw new Error(`the sandbox did not start: ${state.status === 'ended' ? state.exit.stderr_tail : 'its supervisor is gone'}`);
}

/** Fetching can take minutes. A run that ends meanwhile waits for its diff, so it must not wait for that. */
async function prepare(
  ports: Ports,
  stream: StreamRef,
  place: RunPlace,
  spec: RunSpec,
  answer: ReplyOf<typeof LaunchRun>,
): Promise<WorkspaceFacts> {
  const key = Buffer.from(answer.keys.rest, 'base64');
  const abort = new AbortController();
  const look = async (): Promise<void> => {
    if (!(await stillLaunching(ports, stream, answer.generation))) abort.abort(new Error('the run ended while its workspace was prepared'));
  };
  // A look that fails says nothing about the run; the next one will.
  const timer = setInterval(() => void look().catch(() => undefined), abandonedLookMs);
  try {
    return await ports.workspaces.prepare(place, spec.workspace, (archive) => ports.blobs.put(stream.id, key, archive), abort.signal);
  } finally {
    clearInterval(timer);
  }
}

function parseSpec(bytes: Buffer | null, digest: string): RunSpec {
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

const sandboxId = (stream: StreamRef, generation: number): string => `local-${stream.id}-${generation}`;
