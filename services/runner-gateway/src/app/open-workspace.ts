import { type OrgId, Problem, type RunId, WorkspaceKey } from '@fluidbox/contracts';
import type { Caller, Ports } from './ports';

export interface Archive {
  readonly bytes: number;
  readonly content: AsyncIterable<Buffer>;
}

/** The run's workspace archive, opened with the key that the owner of runs hands out for this generation. */
export async function openWorkspace(ports: Ports, caller: Caller): Promise<Archive> {
  const { archive_digest, archive_bytes, key } = await ports.bus
    .request(WorkspaceKey, { run_id: caller.runId as RunId, org: caller.org as OrgId, generation: caller.generation })
    .catch((error: unknown) => {
      if (error instanceof Problem && error.code === 'conflict')
        throw new Problem('not_found', 'no archive of this workspace yet', { cause: error });
      throw error;
    });
  if (!(await ports.blobs.has(caller.runId, archive_digest)))
    throw new ArchiveUnreadable('the archive of this workspace is not in the blob store');
  return { bytes: archive_bytes, content: ports.blobs.open(caller.runId, Buffer.from(key, 'base64'), archive_digest) };
}

/** The store is broken, not the request: 502, which a runner tries again. */
export class ArchiveUnreadable extends Error {}
