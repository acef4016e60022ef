import { parseOrProblem, RunSpec, type StreamRef } from '@fluidbox/contracts';
import type { RunState } from '@fluidbox/run-stream';
import type { SandboxState } from '../domain/sandbox-state';
import type { StartedFile } from '../domain/supervision';
import type { Ports } from './ports';
import { ensureKeys, recordFact } from './record';

export async function recordStarted(ports: Ports, stream: StreamRef, started: StartedFile, runnerDigest: string): Promise<void> {
  const { generation, sandbox_id, isolation } = started;
  await recordFact(ports, stream, generation, {
    type: 'sandbox.started',
    data: { generation, provider: 'local', sandbox_id, runner_digest: runnerDigest, isolation },
  });
}

/** A sandbox that an earlier process of this service started and did not live to record. */
export async function adoptSandbox(ports: Ports, stream: StreamRef, run: RunState, sandbox: SandboxState): Promise<void> {
  if (sandbox.status !== 'live') return;
  const bytes = await ports.ledger.store.document(run.specDigest);
  if (bytes === null) throw new Error(`the specification ${run.specDigest} of the run is not stored`);
  const spec = parseOrProblem(RunSpec, JSON.parse(bytes.toString('utf8')), 'internal');
  await recordStarted(ports, stream, sandbox.started, spec.runner_digest);
}

/**
 * How the sandbox of the current generation ended. Without a word from its supervisor it is lost: the death signal ends its tree, and
 * that is made sure of before anything is said.
 */
export async function recordExit(ports: Ports, stream: StreamRef, run: RunState, sandbox: SandboxState): Promise<void> {
  await ensureKeys(ports, stream);
  const place = ports.places.find(stream);
  if (sandbox.status === 'lost' && place !== null) await ports.sandboxes.stop(place);
  const { generation } = run;
  const ended = sandbox.status === 'ended' && sandbox.exit.generation === generation ? sandbox.exit : null;
  const sandboxIdKnown =
    ended?.sandbox_id ?? run.sandbox?.sandboxId ?? (sandbox.status === 'lost' ? sandbox.sandboxId : `local-${stream.id}-${generation}`);
  await recordFact(ports, stream, generation, {
    type: 'sandbox.exited',
    data: {
      generation,
      sandbox_id: sandboxIdKnown,
      exit_code: ended?.exit_code ?? null,
      signal: ended?.signal ?? null,
      cause: ended?.cause ?? 'lost',
    },
    content: { stderr_tail: ended?.stderr_tail ?? 'the supervisor of the sandbox was ended from outside' },
  });
}
