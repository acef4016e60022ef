import { type ParsedRequestOf, Problem, type ReplyOf, type RunKeys, runStream, streamNameOf, type WorkspaceKey } from '@fluidbox/contracts';
import { exists, isTerminal, runFold } from '@fluidbox/run-stream';
import { refuseReport } from '../domain/run';
import type { Ports } from './ports';

/** For the scheduler after its restart: keys of a run that it launched and that is not over. */
export async function runKeys(ports: Ports, request: ParsedRequestOf<typeof RunKeys>): Promise<ReplyOf<typeof RunKeys>> {
  const stream = runStream(request.run_id, request.org);
  const { state: run } = await ports.ledger.state(runFold, stream, { fresh: true });
  if (!exists(run)) throw new Problem('not_found', 'there is no such run');
  if (run.generation === 0 || isTerminal(run)) throw new Problem('run_not_active', `the run is ${run.status}; its keys are not handed out`);
  return (await ports.ledger.keyring.keysOf(streamNameOf(stream))).exportRest();
}

/** For the runner plane: what opens the archive of this generation's workspace. */
export async function workspaceKey(ports: Ports, request: ParsedRequestOf<typeof WorkspaceKey>): Promise<ReplyOf<typeof WorkspaceKey>> {
  const stream = runStream(request.run_id, request.org);
  const { state: run } = await ports.ledger.state(runFold, stream, { fresh: true });
  const refusal = refuseReport(run, request.generation);
  if (refusal !== null) throw refusal;
  if (run.archiveDigest === null) throw new Problem('conflict', 'the workspace is not ready yet; ask again');
  const keys = await ports.ledger.keyring.keysOf(streamNameOf(stream));
  return { archive_digest: run.archiveDigest, archive_bytes: run.archiveBytes, key: keys.exportRest().rest };
}
